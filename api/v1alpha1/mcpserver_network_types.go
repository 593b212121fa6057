// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Network says who reaches the pods of a server, and what they reach. It takes
// effect where the cluster's network enforces NetworkPolicies.
//
// +kubebuilder:validation:XValidation:rule="!has(self.egressTo) || self.?egress.orValue('Internet') in ['Internet', 'List']",message="egressTo adds to egress Internet and List: Open reaches everything already, and DNSOnly nothing else"
type Network struct {
	// ingressFrom are the clients that may connect. Other pods of this server
	// always may. Default: the pods of this namespace that are no MCP servers.
	// Clients outside of the cluster, which come through a Service of type
	// LoadBalancer, need a cidr here.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	IngressFrom []NetworkPeer `json:"ingressFrom,omitempty"`
	// metricsFrom may read the dispatcher's metrics at :7313/metrics, and nothing
	// else. Default: nobody. Example: [{namespaceSelector: {matchLabels:
	// {kubernetes.io/metadata.name: monitoring}}}].
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	MetricsFrom []NetworkPeer `json:"metricsFrom,omitempty"`
	// egress is what the pods reach. Internet: public addresses, and not those of
	// the cluster, of private networks or of the node's neighbourhood. Open:
	// everything. DNSOnly: nothing but the cluster's DNS. List: what egressTo
	// names. The cluster's DNS is always reached; so are remote.url and
	// telemetry.otlpEndpoint where they name an address (http://10.1.2.3), a
	// Service of this namespace (http://web) or one of another
	// (http://web.apps.svc). No NetworkPolicy can name another host: with DNSOnly
	// it is not reached, with List where egressTo has its addresses.
	// Default: Internet.
	// +optional
	Egress Egress `json:"egress,omitempty"`
	// egressTo is what the pods reach beside DNS, and with egress Internet beside
	// public addresses. Example: [{podSelector: {matchLabels: {app: db}}, ports:
	// [5432]}].
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	EgressTo []EgressPeer `json:"egressTo,omitempty"`
}

// NetworkPeer is somebody on the network.
//
// +kubebuilder:validation:XValidation:rule="has(self.cidr) != (has(self.namespaceSelector) || has(self.podSelector))",message="say who: a cidr, or namespaceSelector and podSelector, of which an absent one is this namespace and all its pods"
type NetworkPeer struct {
	// namespaceSelector selects namespaces by their labels. Default: this
	// namespace alone. {} selects all.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// podSelector selects pods of those namespaces by their labels. Default: all
	// of them.
	// +optional
	PodSelector *metav1.LabelSelector `json:"podSelector,omitempty"`
	// cidr is a range of addresses outside of the cluster. Example: 192.0.2.0/24.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="isCIDR(self)",message="a range of addresses, such as 192.0.2.0/24 or 2001:db8::/32"
	CIDR string `json:"cidr,omitempty"`
}

// EgressPeer is somebody on the network, or some ports there.
//
// +kubebuilder:validation:XValidation:rule="has(self.cidr) != (has(self.namespaceSelector) || has(self.podSelector))",message="say who: a cidr, or namespaceSelector and podSelector, of which an absent one is this namespace and all its pods"
type EgressPeer struct {
	// namespaceSelector selects namespaces by their labels. Default: this
	// namespace alone. {} selects all.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// podSelector selects pods of those namespaces by their labels. Default: all
	// of them.
	// +optional
	PodSelector *metav1.LabelSelector `json:"podSelector,omitempty"`
	// cidr is a range of addresses outside of the cluster. Example: 192.0.2.0/24.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="isCIDR(self)",message="a range of addresses, such as 192.0.2.0/24 or 2001:db8::/32"
	CIDR string `json:"cidr,omitempty"`
	// ports that are reached there, over TCP. Default: all, over any protocol.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=65535
	Ports []int32 `json:"ports,omitempty"`
}

// Egress is what the pods reach.
// +kubebuilder:validation:Enum=Internet;Open;DNSOnly;List
type Egress string

// What pods can reach.
const (
	// EgressInternet is public addresses.
	EgressInternet Egress = "Internet"
	// EgressOpen is everything.
	EgressOpen Egress = "Open"
	// EgressDNSOnly is the cluster's DNS.
	EgressDNSOnly Egress = "DNSOnly"
	// EgressList is what egressTo names.
	EgressList Egress = "List"
)
