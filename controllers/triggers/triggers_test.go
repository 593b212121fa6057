// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package triggers_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/applied"
	"toolgate.dev/toolgate/controllers/triggers"
	"toolgate.dev/toolgate/internal/render"
)

var files = types.NamespacedName{Namespace: "ns", Name: "files"}

func tool(edit func(*mcpv1alpha1.MCPTool)) *mcpv1alpha1.MCPTool {
	t := &mcpv1alpha1.MCPTool{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "files.read", Generation: 1, ResourceVersion: "1"}}
	t.Spec.ServerRef.Name = "files"
	edit(t)
	return t
}

// meddle is what is on record once somebody has written a status.
func meddle(t *mcpv1alpha1.MCPTool) {
	t.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status", FieldsV1: metav1.NewFieldsV1(`{}`)}}
}

func pod(edit func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "files-1", ResourceVersion: "1", Labels: map[string]string{render.LabelServer: "files"}}}
	edit(p)
	return p
}

// budget is one as the cache keeps it.
func budget(edit func(*policyv1.PodDisruptionBudget)) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{
		Generation: 1, Labels: map[string]string{"ours": "1"}, OwnerReferences: []metav1.OwnerReference{{UID: "u"}},
		ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: render.FieldOwner, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "policy/v1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:ours":{}}},"f:spec":{}}`),
		}},
	}}
	if edit != nil {
		edit(b)
	}
	applied.Reduce(b)
	return b
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, ResourceVersion: "1"}}
}

func TestPredicates(t *testing.T) {
	oldTool, oldPod := tool(func(*mcpv1alpha1.MCPTool) {}), pod(func(*corev1.Pod) {})
	for name, tc := range map[string]struct {
		predicate   predicate.Predicate
		before, now client.Object
		want        bool
	}{
		"a tool's status is what discovery wrote itself": {triggers.ToolTouched(), oldTool, tool(func(t *mcpv1alpha1.MCPTool) { t.Status.ObservedGeneration = 1 }), false},
		"a tool's spec":  {triggers.ToolTouched(), oldTool, tool(func(t *mcpv1alpha1.MCPTool) { t.Generation = 2 }), true},
		"a tool's label": {triggers.ToolTouched(), oldTool, tool(func(t *mcpv1alpha1.MCPTool) { t.Labels = map[string]string{"a": "b"} }), true},
		"a tool's owner": {triggers.ToolTouched(), oldTool, tool(func(t *mcpv1alpha1.MCPTool) { t.OwnerReferences = []metav1.OwnerReference{{UID: "u"}} }), true},
		"a tool that a person has a word in now": {triggers.ToolTouched(), oldTool, tool(func(t *mcpv1alpha1.MCPTool) {
			t.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:hints":{}}}`)}}
		}), true},
		"a tool's status that somebody else wrote": {triggers.ToolTouched(), oldTool, tool(meddle), true},
		"a status that somebody else wrote":        {triggers.Meddled(), oldTool, tool(meddle), true},
		"a status that we wrote":                   {triggers.Meddled(), oldTool, tool(func(t *mcpv1alpha1.MCPTool) { t.Status.ObservedGeneration = 1 }), false},
		"the touch of a pod":                       {triggers.PodMoved(), oldPod, pod(func(p *corev1.Pod) { p.Annotations = map[string]string{"touched": "now"} }), false},
		"a pod's status":                           {triggers.PodMoved(), oldPod, pod(func(p *corev1.Pod) { p.Status.PodIP = "10.0.0.1" }), true},
		"a pod's label that is gone":               {triggers.PodMoved(), oldPod, pod(func(p *corev1.Pod) { p.Labels = nil }), true},
		"a pod that ends":                          {triggers.PodMoved(), oldPod, pod(func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }), true},
		"a ReplicaSet that is changed":             {triggers.CameOrWent(), oldPod, oldPod, false},
		"a budget's status":                        {triggers.ChildTouched(), budget(nil), budget(func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptionsAllowed = 1 }), false},
		"a budget's spec":                          {triggers.ChildTouched(), budget(nil), budget(func(b *policyv1.PodDisruptionBudget) { b.Generation = 7 }), true},
		"a budget's owner":                         {triggers.ChildTouched(), budget(nil), budget(func(b *policyv1.PodDisruptionBudget) { b.OwnerReferences = nil }), true},
		"a label of ours on a budget": {triggers.ChildTouched(), budget(nil), budget(func(b *policyv1.PodDisruptionBudget) {
			b.Labels, b.ManagedFields[0].FieldsV1 = nil, metav1.NewFieldsV1(`{"f:spec":{}}`)
		}), true},
		"a resync":                     {triggers.Resynced(), oldPod, oldPod, true},
		"no resync":                    {triggers.Resynced(), oldPod, pod(func(p *corev1.Pod) { p.ResourceVersion = "2" }), false},
		"the index":                    {triggers.OnlyIndex(), configMap(render.IndexName), configMap(render.IndexName), true},
		"a shard of it":                {triggers.OnlyIndex(), configMap(render.IndexName + ".3"), configMap(render.IndexName + ".3"), true},
		"another ConfigMap":            {triggers.OnlyIndex(), configMap("files.registry"), configMap("files.registry"), false},
		"labels, by which sets select": {triggers.SpecChanged(), oldPod, pod(func(p *corev1.Pod) { p.Labels = map[string]string{"team": "a"} }), true},
		"a status":                     {triggers.SpecChanged(), oldPod, pod(func(p *corev1.Pod) { p.Status.PodIP = "10.0.0.1" }), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.predicate.Update(event.UpdateEvent{ObjectOld: tc.before, ObjectNew: tc.now}); got != tc.want {
				t.Errorf("passed %v, want %v", got, tc.want)
			}
		})
	}
}

// bench is a queue whose time stands still.
type bench struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	t     *testing.T
	clock *clocktesting.FakeClock
}

func newBench(t *testing.T) *bench {
	clock := clocktesting.NewFakeClock(time.Now())
	q := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request](),
		workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{Clock: clock})
	t.Cleanup(q.ShutDown)
	return &bench{TypedRateLimitingInterface: q, t: t, clock: clock}
}

// waits wants nothing in the queue before a time has passed, and one request for the server then.
func (b *bench) waits(d time.Duration) {
	b.t.Helper()
	if d > 0 {
		if n := b.Len(); n != 0 {
			b.t.Fatalf("%d requests at once", n)
		}
		b.clock.Step(d)
	}
	b.await(func() bool { return b.Len() == 1 })
	if got, _ := b.Get(); got.NamespacedName != files {
		b.t.Errorf("asked for %v", got)
	}
}

func (b *bench) await(is func() bool) {
	b.t.Helper()
	poll, limit := time.NewTicker(time.Millisecond), time.After(time.Minute)
	defer poll.Stop()
	for !is() {
		select {
		case <-poll.C:
		case <-limit:
			b.t.Fatal("waited in vain")
		}
	}
}

func TestSettled(t *testing.T) {
	before := tool(func(*mcpv1alpha1.MCPTool) {})
	spec, status := tool(func(t *mcpv1alpha1.MCPTool) { t.Generation = 2 }), tool(func(t *mcpv1alpha1.MCPTool) { t.Status.ObservedGeneration = 1 })
	for name, tc := range map[string]struct {
		now  *mcpv1alpha1.MCPTool
		want time.Duration
	}{"what a person wrote, at once": {spec, 0}, "a status, after a while": {status, triggers.Settle}} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			handler := triggers.Settled(&triggers.Passes{})
			for range 3 {
				handler.Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: tc.now}, b)
			}
			b.waits(tc.want)
		})
	}
	t.Run("while all tools are being written, at the end, once", func(t *testing.T) {
		b := newBench(t)
		told := 0
		passes := &triggers.Passes{Written: func(key types.NamespacedName) {
			if key != files {
				t.Errorf("told of %v", key)
			}
			told++
		}}
		handler := triggers.Settled(passes)
		passes.Begin(files)() // nobody waits for this one
		end := passes.Begin(files)
		for range 3 {
			handler.Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: status}, b)
		}
		if told != 0 || b.Len() != 0 {
			t.Errorf("told %d times before the end, %d requests", told, b.Len())
		}
		end()
		if told != 1 {
			t.Errorf("told %d times at the end", told)
		}
	})
}

func TestGathered(t *testing.T) {
	b := newBench(t)
	handler := triggers.Gathered(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: files}}
	})
	one := tool(func(*mcpv1alpha1.MCPTool) {})
	handler.Create(t.Context(), event.CreateEvent{Object: one}, b)
	handler.Update(t.Context(), event.UpdateEvent{ObjectOld: one, ObjectNew: one}, b)
	handler.Delete(t.Context(), event.DeleteEvent{Object: one}, b)
	b.waits(triggers.Gathering)
}

func TestHub(t *testing.T) {
	at, later := newBench(t), newBench(t)
	hub := &triggers.Hub{}
	hub.Changed(files) // nobody listens yet
	for q, wait := range map[*bench]time.Duration{at: 0, later: triggers.Settle} {
		if err := hub.Source(wait, triggers.RequestFor).Start(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	hub.Changed(files)
	hub.Changed(files)
	at.waits(0)
	later.waits(triggers.Settle)
}

func TestMaps(t *testing.T) {
	of := func(all []reconcile.Request) []types.NamespacedName {
		var out []types.NamespacedName
		for _, r := range all {
			out = append(out, r.NamespacedName)
		}
		return out
	}
	stray := pod(func(p *corev1.Pod) { p.Labels = nil })
	for name, tc := range map[string]struct {
		got  []reconcile.Request
		want []types.NamespacedName
	}{
		"a pod":       {triggers.ByServerLabel(t.Context(), pod(func(*corev1.Pod) {})), []types.NamespacedName{files}},
		"a stray pod": {triggers.ByServerLabel(t.Context(), stray), nil},
		"a tool":      {triggers.ByServerRef(t.Context(), tool(func(*mcpv1alpha1.MCPTool) {})), []types.NamespacedName{files}},
		"anything":    {triggers.ToIndex(t.Context(), stray), []types.NamespacedName{{Namespace: "ns", Name: render.IndexName}}},
		"a server":    {triggers.RequestFor(t.Context(), files), []types.NamespacedName{files}},
	} {
		if got := of(tc.got); len(got) != len(tc.want) || len(got) > 0 && got[0] != tc.want[0] {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
