// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MCPServer runs one Model Context Protocol server, or stands before a remote
// one, and publishes its tools as MCPTools. A dispatcher in the server's own
// pod lets a call through only when it is known, valid, allowed and, where it
// can destroy something, trusted. An image and a command are enough to begin
// with.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:shortName=mcps,categories=mcp
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Health",type=string,JSONPath=`.status.health.state`
// +kubebuilder:printcolumn:name="Tools",type=integer,JSONPath=`.status.toolsCount`
// +kubebuilder:printcolumn:name="Trust",type=string,JSONPath=`.status.trust.state`
// +kubebuilder:printcolumn:name="Transport",type=string,JSONPath=`.status.transport`
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.status.url`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Domain",type=string,priority=1,JSONPath=`.spec.domain`
// +kubebuilder:printcolumn:name="Protocol",type=string,priority=1,JSONPath=`.status.protocolVersion`
// +kubebuilder:printcolumn:name="Version",type=string,priority=1,JSONPath=`.status.serverInfo.version`
// +kubebuilder:printcolumn:name="Replicas",type=integer,priority=1,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Dispatcher",type=string,priority=1,JSONPath=`.status.dispatcherVersion`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="!format.dns1035Label().validate(self.metadata.name).hasValue()",message="the name becomes that of a Service: at most 63 lower-case letters, digits and hyphens, beginning with a letter and not ending with a hyphen; dots are not possible"
// +kubebuilder:validation:XValidation:rule="!self.metadata.name.endsWith('-peers')",message="names that end in -peers are those of Services by which the replicas of a server find each other; choose another name"
type MCPServer struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the object's name, namespace, labels and annotations. The name
	// has at most 63 characters and no dots.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what to run, and what may pass. People write it; Toolgate never
	// does.
	// +required
	Spec MCPServerSpec `json:"spec,omitzero"`
	// status is what is true of the server now. Toolgate writes it.
	// +optional
	Status MCPServerStatus `json:"status,omitzero"`
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
//
// +kubebuilder:validation:XValidation:rule="has(self.container) != has(self.remote)",message="set exactly one of spec.container (a server that Toolgate runs) and spec.remote (a server that runs elsewhere)"
// +kubebuilder:validation:XValidation:rule="has(self.remote) || self.?transport.?type.orValue('stdio') != 'stdio' || !has(self.container) || has(self.container.command)",message="spec.container.command is required for a stdio server: Toolgate starts the command itself, and the image's own entrypoint can't be seen from the API; for a server that listens on a port set spec.transport.type to streamable-http instead"
// +kubebuilder:validation:XValidation:rule="!has(self.remote) || self.?transport.?type.orValue('streamable-http') != 'stdio'",message="a remote server is reached over HTTP: leave spec.transport.type out for streamable-http, or set it to sse or websocket"
// +kubebuilder:validation:XValidation:rule="!has(self.transport) || !(has(self.transport.port) || has(self.transport.path)) || (!has(self.remote) && self.transport.?type.orValue('stdio') != 'stdio')",message="spec.transport.port and path say where a server in the pod listens: they need spec.container and transport type streamable-http, sse or websocket; a remote server has them in spec.remote.url, a stdio server has none"
// +kubebuilder:validation:XValidation:rule="!has(self.transport) || !has(self.transport.isolation) || (!has(self.remote) && self.transport.?type.orValue('stdio') == 'stdio')",message="spec.transport.isolation says who shares a process of a stdio server: leave it out for one that listens"
// +kubebuilder:validation:XValidation:rule="!has(self.remote) || !has(self.pod) || !has(self.pod.volumes)",message="spec.pod.volumes are for a server in the pod: a remote server has nothing that mounts them"
// +kubebuilder:validation:XValidation:rule="!has(self.container) || !has(self.container.volumeMounts) || (has(self.pod) && has(self.pod.volumes) && self.container.volumeMounts.all(m, self.pod.volumes.exists(v, v.name == m.name)))",fieldPath=".container.volumeMounts",message="each volumeMount names a volume of spec.pod.volumes: add the volume there, or correct the name"
// +kubebuilder:validation:MinProperties=1
type MCPServerSpec struct {
	// description says in a sentence what the server is for, for people who choose
	// a server. Example: Files of the build.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`
	// domain is the area that the server serves, in one word: the index
	// mcp-registry shows it to those who choose a server, and rules see it as
	// server.domain. Example: billing.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$')",message="one word of letters, digits, hyphens, dots and underscores, such as billing"
	Domain string `json:"domain,omitempty"`
	// capabilities are free words for those who choose a server, in the index
	// mcp-registry; rules see them as server.capabilities. They grant nothing.
	// Example: [tool_execution, validation].
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$`
	Capabilities []string `json:"capabilities,omitempty"`
	// state Disabled takes the server out of service: no pods, its tools withheld,
	// not in the index. Default: Enabled.
	// +optional
	State State `json:"state,omitempty"`
	// container is a server that Toolgate runs: an image, and for a stdio server
	// the command. Exactly one of container and remote is set.
	// +optional
	Container *Container `json:"container,omitempty"`
	// remote is a server that runs elsewhere and is reached over HTTP; the pod
	// then holds the dispatcher alone. Exactly one of container and remote is set.
	// +optional
	Remote *Remote `json:"remote,omitempty"`
	// transport is how the dispatcher speaks to the server. Default: stdio for a
	// container, streamable-http for a remote server.
	// +optional
	Transport Transport `json:"transport,omitzero"`
	// replicas is the number of pods. Default: 1. With 0 the server is out of
	// service, and status says so.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Replicas *int32 `json:"replicas,omitempty"`
	// scaling says who sets the number of pods. Internal: spec.replicas, which
	// kubectl scale and a HorizontalPodAutoscaler of this MCPServer change.
	// External: an autoscaler of the Deployment, which has the name of this
	// MCPServer; spec.replicas is then what a new Deployment begins with. Going
	// over to External keeps the number of pods. Going back makes it
	// spec.replicas: set both in one change. Default: Internal.
	// +optional
	Scaling ScalingMode `json:"scaling,omitempty"`
	// rollout says how pods are replaced by those of a new revision.
	// +optional
	Rollout Rollout `json:"rollout,omitzero"`
	// restartOn says when pods are replaced although the spec has not changed.
	// References: when the content of a ConfigMap or Secret changes that the
	// server's environment or mounts name, within two minutes of the change.
	// Never: not at all; mounted files change in running pods, variables don't.
	// Default: References.
	// +optional
	RestartOn RestartOn `json:"restartOn,omitempty"`
	// pod adds to the pods of this server: volumes, labels, where they may run.
	// There is no free template, so that nothing can be put beside the dispatcher
	// that would go round it.
	// +optional
	Pod PodSettings `json:"pod,omitzero"`
	// dispatcher sets up the container that checks every call.
	// +optional
	Dispatcher DispatcherSettings `json:"dispatcher,omitzero"`
	// service sets up the Service that clients reach. It leads to the dispatcher
	// and never to the server itself.
	// +optional
	Service ServiceSettings `json:"service,omitzero"`
	// network says who reaches the pods of this server, and what they reach.
	// +optional
	Network Network `json:"network,omitzero"`
	// domainModel is a text that says what the server's domain is about: concepts,
	// relations, rules. The server finds it in a file, clients read it as the
	// resource toolgate://domain-model.
	// +optional
	DomainModel *DomainModel `json:"domainModel,omitempty"`
	// timeoutSeconds is how long one call may take, in seconds. Default: 30.
	// spec.timeoutSeconds of an MCPTool wins over it. A call that takes longer is
	// answered with a time-out, and the server is told to cancel it.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
	// limits bound what one caller may ask, and how large a message may be.
	// +optional
	Limits Limits `json:"limits,omitzero"`
	// health says how often the server is probed, and when it counts as unhealthy.
	// +optional
	Health Health `json:"health,omitzero"`
	// discovery says when the server's catalogue is read again, and who admits
	// what is in it.
	// +optional
	Discovery Discovery `json:"discovery,omitzero"`
	// trust decides whether destructive tools may be called. Default: Untrusted.
	// +optional
	// +kubebuilder:default={}
	Trust Trust `json:"trust,omitzero"`
	// gating says which tools the gate for destructive tools holds back while the
	// server is Untrusted, and what clients see of them.
	// +optional
	Gating Gating `json:"gating,omitzero"`
	// confirm says who confirms the calls that the gate or a RuleSet wants
	// confirmed.
	// +optional
	Confirm Confirm `json:"confirm,omitzero"`
	// expose says which parts of MCP clients can use at all.
	// +optional
	Expose Expose `json:"expose,omitzero"`
	// passthrough names methods that Toolgate does not know and lets through
	// without a check of their parameters. All other unknown methods are refused.
	// Example: [acme/reindex].
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.all(m, m.matches('^[A-Za-z0-9_$.-]+(/[A-Za-z0-9_$.-]+)*$'))",message="each entry is the full name of one method, such as acme/reindex; there are no wildcards"
	// +kubebuilder:validation:XValidation:rule="self.all(m, !m.matches('^(initialize|ping|rpc\\\\..*|(tools|tasks|resources|prompts|completion|logging|sampling|elicitation|roots|server|subscriptions|notifications)/.*)$'))",message="methods of MCP itself can't be passed through unchecked: spec.expose and spec.clientFeatures switch those that Toolgate knows"
	Passthrough []string `json:"passthrough,omitempty"`
	// clientFeatures says what the server may ask of its clients.
	// +optional
	ClientFeatures ClientFeatures `json:"clientFeatures,omitzero"`
	// validation says how strictly arguments and results are held to the schemas
	// of a tool.
	// +optional
	Validation Validation `json:"validation,omitzero"`
	// audit says what is recorded of calls, and what happens when it can't be.
	// +optional
	Audit Audit `json:"audit,omitzero"`
	// telemetry says where the dispatcher sends what it observes.
	// +optional
	Telemetry Telemetry `json:"telemetry,omitzero"`
	// ruleSets names RuleSets of this namespace that govern this server, beside
	// those that select it themselves. One that is missing denies every request
	// until it is there; one that does not compile denies what it governs, unless
	// its enforcement is Audit. Example: [no-secrets].
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	RuleSets []string `json:"ruleSets,omitempty"`
}

// Container is the server's image and process.
type Container struct {
	// image is the server's image; nothing is built into it. Example:
	// registry.example.com/mcp/files:1.4.2.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^ \\\\t\\\\r\\\\n]+$') && self.trim() == self",message="an image reference has no spaces, as in registry.example.com/mcp/files:1.4.2"
	Image string `json:"image,omitempty"`
	// imagePullPolicy is when the kubelet pulls the image. Default: Always for the
	// tag latest, IfNotPresent otherwise.
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`
	// command starts the server. A stdio server must name it, because Toolgate
	// starts it itself, once for each session, and the image's own entrypoint
	// can't be seen from the API. A server that listens may leave it out. No shell
	// is involved. Example: [mcp-server-filesystem, /data].
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=16384
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || self[0].size() > 0",message="the first entry is the program to start and can't be empty"
	Command []string `json:"command,omitempty"`
	// args follow the command. Example: [--read-only].
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=16384
	Args []string `json:"args,omitempty"`
	// workingDir is the directory that the server starts in. Default: the image's.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/')",message="workingDir begins with /"
	WorkingDir string `json:"workingDir,omitempty"`
	// env are environment variables of the server. HOME is /home/mcp, on a volume
	// of the pod's own, unless it is set here.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=128
	Env []EnvVar `json:"env,omitempty"`
	// envFrom takes every key of a ConfigMap or Secret as an environment variable.
	// A name in env wins.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	EnvFrom []EnvFrom `json:"envFrom,omitempty"`
	// resources are the requests and limits of the server's container. Sessions of
	// a stdio server share them.
	// +optional
	// +kubebuilder:validation:XValidation:rule="['cpu', 'memory', 'ephemeral-storage'].all(k, !(has(self.requests) && has(self.limits) && k in self.requests && k in self.limits) || quantity(string(self.requests[k])).compareTo(quantity(string(self.limits[k]))) <= 0)",message="a request can't be more than the limit of the same resource: raise the limit, or lower the request"
	// +kubebuilder:validation:XValidation:rule="!has(self.claims)",message="claims are not supported: the pods of a server have no resource claims; set requests and limits"
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`
	// volumeMounts mounts volumes of spec.pod.volumes into the server.
	// +optional
	// +listType=map
	// +listMapKey=mountPath
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	VolumeMounts []VolumeMount `json:"volumeMounts,omitempty"`
	// securityContext says as whom the server runs. Privileges, capabilities and
	// their escalation can't be asked for: they would be a way round the
	// dispatcher, whose network the server shares.
	// +optional
	SecurityContext ContainerSecurity `json:"securityContext,omitzero"`
	// livenessProbe is for the kubelet, which restarts the server's container when
	// it fails. Toolgate probes by MCP whether or not there is one (spec.health).
	// +optional
	LivenessProbe *Probe `json:"livenessProbe,omitempty"`
	// readinessProbe keeps clients from a pod while it fails, beside the
	// dispatcher's own.
	// +optional
	ReadinessProbe *Probe `json:"readinessProbe,omitempty"`
	// startupProbe holds the other two back until it has succeeded once.
	// +optional
	StartupProbe *Probe `json:"startupProbe,omitempty"`
}

// EnvVar is one environment variable: a value, or one key of a Secret or
// ConfigMap.
//
// +kubebuilder:validation:XValidation:rule="[has(self.value), has(self.secretKeyRef), has(self.configMapKeyRef)].filter(x, x).size() == 1",message="set exactly one of value, secretKeyRef and configMapKeyRef"
type EnvVar struct {
	// name of the variable. Names that begin with TOOLGATE_ are reserved. Example:
	// LOG_LEVEL.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z_.-][A-Za-z0-9_.-]*$')",message="letters, digits, underscores, dots and hyphens, not beginning with a digit, as in LOG_LEVEL"
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('TOOLGATE_')",message="names that begin with TOOLGATE_ are Toolgate's own"
	Name string `json:"name,omitempty"`
	// value of the variable, as it is. It is readable by everyone who can read
	// this object: take secrets from a Secret.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Value string `json:"value,omitempty"`
	// secretKeyRef takes the value from a key of a Secret in this namespace.
	// +optional
	SecretKeyRef *KeyRef `json:"secretKeyRef,omitempty"`
	// configMapKeyRef takes the value from a key of a ConfigMap in this namespace.
	// +optional
	ConfigMapKeyRef *KeyRef `json:"configMapKeyRef,omitempty"`
}

// KeyRef names one key of a Secret or ConfigMap in the same namespace.
type KeyRef struct {
	// name of the Secret or ConfigMap.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="the name of an object in this namespace: lower-case letters, digits, hyphens and dots"
	Name string `json:"name,omitempty"`
	// key in its data. Example: token.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]+$') && self != '.' && !self.startsWith('..')",message="keys of Secrets and ConfigMaps have letters, digits, hyphens, underscores and dots, and do not begin with .."
	Key string `json:"key,omitempty"`
}

// EnvFrom names a Secret or a ConfigMap whose keys become environment
// variables.
//
// +kubebuilder:validation:XValidation:rule="has(self.secretRef) != has(self.configMapRef)",message="set exactly one of secretRef and configMapRef"
type EnvFrom struct {
	// prefix is put before each key. Example: DB_.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z_.-][A-Za-z0-9_.-]*$') && !self.startsWith('TOOLGATE_')",message="letters, digits, underscores, dots and hyphens, not beginning with a digit or with TOOLGATE_"
	Prefix string `json:"prefix,omitempty"`
	// secretRef is the name of a Secret in this namespace.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="the name of an object in this namespace: lower-case letters, digits, hyphens and dots"
	SecretRef string `json:"secretRef,omitempty"`
	// configMapRef is the name of a ConfigMap in this namespace.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="the name of an object in this namespace: lower-case letters, digits, hyphens and dots"
	ConfigMapRef string `json:"configMapRef,omitempty"`
}

// VolumeMount mounts a volume of spec.pod.volumes into the server.
type VolumeMount struct {
	// name of the volume in spec.pod.volumes.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// mountPath is where the server sees it. Example: /data. /toolgate,
	// /run/toolgate, /tmp and /home/mcp are taken; what is below /tmp and
	// /home/mcp is free.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^(/[^/:]+)+$') && !self.matches('(^|/)[.][.]?(/|$)')",message="an absolute path such as /data, without .. or : and without a / at the end"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^((/run/toolgate|/toolgate)(/.*)?|/run|/tmp|/home|/home/mcp)$')",message="this path is taken by Toolgate: /toolgate and /run/toolgate hold its launcher, /tmp and /home/mcp are scratch volumes that every server has; mount elsewhere, such as /data"
	MountPath string `json:"mountPath,omitempty"`
	// subPath mounts one file or folder of the volume instead of its root. Later
	// changes of a ConfigMap or Secret do not reach a subPath.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.matches('(^|/)[.][.](/|$)')",message="a path within the volume, without .. and without a / at its beginning"
	SubPath string `json:"subPath,omitempty"`
	// access ReadOnly keeps the server from writing to it. Default: ReadWrite.
	// +optional
	Access VolumeAccess `json:"access,omitempty"`
}

// VolumeAccess is how a volume is mounted.
// +kubebuilder:validation:Enum=ReadWrite;ReadOnly
type VolumeAccess string

// Ways to mount a volume.
const (
	// VolumeReadWrite lets the server write.
	VolumeReadWrite VolumeAccess = "ReadWrite"
	// VolumeReadOnly keeps the server from writing.
	VolumeReadOnly VolumeAccess = "ReadOnly"
)

// State says whether an object is in service.
// +kubebuilder:validation:Enum=Enabled;Disabled
type State string

// States of an object.
const (
	// StateEnabled is in service.
	StateEnabled State = "Enabled"
	// StateDisabled is out of service.
	StateDisabled State = "Disabled"
)
