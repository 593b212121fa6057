// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render"
)

// indexServerRef finds the MCPTools of a server.
const indexServerRef = "spec.serverRef.name"

// indexServerLabel finds the pods and ReplicaSets of a server. A selector of labels would go through all of the namespace.
const indexServerLabel = "metadata.labels.server"

// RegisterIndexes registers every index that the reconcilers list by, for a manager and for specs alike.
func RegisterIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, &mcpv1alpha1.MCPTool{}, indexServerRef, func(o client.Object) []string {
		return []string{o.(*mcpv1alpha1.MCPTool).Spec.ServerRef.Name}
	})
	if err != nil {
		return fmt.Errorf("indexing MCPTools by server: %w", err)
	}
	for _, o := range []client.Object{&corev1.Pod{}, replicaSet()} {
		err := indexer.IndexField(ctx, o, indexServerLabel, func(o client.Object) []string {
			return []string{o.GetLabels()[render.LabelServer]}
		})
		if err != nil {
			return fmt.Errorf("indexing what runs by server: %w", err)
		}
	}
	return nil
}
