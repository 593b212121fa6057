// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/internal/render"
)

// refusedRetry is between attempts at what a user must put right where nothing that is watched tells that it was: an object
// of somebody else that holds a name, a quota, an admission policy.
const refusedRetry = 30 * time.Second

// ServerReconciler writes the children of an MCPServer and its status.
type ServerReconciler struct {
	Gather   *Gatherer
	Apply    *Applier
	Status   *StatusWriter
	Library  *Library
	Platform render.Platform
	Clock    clock.PassiveClock
}

// Reconcile brings one server's children and status up to date. A child that can't be written does not keep the status from
// being written.
func (r *ServerReconciler) Reconcile(ctx context.Context, s *mcpv1alpha1.MCPServer) (reconcile.Result, error) {
	if !s.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	refused, applyErr := r.applyChildren(ctx, s)
	in, err := r.gather(ctx, s, refused)
	if err != nil {
		return reconcile.Result{}, errors.Join(applyErr, err)
	}
	want := decide.Server(in)
	if err := writeStatus(ctx, r.Status, serverStatus(s), want); err != nil {
		return reconcile.Result{}, errors.Join(applyErr, err)
	}
	if applyErr != nil {
		return reconcile.Result{}, applyErr
	}
	result := reconcile.Result{RequeueAfter: until(in.NextLook(want.Conditions), in.Now)}
	if refused != (decide.Refusal{}) {
		result.RequeueAfter = refusedRetry
	}
	return result, nil
}

// until is how long to wait for a time; 0 for none.
func until(next, now time.Time) time.Duration {
	if next.IsZero() {
		return 0
	}
	// Times in a status are whole seconds: come a little later rather than a little too early.
	return max(next.Sub(now), 0) + 100*time.Millisecond
}

func (r *ServerReconciler) gather(ctx context.Context, s *mcpv1alpha1.MCPServer, refused decide.Refusal) (decide.ServerInput, error) {
	in := decide.ServerInput{Server: s, Now: r.Clock.Now(), Refused: refused}
	var err error
	if in.Revision, err = render.Revision(s); err != nil {
		return in, err
	}
	if in.Deployment, err = r.Gather.deployment(ctx, s); err != nil {
		return in, err
	}
	if in.Pods, err = r.Gather.pods(ctx, s, in.Deployment); err != nil {
		return in, err
	}
	data, err := r.Gather.document(ctx, s)
	if err != nil {
		return in, err
	}
	in.Document, in.DocumentError = digestOf(data), r.Library.documentError(keyOf(s))
	if data != nil && refused == (decide.Refusal{}) {
		doc, err := wanted(ctx, r.Gather, r.Library, s, in.Pods)
		if err != nil {
			return in, err
		}
		in.DocumentStale = !holds(data, doc)
	}
	if in.Tools, err = r.Gather.tools(ctx, keyOf(s)); err != nil {
		return in, err
	}
	sets, err := r.Gather.ruleSets(ctx, s.Namespace)
	if err != nil {
		return in, err
	}
	there := map[string]bool{}
	for i := range sets {
		there[sets[i].Name] = true
	}
	in.MissingRuleSets = render.MissingRuleSets(s, nil, there)
	return in, nil
}

// applyChildren runs the steps in their order; the first refusal ends them.
func (r *ServerReconciler) applyChildren(ctx context.Context, s *mcpv1alpha1.MCPServer) (decide.Refusal, error) {
	if message := render.Invalid(s); message != "" {
		return decide.Refusal{Reason: mcpv1alpha1.ReasonInvalidSpec, Message: message}, nil
	}
	for _, step := range []func(context.Context, *mcpv1alpha1.MCPServer) error{
		r.applyServiceAccount,
		r.applyService,
		r.applyNetworkPolicy,
		r.applyDeployment,
	} {
		if refused, err := classify(step(ctx, s)); err != nil || refused != (decide.Refusal{}) {
			return refused, err
		}
	}
	return decide.Refusal{}, nil
}

func (r *ServerReconciler) applyServiceAccount(ctx context.Context, s *mcpv1alpha1.MCPServer) error {
	if render.ServiceAccountName(s) != s.Name {
		return r.deleteServiceAccount(ctx, s)
	}
	if s.Spec.Pod.ServiceAccountName != "" {
		// A person's account that has the server's name is theirs.
		return nil
	}
	return apply(ctx, r.Apply, child[*corev1.ServiceAccount, *corev1ac.ServiceAccountApplyConfiguration]{
		kind:    "ServiceAccount",
		live:    &corev1.ServiceAccount{ObjectMeta: named(s, s.Name)},
		want:    render.ServiceAccount(s),
		owned:   controlledBy[*corev1.ServiceAccount](s),
		extract: corev1ac.ExtractServiceAccount,
	})
}

// deleteServiceAccount takes back our own account when the spec names another.
func (r *ServerReconciler) deleteServiceAccount(ctx context.Context, s *mcpv1alpha1.MCPServer) error {
	var account corev1.ServiceAccount
	err := r.Apply.Client.Get(ctx, client.ObjectKeyFromObject(s), &account)
	if err != nil || !controlledBy[*corev1.ServiceAccount](s)(&account) {
		return client.IgnoreNotFound(err)
	}
	return client.IgnoreNotFound(r.Apply.Client.Delete(ctx, &account, client.Preconditions{UID: &account.UID}))
}

func (r *ServerReconciler) applyService(ctx context.Context, s *mcpv1alpha1.MCPServer) error {
	return apply(ctx, r.Apply, child[*corev1.Service, *corev1ac.ServiceApplyConfiguration]{
		kind:    "Service",
		live:    &corev1.Service{ObjectMeta: named(s, s.Name)},
		want:    render.Service(s),
		owned:   controlledBy[*corev1.Service](s),
		extract: corev1ac.ExtractService,
	})
}

func (r *ServerReconciler) applyNetworkPolicy(ctx context.Context, s *mcpv1alpha1.MCPServer) error {
	return apply(ctx, r.Apply, child[*networkingv1.NetworkPolicy, *networkingv1ac.NetworkPolicyApplyConfiguration]{
		kind:    "NetworkPolicy",
		live:    &networkingv1.NetworkPolicy{ObjectMeta: named(s, s.Name)},
		want:    render.NetworkPolicy(s, r.Platform),
		owned:   controlledBy[*networkingv1.NetworkPolicy](s),
		extract: networkingv1ac.ExtractNetworkPolicy,
	})
}

// applyDeployment waits for the registry document, which the pods mount: its ConfigMap is watched.
func (r *ServerReconciler) applyDeployment(ctx context.Context, s *mcpv1alpha1.MCPServer) error {
	document, err := r.Gather.document(ctx, s)
	if err != nil || document == nil {
		return err
	}
	want, err := render.Deployment(s, r.Platform)
	if err != nil {
		return err
	}
	return apply(ctx, r.Apply, child[*appsv1.Deployment, *appsv1ac.DeploymentApplyConfiguration]{
		kind:    "Deployment",
		live:    &appsv1.Deployment{ObjectMeta: named(s, s.Name)},
		want:    want,
		owned:   controlledBy[*appsv1.Deployment](s),
		extract: appsv1ac.ExtractDeployment,
	})
}

func named(s *mcpv1alpha1.MCPServer, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.Namespace, Name: name}
}
