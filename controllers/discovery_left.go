// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render"
)

// leftBehind says of a tool in which no person has a word whether its server is gone and it is still there: the server's deletion has
// orphaned it, so that nothing else collects it, or another server has the name, sooner than it was collected. What was admitted for the
// one says nothing of the other.
func (d *discovery) leftBehind(t *mcpv1alpha1.MCPTool) bool {
	if render.OwnedByPeople(t) {
		return false
	}
	if d.server == nil {
		return len(t.OwnerReferences) == 0 && t.Labels[render.LabelManagedBy] == render.ManagedBy
	}
	ref := metav1.GetControllerOf(t)
	return !d.going() && ref != nil && ref.Kind == "MCPServer" && ref.Name == d.server.Name && ref.UID != d.server.UID
}

// collect deletes a tool that was left behind, as it was read, and asks the API server itself before: a view that is late has another
// server than there is, or none.
func (r *DiscoveryReconciler) collect(ctx context.Context, d *discovery, t *mcpv1alpha1.MCPTool) error {
	var now mcpv1alpha1.MCPServer
	err := r.Apply.Live.Get(ctx, d.key, &now)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return fmt.Errorf("reading MCPServer %s: %w", d.key.Name, err)
	case d.server == nil && !going(&now), d.server != nil && now.UID != d.server.UID:
		return nil // what is seen next tells
	}
	return r.abandon(ctx, t)
}
