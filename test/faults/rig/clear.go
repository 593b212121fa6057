// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// Clear deletes our kinds in a namespace and waits until the cluster has collected what they owned. A manager must run for
// what only it deletes, the index.
func (r *Rig) Clear(ctx context.Context, namespace string) error {
	for _, o := range []client.Object{&mcpv1alpha1.RuleSet{}, &mcpv1alpha1.MCPServer{}, &mcpv1alpha1.MCPTool{}} {
		if err := r.Client.DeleteAllOf(ctx, o, client.InNamespace(namespace)); err != nil {
			return fmt.Errorf("clearing namespace %s: %w", namespace, err)
		}
	}
	return nil
}
