// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MCPServer runs one Model Context Protocol server, or stands before a remote one, and publishes its tools.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:shortName=mcps,categories=mcp
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Health",type=string,JSONPath=`.status.health.state`
// +kubebuilder:printcolumn:name="Tools",type=integer,JSONPath=`.status.toolsCount`
// +kubebuilder:printcolumn:name="Trust",type=string,JSONPath=`.spec.trust.state`
// +kubebuilder:printcolumn:name="Transport",type=string,JSONPath=`.spec.transport.type`
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.status.url`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Domain",type=string,priority=1,JSONPath=`.spec.domain`
// +kubebuilder:printcolumn:name="Protocol",type=string,priority=1,JSONPath=`.status.protocolVersion`
// +kubebuilder:printcolumn:name="Version",type=string,priority=1,JSONPath=`.status.serverInfo.version`
// +kubebuilder:printcolumn:name="Replicas",type=integer,priority=1,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Dispatcher",type=string,priority=1,JSONPath=`.status.dispatcherVersion`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type MCPServer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec MCPServerSpec `json:"spec"`
	// +optional
	Status MCPServerStatus `json:"status,omitempty"`
}

// MCPServerList is a list of MCPServers.
//
// +kubebuilder:object:root=true
type MCPServerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MCPServer `json:"items"`
}

// MCPServerSpec says what to run, or what to stand before, and what may pass.
type MCPServerSpec struct {
	// description says in a sentence what the server is for.
	Description string `json:"description,omitempty"`
	// domain is the area that the server serves, in one word. Rules see it as server.domain.
	Domain string `json:"domain,omitempty"`
	// capabilities are free words for routing, such as tool_execution. Rules see them as server.capabilities.
	Capabilities []string `json:"capabilities,omitempty"`
	// state Disabled takes the server out of service: no pods, no tools, not in the index.
	State State `json:"state,omitempty"`
	// container is the server that Toolgate runs. Exactly one of container and remote is set.
	Container *Container `json:"container,omitempty"`
	// remote is a server that runs elsewhere. Exactly one of container and remote is set.
	Remote *Remote `json:"remote,omitempty"`
	// transport is how the dispatcher speaks to the server.
	Transport Transport `json:"transport,omitzero"`
	// replicas is the number of pods.
	Replicas *int32 `json:"replicas,omitempty"`
	// pod adds to the pods of this server.
	Pod PodSettings `json:"pod,omitzero"`
	// dispatcher sets up the container that checks every call.
	Dispatcher DispatcherSettings `json:"dispatcher,omitzero"`
	// service sets up the Service that clients reach.
	Service ServiceSettings `json:"service,omitzero"`
	// timeoutSeconds is how long one call may take.
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
	// limits bound what one caller may ask.
	Limits Limits `json:"limits,omitzero"`
	// health says how the server is probed.
	Health Health `json:"health,omitzero"`
	// discovery says how the catalogue is read and pinned.
	Discovery Discovery `json:"discovery,omitzero"`
	// trust decides whether destructive tools may be called.
	Trust Trust `json:"trust,omitzero"`
	// gating says which tools count as destructive and what clients see of those that are blocked.
	Gating Gating `json:"gating,omitzero"`
	// expose says which parts of MCP are passed to clients.
	Expose Expose `json:"expose,omitzero"`
	// passthrough names methods that Toolgate does not know and lets through unchecked.
	Passthrough []string `json:"passthrough,omitempty"`
	// clientFeatures says what the server may ask of its clients.
	ClientFeatures ClientFeatures `json:"clientFeatures,omitzero"`
	// validation says how strictly arguments and results are held to their schemas.
	Validation Validation `json:"validation,omitzero"`
	// ruleSets names RuleSets of this namespace that govern this server, beside those that select it.
	RuleSets []string `json:"ruleSets,omitempty"`
}

// Container is the server's image and process.
type Container struct {
	// image is the server's image, unchanged.
	Image string `json:"image"`
	// imagePullPolicy is when the kubelet pulls the image.
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`
	// command starts the server. A stdio server must name it: the image's own entrypoint cannot be seen from the API.
	Command []string `json:"command,omitempty"`
	// args follow the command.
	Args []string `json:"args,omitempty"`
	// workingDir is the server's working directory.
	WorkingDir string `json:"workingDir,omitempty"`
	// env are environment variables of the server.
	Env []EnvVar `json:"env,omitempty"`
	// envFrom takes every key of a ConfigMap or Secret as an environment variable.
	EnvFrom []EnvFrom `json:"envFrom,omitempty"`
	// resources are the server container's requests and limits.
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`
	// volumeMounts mounts volumes of spec.pod.volumes.
	VolumeMounts []VolumeMount `json:"volumeMounts,omitempty"`
}

// EnvVar is one environment variable: value, or one key of a Secret or ConfigMap.
type EnvVar struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
	// secretKeyRef takes the value from a key of a Secret in this namespace.
	SecretKeyRef *KeyRef `json:"secretKeyRef,omitempty"`
	// configMapKeyRef takes the value from a key of a ConfigMap in this namespace.
	ConfigMapKeyRef *KeyRef `json:"configMapKeyRef,omitempty"`
}

// KeyRef names one key of a Secret or ConfigMap in the same namespace.
type KeyRef struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

// EnvFrom names a Secret or a ConfigMap whose keys become environment variables.
type EnvFrom struct {
	// prefix is put before each key.
	Prefix       string `json:"prefix,omitempty"`
	SecretRef    string `json:"secretRef,omitempty"`
	ConfigMapRef string `json:"configMapRef,omitempty"`
}

// VolumeMount mounts a volume of spec.pod.volumes into the server.
type VolumeMount struct {
	Name      string       `json:"name"`
	MountPath string       `json:"mountPath"`
	SubPath   string       `json:"subPath,omitempty"`
	Access    VolumeAccess `json:"access,omitempty"`
}

// VolumeAccess is how a volume is mounted.
// +kubebuilder:validation:Enum=ReadWrite;ReadOnly
type VolumeAccess string

const (
	VolumeReadWrite VolumeAccess = "ReadWrite"
	VolumeReadOnly  VolumeAccess = "ReadOnly"
)

// Volume is a volume of the server's pods: exactly one source is set.
type Volume struct {
	Name      string          `json:"name"`
	ConfigMap string          `json:"configMap,omitempty"`
	Secret    string          `json:"secret,omitempty"`
	EmptyDir  *EmptyDirVolume `json:"emptyDir,omitempty"`
	// persistentVolumeClaim names a claim of this namespace.
	PersistentVolumeClaim string `json:"persistentVolumeClaim,omitempty"`
}

// EmptyDirVolume is scratch space that lives as long as the pod.
type EmptyDirVolume struct {
	// medium Memory keeps the files in memory.
	Medium corev1.StorageMedium `json:"medium,omitempty"`
	// sizeLimit bounds the volume, as a Kubernetes quantity such as 64Mi.
	SizeLimit string `json:"sizeLimit,omitempty"`
}

// Remote is a server that runs elsewhere.
type Remote struct {
	// url is the server's MCP endpoint.
	URL string `json:"url"`
	// headersFrom are HTTP headers sent to the server, from keys of Secrets in this namespace.
	HeadersFrom []HeaderFrom `json:"headersFrom,omitempty"`
	// caBundleFrom is a ConfigMap key with the certificate authorities that sign the server's certificate (PEM).
	CABundleFrom *KeyRef `json:"caBundleFrom,omitempty"`
}

// HeaderFrom is one header whose value is in a Secret.
type HeaderFrom struct {
	Name         string `json:"name"`
	SecretKeyRef KeyRef `json:"secretKeyRef"`
}

// Transport is how the dispatcher speaks to the server.
type Transport struct {
	// type is stdio for a server that speaks on its standard input and output, streamable-http for one that listens.
	Type TransportType `json:"type,omitempty"`
	// port is where an HTTP server listens in the pod.
	Port *int32 `json:"port,omitempty"`
	// path is the MCP endpoint of an HTTP server.
	Path string `json:"path,omitempty"`
	// isolation says who shares a process of a stdio server: Session gives each client session its own, Shared gives all of them one.
	Isolation Isolation `json:"isolation,omitempty"`
}

// TransportType is a transport of MCP.
// +kubebuilder:validation:Enum=stdio;streamable-http
type TransportType string

const (
	TransportStdio          TransportType = "stdio"
	TransportStreamableHTTP TransportType = "streamable-http"
)

// Isolation says who shares a process of a stdio server.
// +kubebuilder:validation:Enum=Session;Shared
type Isolation string

const (
	IsolationSession Isolation = "Session"
	IsolationShared  Isolation = "Shared"
)

// State says whether an object is in service.
// +kubebuilder:validation:Enum=Enabled;Disabled
type State string

const (
	StateEnabled  State = "Enabled"
	StateDisabled State = "Disabled"
)

// PodSettings adds to the pods of a server.
type PodSettings struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	// serviceAccountName is an existing account for the pods; without it Toolgate makes one that has no rights and no token.
	ServiceAccountName string              `json:"serviceAccountName,omitempty"`
	ImagePullSecrets   []string            `json:"imagePullSecrets,omitempty"`
	Volumes            []Volume            `json:"volumes,omitempty"`
	NodeSelector       map[string]string   `json:"nodeSelector,omitempty"`
	Tolerations        []corev1.Toleration `json:"tolerations,omitempty"`
	// terminationGracePeriodSeconds is how long calls in flight may finish when a pod is stopped.
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`
}

// DispatcherSettings sets up the dispatcher container.
type DispatcherSettings struct {
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`
	LogLevel  LogLevel                    `json:"logLevel,omitempty"`
}

// LogLevel is how much the dispatcher logs.
// +kubebuilder:validation:Enum=debug;info;warn;error
type LogLevel string

// ServiceSettings sets up the Service of a server.
type ServiceSettings struct {
	Type        corev1.ServiceType `json:"type,omitempty"`
	Annotations map[string]string  `json:"annotations,omitempty"`
	Port        *int32             `json:"port,omitempty"`
}

// Limits bound what one caller may ask. Each replica enforces its share, rounded up.
type Limits struct {
	// requestsPerMinute is how many messages one caller may send in a minute; 0 lifts the limit.
	RequestsPerMinute *int32 `json:"requestsPerMinute,omitempty"`
	// maxConcurrent is how many calls of one caller may be in flight.
	MaxConcurrent *int32 `json:"maxConcurrent,omitempty"`
	// maxSessions is how many sessions a replica holds.
	MaxSessions *int32 `json:"maxSessions,omitempty"`
	// sessionIdleSeconds is after how long an idle session ends.
	SessionIdleSeconds *int32 `json:"sessionIdleSeconds,omitempty"`
	// maxRequestBytes bounds one message of a client.
	MaxRequestBytes *int32 `json:"maxRequestBytes,omitempty"`
	// maxResponseBytes bounds one message of the server.
	MaxResponseBytes *int32 `json:"maxResponseBytes,omitempty"`
}

// Health says how the server is probed.
type Health struct {
	IntervalSeconds  *int32 `json:"intervalSeconds,omitempty"`
	TimeoutSeconds   *int32 `json:"timeoutSeconds,omitempty"`
	FailureThreshold *int32 `json:"failureThreshold,omitempty"`
}

// Discovery says how the catalogue is read and pinned.
type Discovery struct {
	// ttlSeconds is after how long the catalogue is read again; it is read at once when the server says that it changed.
	TTLSeconds *int32 `json:"ttlSeconds,omitempty"`
	// pinning PerRevision admits each revision's first catalogue and withholds every later change; Manual waits for a
	// person to set each pin; Off admits whatever the server says.
	Pinning Pinning `json:"pinning,omitempty"`
}

// Pinning says who admits the definition of a tool.
// +kubebuilder:validation:Enum=PerRevision;Manual;Off
type Pinning string

const (
	PinningPerRevision Pinning = "PerRevision"
	PinningManual      Pinning = "Manual"
	PinningOff         Pinning = "Off"
)

// Trust decides whether destructive tools may be called.
type Trust struct {
	// state Trusted lets destructive tools through; RuleSets still apply.
	State TrustState `json:"state,omitempty"`
	// expiresAt is when trust ends by itself.
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`
	// reason says why the server is trusted, for the next reader.
	Reason string `json:"reason,omitempty"`
	// maxStalenessSeconds is how long a dispatcher that no manager polls goes on trusting; 0 means for ever.
	MaxStalenessSeconds *int32 `json:"maxStalenessSeconds,omitempty"`
}

// TrustState says whether a server is trusted.
// +kubebuilder:validation:Enum=Untrusted;Trusted
type TrustState string

const (
	Untrusted TrustState = "Untrusted"
	Trusted   TrustState = "Trusted"
)

// Gating says which tools count as destructive.
type Gating struct {
	// unannotated says what a tool without annotations counts as. MCP's own default is Destructive.
	Unannotated Unannotated `json:"unannotated,omitempty"`
	// scope Mutating gates every tool that is not read-only.
	Scope GateScope `json:"scope,omitempty"`
	// blockedTools says whether clients see blocked tools in tools/list.
	BlockedTools BlockedTools `json:"blockedTools,omitempty"`
}

// Unannotated says what a tool without annotations counts as.
// +kubebuilder:validation:Enum=Destructive;Safe
type Unannotated string

const (
	UnannotatedDestructive Unannotated = "Destructive"
	UnannotatedSafe        Unannotated = "Safe"
)

// GateScope says which tools the gate holds.
// +kubebuilder:validation:Enum=Destructive;Mutating
type GateScope string

const (
	GateDestructive GateScope = "Destructive"
	GateMutating    GateScope = "Mutating"
)

// BlockedTools says whether clients see blocked tools.
// +kubebuilder:validation:Enum=List;Hide
type BlockedTools string

const (
	BlockedList BlockedTools = "List"
	BlockedHide BlockedTools = "Hide"
)

// Access allows or denies one feature.
// +kubebuilder:validation:Enum=Allow;Deny
type Access string

const (
	Allow Access = "Allow"
	Deny  Access = "Deny"
)

// Expose says which parts of MCP are passed to clients.
type Expose struct {
	Tools       Access `json:"tools,omitempty"`
	Resources   Access `json:"resources,omitempty"`
	Prompts     Access `json:"prompts,omitempty"`
	Completions Access `json:"completions,omitempty"`
}

// ClientFeatures says what the server may ask of its clients. Deny takes the capability out of what the server is told and
// refuses the request.
type ClientFeatures struct {
	Sampling Access `json:"sampling,omitempty"`
	// samplingTools defaults to Deny while the server is untrusted.
	SamplingTools   Access `json:"samplingTools,omitempty"`
	ElicitationForm Access `json:"elicitationForm,omitempty"`
	// elicitationUrl defaults to Deny while the server is untrusted.
	ElicitationURL Access `json:"elicitationUrl,omitempty"`
	Roots          Access `json:"roots,omitempty"`
}

// Validation says how strictly arguments and results are held to their schemas.
type Validation struct {
	Arguments ValidationMode `json:"arguments,omitempty"`
	Results   ValidationMode `json:"results,omitempty"`
	// formats Assert checks the keyword format; Annotate reads it as a note, as JSON Schema 2020-12 does.
	Formats FormatMode `json:"formats,omitempty"`
}

// ValidationMode is what a violation leads to.
// +kubebuilder:validation:Enum=Enforce;Warn;Off
type ValidationMode string

const (
	ValidationEnforce ValidationMode = "Enforce"
	ValidationWarn    ValidationMode = "Warn"
	ValidationOff     ValidationMode = "Off"
)

// FormatMode is what the keyword format means.
// +kubebuilder:validation:Enum=Annotate;Assert
type FormatMode string

const (
	FormatAnnotate FormatMode = "Annotate"
	FormatAssert   FormatMode = "Assert"
)

// MCPServerStatus is what is true of the server now. It is written on change only.
type MCPServerStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
	// url is where clients in the cluster reach the server.
	URL             string      `json:"url,omitempty"`
	ServerInfo      *ServerInfo `json:"serverInfo,omitempty"`
	ProtocolVersion string      `json:"protocolVersion,omitempty"`
	// capabilities are those that the server declares: tools, resources, prompts, logging, completions.
	Capabilities      []string      `json:"capabilities,omitempty"`
	ToolsCount        *int32        `json:"toolsCount,omitempty"`
	ResourcesCount    *int32        `json:"resourcesCount,omitempty"`
	PromptsCount      *int32        `json:"promptsCount,omitempty"`
	BlockedToolsCount *int32        `json:"blockedToolsCount,omitempty"`
	Health            *HealthStatus `json:"health,omitempty"`
	Replicas          *int32        `json:"replicas,omitempty"`
	ReadyReplicas     *int32        `json:"readyReplicas,omitempty"`
	Selector          string        `json:"selector,omitempty"`
	// revisions records each revision that still has a pod, with the digest of its first whole catalogue.
	Revisions         []RevisionStatus `json:"revisions,omitempty"`
	RegistryDigest    string           `json:"registryDigest,omitempty"`
	DispatcherVersion string           `json:"dispatcherVersion,omitempty"`
}

// ServerInfo is what the server says of itself.
type ServerInfo struct {
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
}

// HealthState is the outcome of probing.
// +kubebuilder:validation:Enum=Healthy;Unhealthy;Unknown
type HealthState string

const (
	Healthy       HealthState = "Healthy"
	Unhealthy     HealthState = "Unhealthy"
	HealthUnknown HealthState = "Unknown"
)

// HealthStatus is the last change of the server's health.
type HealthStatus struct {
	State               HealthState  `json:"state"`
	Since               *metav1.Time `json:"since,omitempty"`
	ConsecutiveFailures int32        `json:"consecutiveFailures,omitempty"`
	ResponseTimeMs      int64        `json:"responseTimeMs,omitempty"`
	Message             string       `json:"message,omitempty"`
}

// RevisionStatus is one revision: the hash of every field that reaches the server's process.
type RevisionStatus struct {
	Name                 string `json:"name"`
	FirstCatalogueDigest string `json:"firstCatalogueDigest,omitempty"`
}
