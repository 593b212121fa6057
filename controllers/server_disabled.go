// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/gather"
	"toolgate.dev/toolgate/controllers/writes"
	"toolgate.dev/toolgate/internal/render"
)

// leaveInvalid leaves the children of a server as they are whose spec is not valid, since nobody knows what they should be; but one
// that is disabled has no pods.
func (r *ServerReconciler) leaveInvalid(ctx context.Context, s *mcpv1alpha1.MCPServer, why string) (decide.Refusal, error) {
	invalid := decide.Refusal{Reason: mcpv1alpha1.ReasonInvalidSpec, Message: why}
	if !render.Disabled(s) {
		return invalid, nil
	}
	refused, err := writes.Classify(r.takePods(ctx, s))
	if refused != (decide.Refusal{}) {
		invalid.Message += "; its pods can't be taken away: " + refused.Message
	}
	return invalid, err
}

// takePods scales a server's Deployment to 0. All else that was applied to it is applied once more as it is: what is left out would be
// taken away.
func (r *ServerReconciler) takePods(ctx context.Context, s *mcpv1alpha1.MCPServer) error {
	seen, err := r.Gather.Deployment(ctx, s)
	if err != nil || seen == nil || ptr.Deref(seen.Spec.Replicas, 1) == 0 {
		return err
	}
	var d appsv1.Deployment
	if err := r.Apply.Live.Get(ctx, client.ObjectKeyFromObject(s), &d); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("reading Deployment %s: %w", s.Name, err)
	}
	if !gather.ControlledBy[*appsv1.Deployment](s)(&d) {
		return nil
	}
	want, err := appsv1ac.ExtractDeployment(&d, render.FieldOwner)
	if err != nil {
		return fmt.Errorf("reading what was applied to Deployment %s: %w", s.Name, err)
	}
	if want.Spec == nil {
		want.WithSpec(appsv1ac.DeploymentSpec())
	}
	want.WithUID(d.UID).Spec.WithReplicas(0)
	if err := r.Apply.Client.Apply(ctx, want, client.FieldOwner(render.FieldOwner), client.ForceOwnership); err != nil {
		return fmt.Errorf("scaling Deployment %s to 0: %w", s.Name, err)
	}
	return nil
}
