// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

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
	NamespaceSelector *LabelSelector `json:"namespaceSelector,omitempty"`
	// podSelector selects pods of those namespaces by their labels. Default: all
	// of them.
	// +optional
	PodSelector *LabelSelector `json:"podSelector,omitempty"`
	// cidr is a range of addresses outside of the cluster. Example: 192.0.2.0/24.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self) == cidr(self).masked()",message="a range of addresses by its first one, such as 192.0.2.0/24 or 2001:db8::/32"
	CIDR string `json:"cidr,omitempty"`
}

// EgressPeer is somebody on the network, or some ports there.
//
// +kubebuilder:validation:XValidation:rule="has(self.cidr) != (has(self.namespaceSelector) || has(self.podSelector))",message="say who: a cidr, or namespaceSelector and podSelector, of which an absent one is this namespace and all its pods"
type EgressPeer struct {
	// namespaceSelector selects namespaces by their labels. Default: this
	// namespace alone. {} selects all.
	// +optional
	NamespaceSelector *LabelSelector `json:"namespaceSelector,omitempty"`
	// podSelector selects pods of those namespaces by their labels. Default: all
	// of them.
	// +optional
	PodSelector *LabelSelector `json:"podSelector,omitempty"`
	// cidr is a range of addresses outside of the cluster. Example: 192.0.2.0/24.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self) == cidr(self).masked()",message="a range of addresses by its first one, such as 192.0.2.0/24 or 2001:db8::/32"
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

// LabelSelector selects by labels, as those of Kubernetes do: what has every
// label and meets every expression. An empty one selects all.
type LabelSelector struct {
	// matchLabels are labels to have. Example: {app: db}.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.qualifiedName().validate(k).hasValue() && !format.labelValue().validate(self[k]).hasValue())",message="keys and values must be those of Kubernetes labels, as in app: db"
	MatchLabels map[string]LabelValue `json:"matchLabels,omitempty"`
	// matchExpressions are conditions to meet.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	MatchExpressions []LabelExpression `json:"matchExpressions,omitempty"`
}

// LabelExpression is a condition on one label.
//
// +kubebuilder:validation:XValidation:rule="(self.operator in ['In', 'NotIn']) == (self.?values.orValue([]).size() > 0)",message="an operator is In or NotIn with values, or Exists or DoesNotExist without"
type LabelExpression struct {
	// key of the label.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="!format.qualifiedName().validate(self).hasValue()",message="the key of a label, as in example.com/team"
	Key string `json:"key,omitempty"`
	// operator compares the label with values.
	// +required
	Operator LabelOperator `json:"operator,omitempty"`
	// values of which the label has one with In, and none with NotIn.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(v, !v.matches('^[_.-]|[_.-]$|[^\\\\w.-]'))",message="the values of labels have letters, digits, hyphens, dots and underscores, and a letter or digit first and last"
	Values []LabelValue `json:"values,omitempty"`
}

// LabelOperator compares a label with values.
// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
type LabelOperator string

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
