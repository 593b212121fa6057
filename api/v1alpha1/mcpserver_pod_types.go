// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import corev1 "k8s.io/api/core/v1"

// PodSettings adds to the pods of a server.
type PodSettings struct {
	// labels are put on the pods, beside Toolgate's own. Example: {team: billing}.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.qualifiedName().validate(k).hasValue() && !format.labelValue().validate(self[k]).hasValue())",message="keys and values must be those of Kubernetes labels: at most 63 letters, digits, hyphens, dots and underscores, a letter or digit first and last, and before the key a DNS name and / where wanted, as in example.com/team: billing"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('mcp.toolgate.dev/') && !(k in ['app.kubernetes.io/managed-by', 'app.kubernetes.io/name', 'app.kubernetes.io/component', 'pod-template-hash']))",message="labels mcp.toolgate.dev/*, app.kubernetes.io/managed-by, app.kubernetes.io/name, app.kubernetes.io/component and pod-template-hash are set by Toolgate and Kubernetes: choose others"
	Labels map[string]LabelValue `json:"labels,omitempty"`
	// annotations are put on the pods. Example: {prometheus.io/scrape: "false"}.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.qualifiedName().validate(k.lowerAscii()).hasValue())",message="keys must be those of Kubernetes annotations: at most 63 letters, digits, hyphens, dots and underscores, and before them a DNS name and / where wanted"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('mcp.toolgate.dev/'))",message="annotations mcp.toolgate.dev/* are set by Toolgate: choose others"
	Annotations map[string]string `json:"annotations,omitempty"`
	// serviceAccountName is an existing account of this namespace for the pods. No
	// token of it is mounted. Default: an account that Toolgate makes for this
	// server and that has no rights.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="the name of a ServiceAccount in this namespace: lower-case letters, digits, hyphens and dots"
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// imagePullSecrets names Secrets of this namespace with which images are
	// pulled. Example: [registry-login].
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	ImagePullSecrets []string `json:"imagePullSecrets,omitempty"`
	// volumes that spec.container.volumeMounts can mount. Example: [{name: data,
	// emptyDir: {}}].
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Volumes []Volume `json:"volumes,omitempty"`
	// nodeSelector are labels that a node must have to take the pods. Example:
	// {kubernetes.io/arch: amd64}.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.qualifiedName().validate(k).hasValue() && !format.labelValue().validate(self[k]).hasValue())",message="keys and values must be those of Kubernetes labels, as in kubernetes.io/arch: amd64"
	NodeSelector map[string]LabelValue `json:"nodeSelector,omitempty"`
	// tolerations let the pods onto tainted nodes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(t, (t.?operator.orValue('') == 'Exists' ? t.?value.orValue('') == '' : t.?key.orValue('') != '') && (!has(t.tolerationSeconds) || t.?effect.orValue('') == 'NoExecute') && t.?effect.orValue('') in ['', 'NoSchedule', 'PreferNoSchedule', 'NoExecute'])",message="a toleration has a key, and a value where wanted, or operator Exists without a value; its effect is NoSchedule, PreferNoSchedule or NoExecute, which tolerationSeconds needs, or absent for all of them"
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// affinity says near which nodes and pods the pods may run, or rather not, in
	// the words of Kubernetes (kubectl explain pod.spec.affinity). The API server
	// reads it when the Deployment is written: a mistake is told in the condition
	// Accepted.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// topologySpreadConstraints spread the pods over nodes or zones, in the words
	// of Kubernetes (kubectl explain pod.spec.topologySpreadConstraints). The pods
	// of a server have the label mcp.toolgate.dev/server with its name. The API
	// server reads them when the Deployment is written: a mistake is told in the
	// condition Accepted.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
	// runtimeClassName is the RuntimeClass that runs the pods, such as one with a
	// sandbox. Example: gvisor.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="the name of a RuntimeClass: lower-case letters, digits, hyphens and dots"
	RuntimeClassName string `json:"runtimeClassName,omitempty"`
	// priorityClassName is the PriorityClass of the pods. Example: batch.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="the name of a PriorityClass: lower-case letters, digits, hyphens and dots"
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// securityContext says to which groups the pods belong and which system calls
	// they may make. Pods never run as root unless the container's securityContext
	// says so.
	// +optional
	SecurityContext PodSecurity `json:"securityContext,omitzero"`
	// terminationGracePeriodSeconds is how long a pod has to end when it is
	// stopped, in seconds. Calls in flight have five sixths of it to finish.
	// Default: 60.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`
}

// LabelValue is the value of a label.
// +kubebuilder:validation:MaxLength=63
type LabelValue string

// DispatcherSettings sets up the dispatcher container.
type DispatcherSettings struct {
	// resources are the requests and limits of the dispatcher's container, and of
	// the one that installs it beside a stdio server.
	// Default: requests of 10m cpu and 32Mi memory, and no limits.
	// +optional
	// +kubebuilder:validation:XValidation:rule="['cpu', 'memory', 'ephemeral-storage'].all(k, !(has(self.requests) && has(self.limits) && k in self.requests && k in self.limits) || quantity(string(self.requests[k])).compareTo(quantity(string(self.limits[k]))) <= 0)",message="a request can't be more than the limit of the same resource: raise the limit, or lower the request"
	// +kubebuilder:validation:XValidation:rule="!has(self.claims)",message="claims are not supported: the pods of a server have no resource claims; set requests and limits"
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`
	// logLevel is how much the dispatcher logs. Arguments and results are logged
	// at no level. Default: info.
	// +optional
	LogLevel LogLevel `json:"logLevel,omitempty"`
}

// LogLevel is how much the dispatcher logs.
// +kubebuilder:validation:Enum=debug;info;warn;error
type LogLevel string

// ServiceSettings sets up the Service of a server.
type ServiceSettings struct {
	// type of the Service. LoadBalancer and NodePort lead to the dispatcher from
	// outside of the cluster, where callers have no identity yet;
	// spec.network.ingressFrom has to let their addresses in, as a cidr. Default:
	// ClusterIP.
	// +optional
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	Type corev1.ServiceType `json:"type,omitempty"`
	// annotations are put on the Service, for a load balancer's settings.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.qualifiedName().validate(k.lowerAscii()).hasValue())",message="keys must be those of Kubernetes annotations: at most 63 letters, digits, hyphens, dots and underscores, and before them a DNS name and / where wanted"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('mcp.toolgate.dev/'))",message="annotations mcp.toolgate.dev/* are set by Toolgate: choose others"
	Annotations map[string]string `json:"annotations,omitempty"`
	// port that clients connect to. Default: 80.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port *int32 `json:"port,omitempty"`
	// hosts are the DNS names by which clients reach the server beside the
	// Service's own: those of an Ingress, a Gateway or a load balancer, and
	// filesystem.default.svc.example.com in a cluster of that domain. A request
	// with any other name is refused (HostNotAllowed), so that no web page can
	// reach the server under a name that it has made up. Pods are replaced when
	// they change. Example: [mcp.example.com].
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.all(h, !format.dns1123Subdomain().validate(h).hasValue())",message="each entry is a DNS name in lower case, such as mcp.example.com, without scheme, port, path and wildcard"
	// +kubebuilder:validation:XValidation:rule="self.all(h, !h.matches('^[0-9.]+$'))",message="an address needs no entry: requests for addresses are taken always"
	Hosts []string `json:"hosts,omitempty"`
}
