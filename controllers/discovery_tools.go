// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/render"
)

// makeTools makes an MCPTool for every listed name that has none, and says whether it made any.
func (r *DiscoveryReconciler) makeTools(ctx context.Context, d *discovery, tools []mcpv1alpha1.MCPTool) (bool, error) {
	if d.server == nil {
		return false, nil
	}
	there := map[string]bool{}
	for i := range tools {
		there[tools[i].Spec.ToolName] = true
	}
	made := false
	for _, name := range d.view.Names() {
		if there[name] || name == "" {
			continue
		}
		object, err := r.objectName(ctx, d, name)
		if err != nil {
			return made, err
		}
		if object == "" {
			continue
		}
		if err := r.applyTool(ctx, render.Tool(d.server, object, name, true)); err != nil {
			return made, err
		}
		made = true
	}
	return made, nil
}

// objectName is what the MCPTool of a tool is to be named; "" where all that it could be is held by others.
func (r *DiscoveryReconciler) objectName(ctx context.Context, d *discovery, tool string) (string, error) {
	object := catalog.ObjectName(d.server.Name, tool)
	for _, name := range []string{object, catalog.SecondObjectName(d.server.Name, tool)} {
		taken, err := r.taken(ctx, d, name)
		if err != nil {
			return "", err
		}
		if !taken {
			return name, nil
		}
	}
	// The tool stays unknown to dispatchers, which refuse it, until a person renames one of the objects.
	log.FromContext(ctx).Info("A tool has no MCPTool because others hold its names", "tool", tool, "mcpTool", object)
	return "", nil
}

// taken says whether the name of an object is held by the MCPTool of something else.
func (r *DiscoveryReconciler) taken(ctx context.Context, d *discovery, object string) (bool, error) {
	var t mcpv1alpha1.MCPTool
	err := r.Gather.Client.Get(ctx, client.ObjectKey{Namespace: d.key.Namespace, Name: object}, &t)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading MCPTool %s: %w", object, err)
	}
	return true, nil
}

// applyMetadata keeps labels and owner of a tool: owned by its server while no person has a word in it, by nobody from a
// person's first field on, so that no decision of theirs is lost with the server.
func (r *DiscoveryReconciler) applyMetadata(ctx context.Context, d *discovery, t *mcpv1alpha1.MCPTool) error {
	if d.server == nil {
		return nil
	}
	owned := !render.OwnedByPeople(t)
	ref := metav1.GetControllerOf(t)
	labelled := true
	for k, v := range render.ToolLabels(d.server.Name) {
		labelled = labelled && t.Labels[k] == v
	}
	if labelled && owned == (ref != nil && ref.UID == d.server.UID) {
		return nil
	}
	if err := r.applyTool(ctx, render.Tool(d.server, t.Name, t.Spec.ToolName, owned)); err != nil {
		return err
	}
	// The status is about to be written on what was just applied.
	if err := r.Gather.Client.Get(ctx, client.ObjectKeyFromObject(t), t); err != nil {
		return fmt.Errorf("reading MCPTool %s: %w", t.Name, err)
	}
	return nil
}

// applyTool applies all that discovery ever writes of a tool beside its status.
func (r *DiscoveryReconciler) applyTool(ctx context.Context, want *render.ToolApplyConfiguration) error {
	err := r.Gather.Client.Apply(ctx, want, client.FieldOwner(render.FieldOwner), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("applying MCPTool %s: %w", *want.GetName(), err)
	}
	return nil
}
