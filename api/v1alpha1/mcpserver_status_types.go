// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MCPServerStatus is what is true of the server now. It is written on change
// only: figures that move all the time are metrics.
type MCPServerStatus struct {
	// conditions are Accepted, Available, Discovered, Healthy, Enforced,
	// Protected, Upgraded and Ready, each True where all is well; reason and
	// message say what is in the way and what to do.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the generation of the spec that this status speaks of.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// url is where clients in the cluster reach the server, by MCP over streamable
	// HTTP: pods of its namespace, and others that spec.network.ingressFrom names.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url,omitempty"`
	// transport is how the dispatcher speaks to the server: that of the spec, or
	// the default for it.
	// +optional
	Transport TransportType `json:"transport,omitempty"`
	// serverInfo is what the server says of itself. It is the server's own word
	// and decides nothing.
	// +optional
	ServerInfo *ServerInfo `json:"serverInfo,omitempty"`
	// protocolVersion is the revision of MCP that the dispatcher speaks with the
	// server. Example: 2025-06-18.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ProtocolVersion string `json:"protocolVersion,omitempty"`
	// capabilities are those that the server declares. Example: [tools, resources,
	// prompts, logging, completions].
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=128
	Capabilities []string `json:"capabilities,omitempty"`
	// toolsCount is the number of tools that the server lists, withheld ones
	// included.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ToolsCount *int32 `json:"toolsCount,omitempty"`
	// resourcesCount is the number of resources that the server lists.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ResourcesCount *int32 `json:"resourcesCount,omitempty"`
	// promptsCount is the number of prompts that the server lists.
	// +optional
	// +kubebuilder:validation:Minimum=0
	PromptsCount *int32 `json:"promptsCount,omitempty"`
	// blockedToolsCount is the number of listed tools that can't be called now;
	// each MCPTool says why, and Discovered of those that can have none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	BlockedToolsCount *int32 `json:"blockedToolsCount,omitempty"`
	// trust is what spec.trust comes to now.
	// +optional
	Trust *TrustStatus `json:"trust,omitempty"`
	// health is the outcome of probing the server.
	// +optional
	Health *HealthStatus `json:"health,omitempty"`
	// replicas is the number of pods.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`
	// readyReplicas is the number of pods that serve clients.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReadyReplicas *int32 `json:"readyReplicas,omitempty"`
	// selector selects the server's pods, for autoscalers.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Selector string `json:"selector,omitempty"`
	// revisions records each revision that has a pod, and the last ones that had
	// (10 in all), with the digest of its first whole catalogue: going back to one
	// is no new first use.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Revisions []RevisionStatus `json:"revisions,omitempty"`
	// registryDigest is the digest of the newest registry document, which Enforced
	// speaks of.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	RegistryDigest string `json:"registryDigest,omitempty"`
	// dispatcherVersion is the version of the dispatcher in the pods.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	DispatcherVersion string `json:"dispatcherVersion,omitempty"`
}

// ServerInfo is what the server says of itself.
type ServerInfo struct {
	// name that the server gives itself.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`
	// version that the server gives itself.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Version string `json:"version,omitempty"`
}

// TrustVerdict is what spec.trust comes to.
// +kubebuilder:validation:Enum=Untrusted;Trusted;Expired
type TrustVerdict string

// What spec.trust comes to.
const (
	// TrustNone: spec.trust.state is Untrusted.
	TrustNone TrustVerdict = "Untrusted"
	// TrustHolds: the server is trusted, as long as its dispatchers are polled.
	TrustHolds TrustVerdict = "Trusted"
	// TrustHasExpired: spec.trust.expiresAt has passed, and the server counts as Untrusted.
	TrustHasExpired TrustVerdict = "Expired"
)

// TrustStatus is whether the server counts as trusted now.
type TrustStatus struct {
	// state is Untrusted, Trusted, or Expired once spec.trust.expiresAt has
	// passed: the server counts as Untrusted then.
	// +required
	State TrustVerdict `json:"state,omitempty"`
	// message says when trust ends, or has ended, and whether it lapses in a pod
	// that no manager polls.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// HealthState is the outcome of probing.
// +kubebuilder:validation:Enum=Healthy;Unhealthy;Unknown
type HealthState string

// Outcomes of probing.
const (
	// Healthy answers its probes.
	Healthy HealthState = "Healthy"
	// Unhealthy has failed several probes in a row.
	Unhealthy HealthState = "Unhealthy"
	// HealthUnknown has not been probed yet.
	HealthUnknown HealthState = "Unknown"
)

// HealthStatus is the last change of the server's health.
type HealthStatus struct {
	// state is Healthy, Unhealthy or Unknown.
	// +required
	State HealthState `json:"state,omitempty"`
	// since is when it became so.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// consecutiveFailures is how many probes in a row had failed when this was
	// written. It stops at spec.health.failureThreshold.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ConsecutiveFailures int32 `json:"consecutiveFailures,omitempty"`
	// responseTimeMs is how long the answer took when this was written, in
	// milliseconds. The running figure is a metric.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ResponseTimeMs int64 `json:"responseTimeMs,omitempty"`
	// message says what went wrong.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Message string `json:"message,omitempty"`
}

// RevisionStatus is one revision: the hash of every field that reaches the
// server's process.
type RevisionStatus struct {
	// name of the revision, as in the label mcp.toolgate.dev/revision of its pods.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// firstCatalogueDigest is the digest of its first whole catalogue, out of
	// which alone tools are admitted by themselves.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	FirstCatalogueDigest string `json:"firstCatalogueDigest,omitempty"`
}
