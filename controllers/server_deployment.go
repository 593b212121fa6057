// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/applied"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/gather"
	"toolgate.dev/toolgate/controllers/waves"
	"toolgate.dev/toolgate/controllers/writes"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/workload"
)

// applyDeployment writes the Deployment as a whole, where all is there that its pods must not be without, and gives what people are to be
// told of that. One reading of what is there is what all of it goes by.
func (r *ServerReconciler) applyDeployment(ctx context.Context, s *mcpv1alpha1.MCPServer) ([]decide.Transition, error) {
	d, pods, err := r.Gather.Running(ctx, s)
	if err != nil {
		return nil, err
	}
	if d == nil {
		if gone, err := r.gone(ctx, s); gone || err != nil {
			return nil, err
		}
	}
	live, changed, err := liveOf(s, d, pods)
	if err != nil {
		return nil, err
	}
	if live.StateKey, err = r.Keys.Ensure(ctx, s, live.StateKey); err != nil {
		return nil, err
	}
	want, state, err := r.inTurn(ctx, s, d, live)
	if err != nil {
		return nil, err
	}
	if replicas := workload.ScaleOf(s, live).HandOver; replicas != nil {
		// Before our own field owner lets go of the number of pods, another one takes it as it is. An autoscaler that changes it in
		// between is no harm: the two then disagree, and we come again.
		if err := r.Apply.HandOver(ctx, workload.ScaleHandOver(s, live, *replicas)); err != nil {
			return nil, err
		}
	}
	err = writes.Apply(ctx, r.Apply, writes.Child[*appsv1.Deployment]{
		Kind:     "Deployment",
		Live:     &appsv1.Deployment{ObjectMeta: named(s, s.Name)},
		Want:     want,
		Owned:    gather.ControlledBy[*appsv1.Deployment](s),
		Complete: func(ctx context.Context) (runtime.ApplyConfiguration, error) { return r.withTemplate(ctx, s, want) },
	})
	if err != nil {
		return nil, err
	}
	return decide.RestartNews(changed), r.Waves.Report(ctx, client.ObjectKeyFromObject(s), state)
}

// liveOf is what the Deployment is rendered by beside the spec; d is nil where there is none yet. changed names the references for whose
// content its pods are replaced.
func liveOf(s *mcpv1alpha1.MCPServer, d *appsv1.Deployment, pods []decide.Pod) (live workload.Live, changed []string, err error) {
	if d != nil {
		live = workload.LiveOf(d, applied.Of(d).Replicas)
	}
	revision, err := render.Revision(s)
	if err != nil {
		return live, nil, err
	}
	if workload.Follows(s) {
		live.References, changed = decide.References(live.References, revision, pods)
	}
	return live, changed, nil
}

// scaleDown takes away the pods that are too many where the Deployment can't be written as a whole: whatever is refused, a server
// that is Disabled stops. All else of the Deployment stays as it was applied last.
func (r *ServerReconciler) scaleDown(ctx context.Context, s *mcpv1alpha1.MCPServer) error {
	d, err := r.Gather.Deployment(ctx, s)
	if d == nil || err != nil {
		return err
	}
	replicas := workload.ScaleOf(s, workload.LiveOf(d, applied.Of(d).Replicas)).Replicas
	if replicas == nil || *replicas >= ptr.Deref(d.Spec.Replicas, 1) {
		return nil
	}
	has, err := r.wasApplied(ctx, s)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	if has.Spec == nil {
		has.Spec = appsv1ac.DeploymentSpec()
	}
	has.Spec.Replicas = replicas
	return writes.Apply(ctx, r.Apply, writes.Child[*appsv1.Deployment]{
		Kind:  "Deployment",
		Live:  &appsv1.Deployment{ObjectMeta: named(s, s.Name)},
		Want:  has.WithUID(d.UID), // one that is gone is not made anew
		Owned: gather.ControlledBy[*appsv1.Deployment](s),
	})
}

// wasApplied is what our field owner has applied to the Deployment. The cache has a digest of that alone.
func (r *ServerReconciler) wasApplied(ctx context.Context, s *mcpv1alpha1.MCPServer) (*appsv1ac.DeploymentApplyConfiguration, error) {
	var d appsv1.Deployment
	if err := r.Apply.Live.Get(ctx, client.ObjectKeyFromObject(s), &d); err != nil {
		return nil, fmt.Errorf("reading Deployment %s: %w", s.Name, err)
	}
	has, err := appsv1ac.ExtractDeployment(&d, render.FieldOwner)
	if err != nil {
		return nil, fmt.Errorf("reading what was applied to Deployment %s: %w", s.Name, err)
	}
	return has, nil
}

// gone asks the API server itself whether a server is no more. A view that is late shows one for a while after it was deleted
// and its pods with it, and would start them once more.
func (r *ServerReconciler) gone(ctx context.Context, s *mcpv1alpha1.MCPServer) (bool, error) {
	var now mcpv1alpha1.MCPServer
	err := r.Apply.Live.Get(ctx, client.ObjectKeyFromObject(s), &now)
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("reading MCPServer %s: %w", s.Name, err)
	default:
		return now.UID != s.UID || !now.DeletionTimestamp.IsZero(), nil
	}
}

// inTurn gives the Deployment as it is to be now: without a pod template, for the one that it has, where only a release of Toolgate
// asks for others and the server's turn has not come.
func (r *ServerReconciler) inTurn(ctx context.Context, s *mcpv1alpha1.MCPServer, d *appsv1.Deployment, live workload.Live) (*appsv1ac.DeploymentApplyConfiguration, waves.State, error) {
	change, err := r.compare(s, d, live)
	if err != nil {
		return nil, "", err
	}
	over := false
	if change.Arrived() {
		if over, err = r.Waves.Over(ctx); err != nil {
			return nil, "", err
		}
	}
	want, state := change.Step(r.Waves.Turn(client.ObjectKeyFromObject(s)), over)
	return want, state, nil
}

// compare says what the Deployment that the spec asks for would do to the pods that there are.
func (r *ServerReconciler) compare(s *mcpv1alpha1.MCPServer, d *appsv1.Deployment, live workload.Live) (*waves.Change, error) {
	want, err := workload.Deployment(s, r.Platform, live)
	if err != nil {
		return nil, err
	}
	inputs, err := workload.PodInputs(s, live)
	if err != nil {
		return nil, err
	}
	return waves.Compare(d, want, inputs)
}

// upToDate says whether a Deployment, which nothing is applied to, has the pod template that the release that runs makes of the spec.
// Of a spec that is not valid it makes none.
func (r *ServerReconciler) upToDate(s *mcpv1alpha1.MCPServer, d *appsv1.Deployment, pods []decide.Pod) (bool, error) {
	if d == nil || render.Invalid(s) != "" {
		return false, nil
	}
	live, _, err := liveOf(s, d, pods)
	if err != nil {
		return false, err
	}
	change, err := r.compare(s, d, live)
	return err == nil && change.Cause == waves.Nothing, err
}

// withTemplate gives a Deployment that comes without a pod template the one that it has.
func (r *ServerReconciler) withTemplate(ctx context.Context, s *mcpv1alpha1.MCPServer, want *appsv1ac.DeploymentApplyConfiguration) (runtime.ApplyConfiguration, error) {
	if want.Spec.Template != nil {
		return want, nil
	}
	has, err := r.wasApplied(ctx, s)
	if err != nil {
		return nil, err
	}
	mark, err := applied.MarkOf(has)
	if err != nil {
		return nil, err
	}
	if mark.Template != want.Annotations[render.AnnotationPodTemplate] {
		return nil, fmt.Errorf("the pod template of Deployment %s has changed meanwhile", s.Name)
	}
	want.Spec.Template = has.Spec.Template
	return want, nil
}
