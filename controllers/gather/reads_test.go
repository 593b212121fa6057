// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/gather"
	"toolgate.dev/toolgate/controllers/library"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/registry/shard"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/document"
)

// cached is a client that reads as one with a cache does: what is there is copied, but where that is asked not to be.
type cached struct {
	client.Client
	objects map[client.ObjectKey]client.Object
	// copied are the names of what was.
	copied []string
	// gets counts the reads of one object.
	gets int
}

func (c *cached) Get(_ context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	c.gets++
	o, there := c.objects[client.ObjectKey{Namespace: fmt.Sprintf("%T", into), Name: key.Name}]
	if !there {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	var asked client.GetOptions
	asked.ApplyOptions(opts)
	if asked.UnsafeDisableDeepCopy == nil || !*asked.UnsafeDisableDeepCopy {
		c.copied = append(c.copied, key.Name)
		o = o.DeepCopyObject().(client.Object)
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(o).Elem())
	return nil
}

// many is a server with a document of many tools, in shards or in one piece, and its Deployment.
func many(tb testing.TB, tools int) (*mcpv1alpha1.MCPServer, *cached) {
	tb.Helper()
	s := &mcpv1alpha1.MCPServer{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "files", UID: "u1"},
		Spec:       mcpv1alpha1.MCPServerSpec{Container: &mcpv1alpha1.Container{Image: "x", Command: []string{"x"}}},
	}
	in := document.Input{Server: s, Revisions: []string{"r1"}}
	for i := range tools {
		in.Tools = append(in.Tools, mcpv1alpha1.MCPTool{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("files.tool-%05d", i)},
			Spec:       mcpv1alpha1.MCPToolSpec{ServerRef: mcpv1alpha1.ServerRef{Name: "files"}, ToolName: fmt.Sprintf("%05d.%s", i, strings.Repeat("x", 195))},
		})
	}
	rendered, err := library.New().Document(in)
	if err != nil {
		tb.Fatal(err)
	}
	files, err := rendered.Next(library.Held{}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	owners := []metav1.OwnerReference{{APIVersion: mcpv1alpha1.GroupVersion.String(), Kind: "MCPServer", Name: "files", UID: "u1", Controller: new(true)}}
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "ns", Name: name, OwnerReferences: owners}
	}
	c := &cached{objects: map[client.ObjectKey]client.Object{}}
	add := func(o client.Object) {
		c.objects[client.ObjectKey{Namespace: fmt.Sprintf("%T", o), Name: o.GetName()}] = o
	}
	add(&appsv1.Deployment{ObjectMeta: meta("files")})
	first := &corev1.ConfigMap{ObjectMeta: meta(render.RegistryName("files")), Data: map[string]string{}}
	for name, data := range files {
		if name == registry.FileName || name == shard.RootFile {
			first.Data[name] = string(data)
			continue
		}
		add(&corev1.ConfigMap{ObjectMeta: meta(render.ShardName("files", name)), BinaryData: map[string][]byte{name: data}})
	}
	add(first)
	return s, c
}

// TestWhatIsReadIsNotCopied reads what every pass reads of a server.
func TestWhatIsReadIsNotCopied(t *testing.T) {
	for name, tools := range map[string]int{"in one piece": 10, "in shards": 5000} {
		t.Run(name, func(t *testing.T) {
			s, c := many(t, tools)
			g := &gather.Gatherer{Client: c}
			if _, err := g.Deployment(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			if there, err := g.HasDocument(t.Context(), s); err != nil || !there {
				t.Fatalf("there is a document: %v, %v", there, err)
			}
			if held, err := g.Written(t.Context(), s, library.New()); err != nil || held.Content == "" {
				t.Fatalf("the document is %+v, %v", held, err)
			}
			if len(c.copied) > 0 {
				t.Errorf("%v are copied", c.copied)
			}
		})
	}
}

// TestADeploymentIsAbsentWhenTheAPIServerSaysSo has caches that hold what has our labels alone. What they lack is read from the API
// server, once where there is nothing.
func TestADeploymentIsAbsentWhenTheAPIServerSaysSo(t *testing.T) {
	s, there := many(t, 1)
	absent := &cached{}
	for name, tc := range map[string]struct {
		cache, live *cached
		want        bool
		reads       int
	}{
		"with its labels": {cache: there, live: absent, want: true},
		"without them":    {cache: absent, live: there, want: true, reads: 3},
		"nowhere":         {cache: absent, live: absent, reads: 1},
	} {
		t.Run(name, func(t *testing.T) {
			live := &cached{objects: tc.live.objects}
			g := &gather.Gatherer{Client: tc.cache, Live: live}
			look := func() {
				t.Helper()
				if d, err := g.Deployment(t.Context(), s); err != nil || (d != nil) != tc.want {
					t.Fatalf("the Deployment is %v, %v", d, err)
				}
			}
			for range 3 {
				look()
			}
			if live.gets != tc.reads {
				t.Errorf("the API server is asked %d times, not %d", live.gets, tc.reads)
			}
		})
	}
}

// TestOneThatCameIsNotTakenForAbsent makes a Deployment after there was none, and takes its labels off.
func TestOneThatCameIsNotTakenForAbsent(t *testing.T) {
	s, there := many(t, 1)
	cache, live := &cached{}, &cached{}
	g := &gather.Gatherer{Client: cache, Live: live}
	for i, step := range []struct {
		cache, live *cached
		want        bool
	}{{&cached{}, &cached{}, false}, {there, there, true}, {&cached{}, there, true}} {
		cache.objects, live.objects = step.cache.objects, step.live.objects
		if d, err := g.Deployment(t.Context(), s); err != nil || (d != nil) != step.want {
			t.Fatalf("step %d: the Deployment is %v, %v", i, d, err)
		}
	}
}

// BenchmarkWritten reads a document that has not changed, as each pass does, for each RuleSet of the namespace, too.
func BenchmarkWritten(b *testing.B) {
	s, c := many(b, 800)
	g, known := &gather.Gatherer{Client: c}, library.New()
	if held, err := g.Written(b.Context(), s, known); err != nil || held.Content == "" {
		b.Fatalf("the document is %+v, %v", held, err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Written(b.Context(), s, known); err != nil {
			b.Fatal(err)
		}
	}
}
