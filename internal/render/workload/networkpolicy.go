// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/shape"
)

// NetworkPolicy renders who may open connections to a server's pods, and to whom they may. In: clients and the server's own
// pods reach /mcp, the manager reaches the admin port, everyone the probes (kubelets come from addresses that a policy can't
// name, and there is nothing to see there), and scrapers the metrics. Every other port is shut, that of an HTTP server above
// all. Out: as spec.network says.
func NetworkPolicy(s *mcpv1alpha1.MCPServer, p Platform) (*networkingv1ac.NetworkPolicyApplyConfiguration, error) {
	own := peer().WithPodSelector(labelled(render.PodSelector(s.Name)))
	clients, err := clientsOf(s)
	if err != nil {
		return nil, err
	}
	spec := networkingv1ac.NetworkPolicySpec().
		WithPodSelector(labelled(render.GuardSelector(s.Name))).
		WithPolicyTypes(networkingv1.PolicyTypeIngress).
		WithIngress(ingress(render.PortMCP, append(clients, own)...), ingress(render.PortProbe))
	if p.ManagerNamespace != "" {
		spec.WithIngress(ingress(render.PortAdmin, inNamespace(p.ManagerNamespace).WithPodSelector(labelled(ManagerLabels()))))
	}
	scrapers, err := shape.Peers(s.Spec.Network.MetricsFrom)
	if err != nil {
		return nil, err
	}
	if len(scrapers) > 0 {
		spec.WithIngress(ingress(render.PortMetrics, scrapers...))
	}
	if s.Spec.Network.Egress != mcpv1alpha1.EgressOpen {
		rules, err := egress(s, own)
		if err != nil {
			return nil, err
		}
		spec.WithPolicyTypes(networkingv1.PolicyTypeEgress).WithEgress(rules...)
	}
	return networkingv1ac.NetworkPolicy(s.Name, s.Namespace).
		WithLabels(render.Labels(s.Name)).
		WithOwnerReferences(render.Owner(s)).
		WithSpec(spec), nil
}

// clientsOf are those that the spec names, or the pods of the namespace that are no MCP servers, in service or out of it.
func clientsOf(s *mcpv1alpha1.MCPServer) ([]*networkingv1ac.NetworkPolicyPeerApplyConfiguration, error) {
	if len(s.Spec.Network.IngressFrom) > 0 {
		return shape.Peers(s.Spec.Network.IngressFrom)
	}
	noServer := metav1ac.LabelSelector().WithMatchExpressions(
		metav1ac.LabelSelectorRequirement().WithKey(render.LabelServer).WithOperator(metav1.LabelSelectorOpDoesNotExist),
		metav1ac.LabelSelectorRequirement().WithKey(render.LabelRevision).WithOperator(metav1.LabelSelectorOpDoesNotExist))
	return []*networkingv1ac.NetworkPolicyPeerApplyConfiguration{peer().WithPodSelector(noServer)}, nil
}

// egress are the ways out of pods that can't go everywhere. What a person has named is always among them: the remote server
// and the collector of spans. A rule without a peer would be one to everybody, so there is none.
func egress(s *mcpv1alpha1.MCPServer, own *networkingv1ac.NetworkPolicyPeerApplyConfiguration) ([]*networkingv1ac.NetworkPolicyEgressRuleApplyConfiguration, error) {
	out := []*networkingv1ac.NetworkPolicyEgressRuleApplyConfiguration{dns(), egressRule([]int32{render.PortMCP}, own)}
	targets := []string{s.Spec.Telemetry.OTLPEndpoint}
	if s.Spec.Remote != nil {
		targets = append(targets, s.Spec.Remote.URL)
	}
	for _, target := range targets {
		if rule := named(target, s.Namespace); rule != nil {
			out = append(out, rule)
		}
	}
	if s.Spec.Effective().Network.Egress == mcpv1alpha1.EgressInternet {
		out = append(out, egressRule(nil,
			peer().WithIPBlock(networkingv1ac.IPBlock().WithCIDR("0.0.0.0/0").WithExcept(privateIPv4...)),
			peer().WithIPBlock(networkingv1ac.IPBlock().WithCIDR("::/0").WithExcept(privateIPv6...))))
	}
	for _, to := range s.Spec.Network.EgressTo {
		peers, err := shape.Peers([]mcpv1alpha1.NetworkPeer{{NamespaceSelector: to.NamespaceSelector, PodSelector: to.PodSelector, CIDR: to.CIDR}})
		if err != nil {
			return nil, err
		}
		out = append(out, egressRule(to.Ports, peers...))
	}
	return out, nil
}

// Ranges that are not the Internet: IANA's special-purpose registries (RFC 6890), of which 100.64.0.0/10 and 198.18.0.0/15
// serve pods and Services in some clusters, and 169.254.0.0/16 the metadata of clouds.
var (
	privateIPv4 = []string{
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
		"192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4",
	}
	privateIPv6 = []string{"::/96", "64:ff9b:1::/48", "2002::/16", "fc00::/7", "fe80::/10", "ff00::/8"}
)

// dns leads to the cluster's DNS alone, where distributions run it, and to the cache of it that some run on each node: port
// 53 of everybody would be a way out for whatever a server has read.
func dns() *networkingv1ac.NetworkPolicyEgressRuleApplyConfiguration {
	rule := networkingv1ac.NetworkPolicyEgressRule().WithTo(
		inNamespace("kube-system").WithPodSelector(labelled(map[string]string{"k8s-app": "kube-dns"})),
		inNamespace("openshift-dns").WithPodSelector(labelled(map[string]string{"dns.operator.openshift.io/daemonset-dns": "default"})),
		peer().WithIPBlock(networkingv1ac.IPBlock().WithCIDR("169.254.20.10/32")))
	for _, port := range []int32{53, 5353} {
		for _, protocol := range []corev1.Protocol{corev1.ProtocolUDP, corev1.ProtocolTCP} {
			rule.WithPorts(networkingv1ac.NetworkPolicyPort().WithProtocol(protocol).WithPort(intstr.FromInt32(port)))
		}
	}
	return rule
}

func egressRule(ports []int32, to ...*networkingv1ac.NetworkPolicyPeerApplyConfiguration) *networkingv1ac.NetworkPolicyEgressRuleApplyConfiguration {
	rule := networkingv1ac.NetworkPolicyEgressRule().WithTo(to...)
	for _, port := range ports {
		rule.WithPorts(networkingv1ac.NetworkPolicyPort().WithProtocol(corev1.ProtocolTCP).WithPort(intstr.FromInt32(port)))
	}
	return rule
}

func ingress(port int32, from ...*networkingv1ac.NetworkPolicyPeerApplyConfiguration) *networkingv1ac.NetworkPolicyIngressRuleApplyConfiguration {
	return networkingv1ac.NetworkPolicyIngressRule().
		WithFrom(from...).
		WithPorts(networkingv1ac.NetworkPolicyPort().WithProtocol(corev1.ProtocolTCP).WithPort(intstr.FromInt32(port)))
}

func peer() *networkingv1ac.NetworkPolicyPeerApplyConfiguration {
	return networkingv1ac.NetworkPolicyPeer()
}

func inNamespace(name string) *networkingv1ac.NetworkPolicyPeerApplyConfiguration {
	return peer().WithNamespaceSelector(labelled(map[string]string{corev1.LabelMetadataName: name}))
}

func labelled(labels map[string]string) *metav1ac.LabelSelectorApplyConfiguration {
	return metav1ac.LabelSelector().WithMatchLabels(labels)
}
