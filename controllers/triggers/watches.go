// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package triggers

import (
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/applied"
	"toolgate.dev/toolgate/controllers/gather"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/index"
)

// Settle is how long a status may wait to be taken up where each of many tools brings the next: a catalogue of a hundred
// tools would otherwise be a hundred documents.
const Settle = 100 * time.Millisecond

// Gathering is how long what is computed over a whole namespace waits for more to come: an index of thousands of tools, or the
// status of a RuleSet that reaches thousands of servers, would otherwise be computed anew for each of them.
const Gathering = 250 * time.Millisecond

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

func request(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// RequestFor maps a server to itself.
func RequestFor(_ context.Context, key types.NamespacedName) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: key}}
}

// ByServerLabel maps a pod to its server.
func ByServerLabel(_ context.Context, o client.Object) []reconcile.Request {
	if name := o.GetLabels()[render.LabelServer]; name != "" {
		return []reconcile.Request{request(o.GetNamespace(), name)}
	}
	return nil
}

// ByServerRef maps an MCPTool to its server.
func ByServerRef(_ context.Context, o client.Object) []reconcile.Request {
	return []reconcile.Request{request(o.GetNamespace(), o.(*mcpv1alpha1.MCPTool).Spec.ServerRef.Name)}
}

// ToIndex maps anything to the index of its namespace.
func ToIndex(_ context.Context, o client.Object) []reconcile.Request {
	return []reconcile.Request{request(o.GetNamespace(), render.IndexName)}
}

// ToServers maps an object to all servers of its namespace: which of them a RuleSet has left is not in the event.
func ToServers(g *gather.Gatherer) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		servers, err := g.Servers(ctx, o.GetNamespace())
		if err != nil {
			log.FromContext(ctx).Error(err, "Mapping an event to MCPServers", "namespace", o.GetNamespace())
			return nil
		}
		var out []reconcile.Request
		for i := range servers {
			out = append(out, request(servers[i].Namespace, servers[i].Name))
		}
		return out
	}
}

// ToRuleSets maps anything to all RuleSets of a namespace.
func ToRuleSets(g *gather.Gatherer, namespace string) func(context.Context) []reconcile.Request {
	return func(ctx context.Context) []reconcile.Request {
		sets, err := g.RuleSets(ctx, namespace)
		if err != nil {
			log.FromContext(ctx).Error(err, "Mapping an event to RuleSets", "namespace", namespace)
			return nil
		}
		var out []reconcile.Request
		for i := range sets {
			out = append(out, request(sets[i].Namespace, sets[i].Name))
		}
		return out
	}
}

// AllRuleSets maps an object to all RuleSets of its namespace.
func AllRuleSets(g *gather.Gatherer) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		return ToRuleSets(g, o.GetNamespace())(ctx)
	}
}

// Settled passes events of tools on after a while where only a status has changed, or at the end of the pass that is writing
// them; at once otherwise.
func Settled(passes *Passes) handler.EventHandler {
	enqueue := func(ctx context.Context, o client.Object, q queue, wait time.Duration) {
		for _, req := range ByServerRef(ctx, o) {
			switch {
			case wait == 0:
				q.Add(req)
			case !passes.await(req.NamespacedName):
				q.AddAfter(req, wait)
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { enqueue(ctx, e.Object, q, Settle) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { enqueue(ctx, e.Object, q, 0) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			wait := Settle
			if e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() {
				wait = 0
			}
			enqueue(ctx, e.ObjectNew, q, wait)
		},
	}
}

// Gathered passes all events of a while on as one.
func Gathered(mapped handler.MapFunc) handler.EventHandler {
	enqueue := func(ctx context.Context, o client.Object, q queue) {
		for _, req := range mapped(ctx, o) {
			q.AddAfter(req, Gathering)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { enqueue(ctx, e.Object, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { enqueue(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { enqueue(ctx, e.ObjectNew, q) },
	}
}

// SpecChanged passes what a person does: a new generation, and labels, by which RuleSets select.
func SpecChanged() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{})
}

// Resynced passes an object that is handed out once more although nothing has changed, so that what no event has told is found.
func Resynced() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion()
		},
	}
}

// Meddled passes a status that somebody else has written: what it says now may not be so.
func Meddled() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool { return applied.Meddled(e.ObjectOld, e.ObjectNew) },
	}
}

// ChildTouched passes what somebody does to a child, its metadata included, and leaves out its status.
func ChildTouched() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
			!equality.Semantic.DeepEqual(e.ObjectOld.GetOwnerReferences(), e.ObjectNew.GetOwnerReferences()) ||
			applied.Of(e.ObjectOld) != applied.Of(e.ObjectNew)
	}}
}

// ToolTouched passes what discovery must answer, and not what it wrote itself.
func ToolTouched() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*mcpv1alpha1.MCPTool), e.ObjectNew.(*mcpv1alpha1.MCPTool)
		return before.Generation != after.Generation ||
			!maps.Equal(before.Labels, after.Labels) ||
			!equality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences) ||
			render.OwnedByPeople(before) != render.OwnedByPeople(after) ||
			applied.Meddled(before, after)
	}}
}

// PodMoved passes what says something of a pod, and not the touch of its annotation.
func PodMoved() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*corev1.Pod), e.ObjectNew.(*corev1.Pod)
		return !maps.Equal(before.Labels, after.Labels) ||
			before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
			!equality.Semantic.DeepEqual(before.Status, after.Status)
	}}
}

// CameOrWent leaves out changes: of a ReplicaSet only its owner is read, and that stays.
func CameOrWent() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
}

// OnlyIndex passes the index of a namespace alone, with its shards.
func OnlyIndex() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(o client.Object) bool { return slices.Contains(index.Names(), o.GetName()) })
}
