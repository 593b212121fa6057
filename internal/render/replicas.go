// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"

// ScaledExternally says whether an autoscaler has the number of pods.
func ScaledExternally(s *mcpv1alpha1.MCPServer) bool {
	return s.Spec.Scaling == mcpv1alpha1.ScalingExternal
}

// Replicas is the number of pods that are wanted now, given what the Deployment asks for; nil where there is none.
func Replicas(s *mcpv1alpha1.MCPServer, live *int32) int32 {
	switch {
	case Disabled(s):
		return 0
	case ScaledExternally(s) && live != nil:
		return *live
	default:
		return *s.Spec.Effective().Replicas
	}
}

// HasPods says whether a server has pods, or may have them. They must find each other also where one is asked for: while it drains there is
// the one that takes its place, and clients of its sessions come to that one.
func HasPods(s *mcpv1alpha1.MCPServer) bool {
	return !Disabled(s) && (ScaledExternally(s) || *s.Spec.Effective().Replicas > 0)
}

// HasSeveral says whether a server may have several pods that serve, which must not all be evicted at once. What an autoscaler does
// next is not known.
func HasSeveral(s *mcpv1alpha1.MCPServer) bool {
	return !Disabled(s) && (ScaledExternally(s) || *s.Spec.Effective().Replicas > 1)
}
