// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"k8s.io/apimachinery/pkg/types"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// Owner makes the server the controller of its child, so that watches map back to it and deletion collects it. It does not
// block the owner's deletion: that would need the right to change finalizers on some distributions.
func Owner(s *mcpv1alpha1.MCPServer) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion(mcpv1alpha1.GroupVersion.String()).
		WithKind("MCPServer").
		WithName(s.Name).
		WithUID(s.UID).
		WithController(true)
}

// OwnedBy says whether a child is the server's own: its controller is this very server, and not one of the same name that
// was deleted.
func OwnedBy(controller types.UID, s *mcpv1alpha1.MCPServer) bool {
	return controller != "" && controller == s.UID
}
