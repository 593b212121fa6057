// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	var objects []string
	claimed := map[string]string{}
	for _, name := range d.view.Names() {
		if there[name] || name == "" {
			continue
		}
		object, err := r.objectName(ctx, d, name, claimed)
		if err != nil {
			return false, err
		}
		if object != "" {
			claimed[object] = name
			objects = append(objects, object)
		}
	}
	var group errgroup.Group
	group.SetLimit(writers)
	for _, object := range objects {
		group.Go(func() error { return r.applyTool(ctx, render.Tool(d.server, object, claimed[object], true)) })
	}
	return len(objects) > 0, group.Wait()
}

// objectName is what the MCPTool of a tool is to be named; "" where all that it could be is held by others, or claimed by tools
// that are about to be made.
func (r *DiscoveryReconciler) objectName(ctx context.Context, d *discovery, tool string, claimed map[string]string) (string, error) {
	object := catalog.ObjectName(d.server.Name, tool)
	for _, name := range []string{object, catalog.SecondObjectName(d.server.Name, tool)} {
		taken, err := r.taken(ctx, d, name)
		if err != nil {
			return "", err
		}
		if _, also := claimed[name]; !also && !taken {
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

// applyTool applies all that discovery ever writes of a tool beside its status.
func (r *DiscoveryReconciler) applyTool(ctx context.Context, want *render.ToolApplyConfiguration) error {
	err := r.Gather.Client.Apply(ctx, want, client.FieldOwner(render.FieldOwner), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("applying MCPTool %s: %w", *want.GetName(), err)
	}
	return nil
}
