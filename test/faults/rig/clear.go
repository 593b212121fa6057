// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// Clear deletes our kinds in a namespace, which the cluster follows with what they owned, and its ConfigMaps, among
// them the index, which only a manager would delete.
func (r *Rig) Clear(ctx context.Context, namespace string) error {
	for _, o := range []client.Object{&mcpv1alpha1.RuleSet{}, &mcpv1alpha1.MCPServer{}, &mcpv1alpha1.MCPTool{}} {
		if err := r.Client.DeleteAllOf(ctx, o, client.InNamespace(namespace)); err != nil {
			return fmt.Errorf("clearing namespace %s: %w", namespace, err)
		}
	}
	if err := r.Client.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("clearing the ConfigMaps of namespace %s: %w", namespace, err)
	}
	return nil
}
