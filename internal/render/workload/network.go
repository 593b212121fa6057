// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render"
)

// ServiceAccountName is the account of the server's pods: the one that the spec names, or our own, which has no rights.
func ServiceAccountName(s *mcpv1alpha1.MCPServer) string {
	if name := s.Spec.Pod.ServiceAccountName; name != "" {
		return name
	}
	return s.Name
}

// ServiceAccount renders the account of a server that names none, or this one.
func ServiceAccount(s *mcpv1alpha1.MCPServer) *corev1ac.ServiceAccountApplyConfiguration {
	return corev1ac.ServiceAccount(s.Name, s.Namespace).
		WithLabels(render.Labels(s.Name)).
		WithOwnerReferences(render.Owner(s)).
		WithAutomountServiceAccountToken(false)
}

// Service renders what clients reach. It leads to the dispatcher's port alone.
func Service(s *mcpv1alpha1.MCPServer) *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(s.Name, s.Namespace).
		WithLabels(render.Labels(s.Name)).
		WithAnnotations(s.Spec.Service.Annotations).
		WithOwnerReferences(render.Owner(s)).
		WithSpec(corev1ac.ServiceSpec().
			WithType(s.Spec.Effective().Service.Type).
			WithSelector(render.PodSelector(s.Name)).
			WithPorts(toMCP(render.ServicePort(s))))
}

// toMCP leads a port of a Service to the dispatcher's /mcp.
func toMCP(port int32) *corev1ac.ServicePortApplyConfiguration {
	return corev1ac.ServicePort().
		WithName(portNameMCP).
		WithPort(port).
		WithTargetPort(intstr.FromString(portNameMCP)).
		WithProtocol(corev1.ProtocolTCP)
}

// Peers renders the Service by which pods find each other, to hand over requests of sessions that another one holds. It
// names pods that are not ready too: one that drains still holds its sessions.
func Peers(s *mcpv1alpha1.MCPServer) *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(render.PeersName(s.Name), s.Namespace).
		WithLabels(render.Labels(s.Name)).
		WithOwnerReferences(render.Owner(s)).
		WithSpec(corev1ac.ServiceSpec().
			WithClusterIP(corev1.ClusterIPNone).
			WithPublishNotReadyAddresses(true).
			WithSelector(render.PodSelector(s.Name)).
			WithPorts(toMCP(render.PortMCP)))
}
