// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/gather"
	"toolgate.dev/toolgate/controllers/library"
	"toolgate.dev/toolgate/controllers/waves"
	"toolgate.dev/toolgate/controllers/writes"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/workload"
)

// outcome is what came of writing the children of a server.
type outcome struct {
	// refused is all that was refused.
	refused decide.Refusal
	// held is why the Deployment is not as the spec asks for; the zero value where it is, or where nobody knows.
	held decide.Refusal
	// waits says that the Deployment can't be as the spec asks for.
	waits bool
	// guard is what came of the NetworkPolicy.
	guard decide.Guard
	// news is what people are told of beside the status.
	news []decide.Transition
	// err is what ended without a verdict.
	err error
}

// add takes in what is told of a write, and its error where it had no answer. forPods says that there are no new pods where it did
// not succeed.
func (o *outcome) add(refused decide.Refusal, err error, forPods bool) {
	o.refused, o.err = o.refused.And(refused), errors.Join(o.err, err)
	if forPods {
		o.hold(refused, err)
	}
}

func (o *outcome) hold(why decide.Refusal, err error) {
	o.held, o.waits = o.held.And(why), o.waits || err != nil || why != (decide.Refusal{})
}

// applyChildren writes what restricts first, and goes on whatever was refused or got no answer: the name that somebody else holds
// keeps no other child from being as the spec says. New pods wait for what they must not be without; those that are to go, go. Of a
// spec that is not valid nobody knows what there should be, but that one that is disabled has no pods.
func (r *ServerReconciler) applyChildren(ctx context.Context, s *mcpv1alpha1.MCPServer) outcome {
	var out outcome
	if message := render.Invalid(s); message != "" {
		out.refused = decide.Refusal{Reason: mcpv1alpha1.ReasonInvalidSpec, Message: message}
		out.guard.Refused = out.refused
		out.hold(out.refused, nil)
		if render.Disabled(s) {
			refused, err := r.answered(s, scaling, r.scaleDown(ctx, s))
			out.add(refused, err, true)
		}
		return out
	}
	for _, c := range r.children(s) {
		refused, err := r.answered(s, c.name, c.put(ctx, r.Apply))
		out.add(refused, err, c.forPods)
		if c.guard {
			out.guard = decide.Guard{Refused: refused, Unanswered: err != nil}
		}
	}
	missing, err := r.noDocument(ctx, s)
	out.err = errors.Join(out.err, err)
	out.hold(missing, err)
	if !out.waits {
		news, err := r.applyDeployment(ctx, s)
		out.news = news
		refused, err := r.answered(s, "Deployment", err)
		out.add(refused, err, true)
	}
	if out.waits {
		refused, err := r.answered(s, scaling, r.scaleDown(ctx, s))
		out.add(refused, err, true)
	}
	return out
}

// scaling names the attempt to take pods away that are not to be.
const scaling = "scaling"

// answered says what is to be told of an attempt at a child, and gives its error where it had no answer: one that has had none for
// long is told, too.
func (r *ServerReconciler) answered(s *mcpv1alpha1.MCPServer, child string, err error) (decide.Refusal, error) {
	refused, err := writes.Classify(err)
	return r.Library.Answered(client.ObjectKeyFromObject(s), child, library.Attempt{At: r.Clock.Now(), Refused: refused, Err: err}), err
}

// child is an object of a server beside its Deployment and its registry document.
type child struct {
	name string
	// forPods says that no pods are made that would be without it.
	forPods bool
	// guard says that it is what keeps others from going round the dispatcher.
	guard bool
	// put makes it as it is to be.
	put func(context.Context, *writes.Applier) error
}

// children come in the order in which they are written: the NetworkPolicy, which restricts, is the first.
func (r *ServerReconciler) children(s *mcpv1alpha1.MCPServer) []child {
	policy, err := workload.NetworkPolicy(s, r.Platform)
	restricting := only(true, s, &networkingv1.NetworkPolicy{ObjectMeta: named(s, s.Name)}, policy)
	if err != nil {
		restricting = func(context.Context, *writes.Applier) error { return err }
	}
	return []child{
		{name: "NetworkPolicy", forPods: true, guard: true, put: restricting},
		{name: "ServiceAccount", forPods: s.Spec.Pod.ServiceAccountName == "", put: r.account(s)},
		{name: "Service", put: only(true, s, &corev1.Service{ObjectMeta: named(s, s.Name)}, workload.Service(s))},
		{name: "peers", put: only(render.HasPods(s), s, &corev1.Service{ObjectMeta: named(s, render.PeersName(s.Name))}, workload.Peers(s))},
		{name: "PodDisruptionBudget", put: only(render.HasSeveral(s), s, &policyv1.PodDisruptionBudget{ObjectMeta: named(s, s.Name)}, workload.PodDisruptionBudget(s))},
	}
}

// account makes the server's own where the spec names no other. One of its name that belongs to a person is left to them where the spec
// names it; ours is taken back when no pod has it any more: until then one may have to be made again with it, on another node.
func (r *ServerReconciler) account(s *mcpv1alpha1.MCPServer) func(context.Context, *writes.Applier) error {
	chosen, live := s.Spec.Pod.ServiceAccountName, &corev1.ServiceAccount{ObjectMeta: named(s, s.Name)}
	put := only(chosen == "" || chosen == s.Name, s, live, workload.ServiceAccount(s))
	switch chosen {
	case "":
		return put
	case s.Name:
		return func(ctx context.Context, a *writes.Applier) error {
			err := put(ctx, a)
			if foreign := (*writes.ForeignError)(nil); errors.As(err, &foreign) {
				return nil
			}
			return err
		}
	}
	return func(ctx context.Context, a *writes.Applier) error {
		d, err := r.Gather.Deployment(ctx, s)
		if err != nil || d == nil || d.Spec.Template.Spec.ServiceAccountName == s.Name || !waves.Complete(d) {
			return err
		}
		return put(ctx, a)
	}
}

// only puts a child where it is wanted, and takes ours back where it is not. live is empty but for its name.
func only[O client.Object](wanted bool, s *mcpv1alpha1.MCPServer, live O, want applyConfiguration) func(context.Context, *writes.Applier) error {
	return func(ctx context.Context, a *writes.Applier) error {
		if !wanted {
			return writes.DeleteOwned(ctx, a, s, live)
		}
		return writes.Apply(ctx, a, writes.Child[O]{Kind: *want.GetKind(), Live: live, Want: want, Owned: gather.ControlledBy[O](s)})
	}
}

// applyConfiguration is one that says of what kind it is, as all of them do.
type applyConfiguration interface {
	runtime.ApplyConfiguration
	GetKind() *string
}

// noDocument says why there is no registry document, which pods mount; the zero value where there is one. It is written elsewhere, and
// its ConfigMap is watched.
func (r *ServerReconciler) noDocument(ctx context.Context, s *mcpv1alpha1.MCPServer) (decide.Refusal, error) {
	there, err := r.Gather.HasDocument(ctx, s)
	if err != nil || there {
		return decide.Refusal{}, err
	}
	if why := r.Library.Refused(client.ObjectKeyFromObject(s)); why != (decide.Refusal{}) {
		return why, nil
	}
	return decide.Refusal{Reason: mcpv1alpha1.ReasonProgressing, Message: "the registry document has not been written yet"}, nil
}

func named(s *mcpv1alpha1.MCPServer, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.Namespace, Name: name}
}
