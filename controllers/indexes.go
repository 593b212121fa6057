// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// indexServerRef finds the MCPTools of a server.
const indexServerRef = "spec.serverRef.name"

// RegisterIndexes registers every index that the reconcilers list by, for a manager and for specs alike.
func RegisterIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, &mcpv1alpha1.MCPTool{}, indexServerRef, func(o client.Object) []string {
		return []string{o.(*mcpv1alpha1.MCPTool).Spec.ServerRef.Name}
	})
	if err != nil {
		return fmt.Errorf("indexing MCPTools by server: %w", err)
	}
	return nil
}
