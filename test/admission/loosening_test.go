// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/loosening"
)

// walk changes fields of one kind as two users: one who may write the kind and no more, and one who has its verb besides.
type walk struct {
	server    *apiServer
	guard     loosening.Guard
	namespace string
	plain     client.Client
	entitled  client.Client
	count     atomic.Int64
}

func newWalk(t *testing.T, g loosening.Guard) *walk {
	s := need(t)
	w := &walk{server: s, guard: g, namespace: s.namespace(t)}
	s.install(t)
	w.plain = s.as(t, w.namespace, "plain", "toolgate-view", "toolgate-edit")
	w.entitled = s.as(t, w.namespace, "entitled", "toolgate-view", "toolgate-edit", g.Role)
	return w
}

// TestEveryLooseningChangeNeedsItsVerb walks every field of MCPServer and MCPTool through its values, on create and on update:
// what loosens is refused to whoever has no verb, and all else is accepted.
func TestEveryLooseningChangeNeedsItsVerb(t *testing.T) {
	for _, g := range loosening.Guards {
		w := newWalk(t, g)
		t.Run(g.Kind, func(t *testing.T) {
			for _, key := range slices.Sorted(maps.Keys(loosening.Table)) {
				path, mine := strings.CutPrefix(key, g.Kind+".")
				if !mine {
					continue
				}
				t.Run(path, func(t *testing.T) {
					t.Parallel()
					for i, base := range basesOf(g.Kind, path, loosening.Table[key]) {
						w.field(t, path, loosening.Table[key], base, i == 0)
					}
				})
			}
		})
		t.Logf("%s: %d changes", g.Kind, w.count.Load())
	}
}

// field creates an object with each value of a field, and changes each into each other. Bases beside the first one loosen by
// themselves when they are created.
func (w *walk) field(t *testing.T, path string, class loosening.Class, base map[string]any, first bool) {
	values := valuesOf(t, w.guard.Kind, path, class)
	for i, from := range values {
		before := w.object(base, path, from)
		if first {
			w.change(t, path, class, nil, before)
		}
		if err := w.server.client.Create(context.Background(), before); err != nil {
			t.Fatalf("%s = %v: %v", path, from, err)
		}
		for j, to := range values {
			// What never loosens is told by its neighbours alone.
			if i != j && (class != loosening.Neutral || j == (i+1)%len(values)) {
				after := before.DeepCopy()
				set(after.Object["spec"].(map[string]any), path, to)
				w.change(t, path, class, before, after)
			}
		}
	}
}

// change writes an object without storing it, as both users.
func (w *walk) change(t *testing.T, path string, class loosening.Class, before, after *unstructured.Unstructured) {
	t.Helper()
	w.count.Add(1)
	what := fmt.Sprintf("%s created as %v", path, get(specOfAny(after), path))
	if before != nil {
		what = fmt.Sprintf("%s from %v to %v", path, get(specOfAny(before), path), get(specOfAny(after), path))
	}
	write := func(c client.Client) error {
		if before == nil {
			return c.Create(context.Background(), after.DeepCopy(), client.DryRunAll)
		}
		return c.Update(context.Background(), after.DeepCopy(), client.DryRunAll)
	}
	err := write(w.plain)
	if !loosens(t, w.guard.Kind, path, class, specOfAny(before), specOfAny(after)) {
		if err != nil {
			t.Errorf("%s loosens nothing and is refused: %v", what, err)
		}
		return
	}
	switch {
	case err == nil:
		t.Errorf("%s loosens and is accepted from somebody without the verb %s", what, w.guard.Verb)
	case !apierrors.IsForbidden(err):
		t.Errorf("%s: want it forbidden, got: %v", what, err)
	default:
		for _, want := range []string{
			"spec." + path, "the verb " + w.guard.Verb + " on " + w.guard.Resource + ".mcp.toolgate.dev",
			"kubectl -n " + w.namespace + " create rolebinding", "--clusterrole=" + w.guard.Role + " --user=plain",
		} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the refusal does not say %q: %v", what, want, err)
			}
		}
	}
	if err := write(w.entitled); err != nil {
		t.Errorf("%s is refused to somebody with the verb %s: %v", what, w.guard.Verb, err)
	}
}

var serial atomic.Int64

// object is a new object of the kind with one field set.
func (w *walk) object(base map[string]any, path string, value any) *unstructured.Unstructured {
	spec := (&unstructured.Unstructured{Object: base}).DeepCopy().Object
	name := fmt.Sprintf("s%d", serial.Add(1))
	if w.guard.Kind == loosening.KindMCPTool {
		set(spec, "serverRef.name", name)
		name += "." + strings.ReplaceAll(spec["toolName"].(string), "_", "-")
	}
	if path != "serverRef.name" {
		set(spec, path, value)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": w.guard.Kind,
		"metadata": map[string]any{"name": name, "namespace": w.namespace}, "spec": spec,
	}}
}

func specOfAny(u *unstructured.Unstructured) map[string]any {
	if u == nil {
		return nil
	}
	return u.Object["spec"].(map[string]any)
}

// set writes a value at a path, or takes it away where it is nil.
func set(m map[string]any, path string, value any) {
	if value == nil {
		unstructured.RemoveNestedField(m, strings.Split(path, ".")...)
		return
	}
	if err := unstructured.SetNestedField(m, value, strings.Split(path, ".")...); err != nil {
		panic(err)
	}
}

func get(m map[string]any, path string) any {
	v, _, _ := unstructured.NestedFieldNoCopy(m, strings.Split(path, ".")...)
	return v
}

// decodeSpec reads YAML as a client of the API server has it, with whole numbers as int64.
func decodeSpec(text string) map[string]any {
	u := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte("{apiVersion: v1, kind: List, spec: " + text + "}"))
	if err != nil {
		panic(err)
	}
	if err := u.UnmarshalJSON(data); err != nil {
		panic(err)
	}
	return u.Object["spec"].(map[string]any)
}
