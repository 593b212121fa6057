// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// ServiceAccountName is the account of the server's pods: the one that the spec names, or our own, which has no rights.
func ServiceAccountName(s *mcpv1alpha1.MCPServer) string {
	if name := s.Spec.Pod.ServiceAccountName; name != "" {
		return name
	}
	return s.Name
}

// ServiceAccount renders the account of a server that names none.
func ServiceAccount(s *mcpv1alpha1.MCPServer) *corev1ac.ServiceAccountApplyConfiguration {
	return corev1ac.ServiceAccount(s.Name, s.Namespace).
		WithLabels(Labels(s.Name)).
		WithOwnerReferences(owner(s)).
		WithAutomountServiceAccountToken(false)
}

// Service renders what clients reach. It leads to the dispatcher's port alone.
func Service(s *mcpv1alpha1.MCPServer) *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(s.Name, s.Namespace).
		WithLabels(Labels(s.Name)).
		WithAnnotations(s.Spec.Service.Annotations).
		WithOwnerReferences(owner(s)).
		WithSpec(corev1ac.ServiceSpec().
			WithType(s.Spec.Effective().Service.Type).
			WithSelector(PodSelector(s.Name)).
			WithPorts(toMCP(servicePort(s))))
}

// toMCP leads a port of a Service to the dispatcher's /mcp.
func toMCP(port int32) *corev1ac.ServicePortApplyConfiguration {
	return corev1ac.ServicePort().
		WithName(portNameMCP).
		WithPort(port).
		WithTargetPort(intstr.FromString(portNameMCP)).
		WithProtocol(corev1.ProtocolTCP)
}

// Peers renders the Service by which replicas find each other, to hand over requests of sessions that another one holds. It
// names pods that are not ready too: one that drains still holds its sessions.
func Peers(s *mcpv1alpha1.MCPServer) *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(PeersName(s.Name), s.Namespace).
		WithLabels(Labels(s.Name)).
		WithOwnerReferences(owner(s)).
		WithSpec(corev1ac.ServiceSpec().
			WithClusterIP(corev1.ClusterIPNone).
			WithPublishNotReadyAddresses(true).
			WithSelector(PodSelector(s.Name)).
			WithPorts(toMCP(PortMCP)))
}

// NetworkPolicy renders who may open connections to a server's pods: the pods of the namespace that are no MCP servers and
// the server's own pods reach /mcp, the manager reaches the admin port, everyone the probes (kubelets come from addresses
// that a policy can't name, and there is nothing to see there). Every other port is shut, that of an HTTP server above all.
func NetworkPolicy(s *mcpv1alpha1.MCPServer, p Platform) *networkingv1ac.NetworkPolicyApplyConfiguration {
	noServer := metav1ac.LabelSelector().WithMatchExpressions(
		metav1ac.LabelSelectorRequirement().WithKey(LabelServer).WithOperator(metav1.LabelSelectorOpDoesNotExist))
	own := metav1ac.LabelSelector().WithMatchLabels(PodSelector(s.Name))
	spec := networkingv1ac.NetworkPolicySpec().
		WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(PodSelector(s.Name))).
		WithPolicyTypes(networkingv1.PolicyTypeIngress).
		WithIngress(
			ingress(PortMCP, networkingv1ac.NetworkPolicyPeer().WithPodSelector(noServer), networkingv1ac.NetworkPolicyPeer().WithPodSelector(own)),
			ingress(PortProbe))
	if p.ManagerNamespace != "" {
		spec.WithIngress(ingress(PortAdmin, networkingv1ac.NetworkPolicyPeer().
			WithNamespaceSelector(metav1ac.LabelSelector().WithMatchLabels(map[string]string{corev1.LabelMetadataName: p.ManagerNamespace})).
			WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(ManagerLabels()))))
	}
	return networkingv1ac.NetworkPolicy(s.Name, s.Namespace).
		WithLabels(Labels(s.Name)).
		WithOwnerReferences(owner(s)).
		WithSpec(spec)
}

func ingress(port int32, from ...*networkingv1ac.NetworkPolicyPeerApplyConfiguration) *networkingv1ac.NetworkPolicyIngressRuleApplyConfiguration {
	return networkingv1ac.NetworkPolicyIngressRule().
		WithFrom(from...).
		WithPorts(networkingv1ac.NetworkPolicyPort().WithProtocol(corev1.ProtocolTCP).WithPort(intstr.FromInt32(port)))
}
