// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/test/faults/rig"
)

// hostile is what somebody does to an object of ours.
type hostile string

// The ways. Each is tried on every kind of object.
const (
	deleted   hostile = "deleted"
	orphaned  hostile = "its owner taken off"
	stripped  hostile = "its labels taken off"
	relabeled hostile = "its labels changed"
	garbled   hostile = "its content changed"
	emptied   hostile = "its content taken out"
	replaced  hostile = "made anew by somebody else"
)

var hostilities = []hostile{deleted, orphaned, stripped, relabeled, garbled, emptied, replaced}

// contents are changes of what an object says, by kind; nil takes away.
var contents = map[string]struct{ garble, empty map[string]any }{
	"Deployment": {
		map[string]any{"spec": map[string]any{"replicas": 7, "template": map[string]any{"spec": map[string]any{"automountServiceAccountToken": true}}}},
		map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"nodeSelector": nil, "securityContext": nil, "enableServiceLinks": nil, "automountServiceAccountToken": nil}}}},
	},
	"Service": {
		map[string]any{"spec": map[string]any{"selector": map[string]any{"mcp.toolgate.dev/server": "somebody"}}},
		map[string]any{"spec": map[string]any{"selector": nil}},
	},
	"ServiceAccount": {
		map[string]any{"automountServiceAccountToken": true},
		map[string]any{"automountServiceAccountToken": nil},
	},
	"NetworkPolicy": {
		map[string]any{"spec": map[string]any{"ingress": []any{map[string]any{}}}},
		map[string]any{"spec": map[string]any{"ingress": nil, "egress": nil}},
	},
	"ConfigMap": {
		map[string]any{"data": map[string]any{"registry.json": "{}", "index.json": "{}"}},
		map[string]any{"data": nil},
	},
	"MCPTool": {
		map[string]any{"spec": map[string]any{"state": "Disabled"}},
		map[string]any{"spec": map[string]any{"state": nil}},
	},
}

// attack does one thing to one object. It says false where the API server refuses it, or where it means nothing.
func attack(ctx context.Context, c client.Client, o *unstructured.Unstructured, how hostile) (bool, error) {
	var patch map[string]any
	switch how {
	case deleted:
		return true, c.Delete(ctx, o)
	case replaced:
		return true, usurp(ctx, c, o)
	case orphaned:
		patch = map[string]any{"metadata": map[string]any{"ownerReferences": nil}}
	case stripped:
		patch = map[string]any{"metadata": map[string]any{"labels": nil}}
	case relabeled:
		labels := map[string]any{}
		for key := range o.GetLabels() {
			labels[key] = "somebody"
		}
		patch = map[string]any{"metadata": map[string]any{"labels": labels}}
	case garbled:
		patch = contents[o.GetKind()].garble
	case emptied:
		patch = contents[o.GetKind()].empty
	}
	if patch == nil {
		return false, nil
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return false, err
	}
	err = c.Patch(ctx, o, client.RawPatch(types.MergePatchType, body), client.FieldOwner("somebody"))
	if apierrors.IsInvalid(err) {
		return false, nil
	}
	return true, err
}

// usurp deletes an object and makes one of its name that belongs to nobody.
func usurp(ctx context.Context, c client.Client, o *unstructured.Unstructured) error {
	theirs := &unstructured.Unstructured{Object: map[string]any{}}
	theirs.SetGroupVersionKind(o.GroupVersionKind())
	theirs.SetNamespace(o.GetNamespace())
	theirs.SetName(o.GetName())
	theirs.SetAnnotations(map[string]string{"somebody.example.com/own": "true"})
	for _, part := range []string{"spec", "data"} {
		if value, ok := o.Object[part]; ok {
			theirs.Object[part] = value
		}
	}
	if spec, ok := theirs.Object["spec"].(map[string]any); ok && o.GetKind() == "Service" {
		delete(spec, "clusterIP")
		delete(spec, "clusterIPs")
	}
	for {
		if err := c.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
			return err
		}
		// The manager may be quicker with its own.
		err := c.Create(ctx, theirs.DeepCopy(), client.FieldOwner("somebody"))
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		if err := c.Get(ctx, client.ObjectKeyFromObject(o), o); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
}

// TestHostileState lets somebody delete, strip and change everything that Toolgate made, and wants it healed, or refused in a
// condition; what belongs to others stays as it is.
func TestHostileState(t *testing.T) {
	r, began := need(t), time.Now()
	h := &hostilityRun{Rig: r}
	h.manager = manager(t, r, rig.ManagerOptions{})
	clean, err := rehearse(t.Context(), r, h.manager, scenario{name: "at rest", before: nothing, then: besiegedOnes})
	if err != nil {
		t.Fatal(err)
	}
	h.want = clean.after
	objects, err := r.Objects(t.Context(), clean.namespace)
	if err != nil {
		t.Fatal(err)
	}
	var attacks []attackOn
	for i := range objects {
		if _, known := contents[objects[i].GetKind()]; known && !strings.HasPrefix(objects[i].GetName(), "stranger") {
			for _, how := range hostilities {
				attacks = append(attacks, attackOn{objects[i].GetKind(), objects[i].GetName(), how})
			}
		}
	}
	random := dice(5)
	runs := sized(t, 6, 60, 170)
	h.calm.window = sized(t, 2*time.Second, 5*time.Second, time.Minute)
	progress(t, &h.done, "attacks")
	var group errgroup.Group
	group.SetLimit(parallel)
	points := make([]*point, runs)
	for i := range runs {
		// Each namespace suffers four attacks at once, on whatever the dice say.
		some := pick(random, attacks, 4)
		points[i] = &point{fault: "attacks", key: fmt.Sprint(some)}
		group.Go(func() error {
			if err := h.suffer(t.Context(), points[i], some); err != nil {
				t.Error(err)
			}
			return nil // the others go on: each is a finding of its own
		})
	}
	_ = group.Wait()
	if err := h.calm.rest(t.Context(), h.manager, "besieged", points); err != nil {
		t.Error(err)
	}
	if err := clearAll(t.Context(), r, points); err != nil {
		t.Error(err)
	}
	h.calm.figures(t, began)
	figures(t, began, "%d attacks of %d kinds on %d namespaces (%d more meant nothing): %d healed, %d refused with a condition; %d of %d foreign objects touched",
		h.done.Load(), len(attacks), runs, h.void.Load(), h.healed.Load(), h.refused.Load(), h.touched.Load(), len(strangers)*runs)
}

func pick[T any](random *rand.Rand, from []T, n int) []T {
	out := slices.Clone(from)
	random.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out[:n]
}

type attackOn struct {
	kind, name string
	how        hostile
}

type hostilityRun struct {
	*rig.Rig
	manager *rig.Manager
	want    rig.State
	calm    calm

	done, void, healed, refused, touched atomic.Int64
}

// suffer brings a namespace up, lets the attacks happen, and looks at what becomes of it.
func (h *hostilityRun) suffer(ctx context.Context, at *point, attacks []attackOn) error {
	ns, err := h.Namespace(ctx)
	if err != nil {
		return err
	}
	at.namespace = ns
	p := person{Rig: h.Rig, namespace: ns}
	if err := besiegedOnes(ctx, p); err != nil {
		return err
	}
	if _, err := h.Reach(ctx, ns, h.want); err != nil {
		return fmt.Errorf("before the attacks: %w", err)
	}
	before, err := p.strangers(ctx)
	if err != nil {
		return err
	}
	at.hit = time.Now()
	usurped, personal := h.attack(ctx, ns, attacks)
	asItWas, err := h.outcome(ctx, ns, usurped, personal)
	if err != nil {
		return fmt.Errorf("after %v: %w", attacks, err)
	}
	if asItWas {
		// Where something is refused, more is said of it when the time for it to come right is over.
		at.reached = time.Now()
	}
	after, err := p.strangers(ctx)
	if err != nil {
		return err
	}
	for name := range strangers {
		if before[name] != after[name] {
			h.touched.Add(1)
		}
	}
	if !maps.Equal(before, after) {
		return fmt.Errorf("after %v foreign objects were touched: %v became %v", attacks, before, after)
	}
	return nil
}

// strangers are objects of others, some with our labels.
var strangers = map[string]map[string]string{
	"stranger":          nil,
	"stranger-labeled":  {"app.kubernetes.io/managed-by": "toolgate"},
	"stranger.registry": {"app.kubernetes.io/managed-by": "toolgate", "mcp.toolgate.dev/server": "files"},
}

// besiegedOnes makes what suffers the attacks, with strangers beside it.
func besiegedOnes(ctx context.Context, p person) error {
	for name, labels := range strangers {
		cm := &corev1.ConfigMap{ObjectMeta: p.meta(name), Data: map[string]string{"key": "value"}}
		cm.Labels = labels
		if err := p.create(ctx, cm); err != nil {
			return err
		}
	}
	return withRules(ctx, p)
}

func (p person) strangers(ctx context.Context) (map[string]string, error) {
	versions := map[string]string{}
	for name := range strangers {
		cm := &corev1.ConfigMap{}
		if err := p.Client.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: name}, cm); err != nil {
			return nil, fmt.Errorf("a foreign object is gone: %w", err)
		}
		versions[name] = cm.ResourceVersion
	}
	return versions, nil
}

// attack says what was made anew by somebody else, and whether a person's word on a tool has changed: neither is ours to heal.
func (h *hostilityRun) attack(ctx context.Context, ns string, attacks []attackOn) (usurped []string, personal bool) {
	for _, a := range attacks {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(rig.Kind(a.kind))
		key := client.ObjectKey{Namespace: ns, Name: a.name}
		if err := h.Client.Get(ctx, key, o); err != nil {
			h.void.Add(1) // an attack before has deleted it just now
			continue
		}
		meant, err := attack(ctx, h.Client, o, a.how)
		if err != nil || !meant {
			h.void.Add(1)
			continue
		}
		h.done.Add(1)
		if a.how == replaced || a.how == orphaned {
			usurped = append(usurped, a.kind+"/"+a.name)
		}
		personal = personal || a.kind == "MCPTool"
	}
	return usurped, personal
}

// outcome waits until all is as it was, and then says true, or as it can be while somebody holds a name or a person has spoken.
func (h *hostilityRun) outcome(ctx context.Context, ns string, usurped []string, personal bool) (asItWas bool, err error) {
	if len(usurped) == 0 && !personal {
		if _, err := h.Reach(ctx, ns, h.want); err != nil {
			return false, err
		}
		h.healed.Add(1)
		return true, nil
	}
	// What is taken stays taken, and a person hears of it; or it was no more than a tool's own object, which is made again.
	began := time.Now()
	for {
		done, err := h.refusedOrHealed(ctx, ns)
		if done || err != nil {
			return false, err
		}
		if time.Since(began) > rig.Patience {
			return false, errors.New("neither healed nor refused with a condition")
		}
		if err := rig.Wait(ctx, 200*time.Millisecond); err != nil {
			return false, err
		}
	}
}

func (h *hostilityRun) refusedOrHealed(ctx context.Context, ns string) (bool, error) {
	s := &mcpv1alpha1.MCPServer{}
	if err := h.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "files"}, s); err != nil {
		return false, err
	}
	accepted := meta.FindStatusCondition(s.Status.Conditions, mcpv1alpha1.ConditionAccepted)
	switch {
	case accepted != nil && accepted.Status == "False" && accepted.Reason == mcpv1alpha1.ReasonNameConflict:
		h.refused.Add(1)
		return true, nil
	case meta.IsStatusConditionTrue(s.Status.Conditions, mcpv1alpha1.ConditionReady):
		got, err := h.State(ctx, ns)
		if err != nil {
			return false, err
		}
		for name := range h.want {
			if _, there := got[name]; !there {
				return false, nil
			}
		}
		h.healed.Add(1)
		return true, nil
	default:
		return false, nil
	}
}
