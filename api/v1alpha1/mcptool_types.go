// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// MCPTool is one tool of one MCPServer: the place to switch it off, to
// override what the server says of it, and to admit a changed definition.
// Discovery makes it; a person may write it beforehand. The spec is people's,
// the status is Toolgate's.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=mcpt,categories=mcp
// +kubebuilder:printcolumn:name="Server",type=string,JSONPath=`.spec.serverRef.name`
// +kubebuilder:printcolumn:name="Tool",type=string,JSONPath=`.spec.toolName`
// +kubebuilder:printcolumn:name="Callable",type=string,JSONPath=`.status.conditions[?(@.type=="Callable")].status`
// +kubebuilder:printcolumn:name="Destructive",type=string,JSONPath=`.status.destructive.verdict`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Callable")].reason`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.spec.contract.version`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Digest",type=string,priority=1,JSONPath=`.status.observed.digest`
// +kubebuilder:printcolumn:name="Change",type=string,priority=1,JSONPath=`.status.change.kind`
// +kubebuilder:printcolumn:name="Title",type=string,priority=1,JSONPath=`.status.observed.title`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Callable")].message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.startsWith(self.spec.serverRef.name + '.')",messageExpression="'the name is <server>.<tool>, so it begins with ' + self.spec.serverRef.name + '.'",message="the name is <server>.<tool>, so it begins with the server's name and a dot"
// +kubebuilder:validation:XValidation:rule="!self.metadata.name.startsWith(self.spec.serverRef.name + '.') || !(self.spec.toolName.matches('^[a-z0-9]([a-z0-9_]*[a-z0-9])?$') && !self.spec.toolName.matches('_[0-9a-f]{8}$') && self.spec.toolName.size() <= 189) || self.metadata.name == self.spec.serverRef.name + '.' + self.spec.toolName.replace('_', '-')",messageExpression="'the MCPTool of this tool is named ' + self.spec.serverRef.name + '.' + self.spec.toolName.replace('_', '-')",message="the MCPTool of such a tool is named <server>.<tool>, with - for _"
// +kubebuilder:validation:XValidation:rule="self.spec.toolName.size() == 0 || (self.spec.toolName.matches('^[a-z0-9]([a-z0-9_]*[a-z0-9])?$') && !self.spec.toolName.matches('_[0-9a-f]{8}$') && self.spec.toolName.size() <= 189) || self.metadata.name.matches('-[0-9a-f]{8}$')",message="a tool name with anything but a-z, 0-9 and inner underscores can't be written as an object's name: use <server>.<the name in lower case, with - for all else>-<the first 8 hex digits of the sha256 of the tool's name>, as in: printf %s readFile | sha256sum | cut -c1-8"
type MCPTool struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the object's name, namespace, labels and annotations. The name
	// is <server>.<tool>, with - for _ in the tool's name.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what people decide about the tool. Discovery sets serverRef and
	// toolName and nothing else.
	// +required
	Spec MCPToolSpec `json:"spec,omitzero"`
	// status is what was observed of the tool, and whether it can be called.
	// Toolgate writes it.
	// +optional
	Status MCPToolStatus `json:"status,omitzero"`
}

// MCPToolList is a list of MCPTools.
//
// +kubebuilder:object:root=true
type MCPToolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MCPTool `json:"items"`
}

// MCPToolSpec belongs to people; discovery sets serverRef and toolName only.
type MCPToolSpec struct {
	// serverRef names the MCPServer, in this namespace. It can't be changed.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="serverRef can't be changed: an MCPTool belongs to one server; write another MCPTool for another server"
	ServerRef ServerRef `json:"serverRef,omitzero"`
	// toolName is the tool's true name as the server lists it, compared byte for
	// byte. It can't be changed. Example: write_file.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="toolName can't be changed: write another MCPTool for another tool"
	ToolName string `json:"toolName,omitempty"`
	// state Disabled refuses every call of the tool and leaves it out of
	// tools/list. Default: Enabled.
	// +optional
	State State `json:"state,omitempty"`
	// timeoutSeconds is how long one call may take, in seconds; it wins over the
	// server's. Default: spec.timeoutSeconds of the MCPServer.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
	// limits bound the calls of this tool, beside the server's own limits.
	// +optional
	Limits *ToolLimits `json:"limits,omitempty"`
	// hints override what the server says of the tool in its annotations.
	// +optional
	Hints Hints `json:"hints,omitzero"`
	// pin admits one definition by its digest; it wins over automatic admission.
	// Default: spec.discovery.pinning of the MCPServer decides.
	// +optional
	Pin *Pin `json:"pin,omitempty"`
	// contract is what people promise of the tool to those who use it.
	// +optional
	Contract *Contract `json:"contract,omitempty"`
	// ruleSets names RuleSets of this namespace that govern this tool, beside
	// those that select it. One that is missing denies every call of the tool
	// until it is there; so does one that does not compile, unless its enforcement
	// is Audit.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	RuleSets []string `json:"ruleSets,omitempty"`
}

// ServerRef names an MCPServer of the same namespace.
type ServerRef struct {
	// name of the MCPServer.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="!format.dns1035Label().validate(self).hasValue()",message="the name of an MCPServer in this namespace: lower-case letters, digits and hyphens, beginning with a letter"
	Name string `json:"name,omitempty"`
}

// Hint is one annotation of a tool, True or False.
// +kubebuilder:validation:Enum="True";"False"
type Hint string

// Values of Hint.
const (
	// HintTrue says that it is so.
	HintTrue Hint = "True"
	// HintFalse says that it is not so.
	HintFalse Hint = "False"
)

// Hints override the annotations of a tool. What is absent is left to the
// server.
//
// +kubebuilder:validation:XValidation:rule="!has(self.readOnly) || self.readOnly != 'True' || !has(self.destructive) || self.destructive != 'True'",message="a tool can't be read-only and destructive: set one of readOnly and destructive to False, or leave it out"
type Hints struct {
	// destructive True holds the tool back while the server is Untrusted; False
	// lets it through, unless spec.gating.scope of the server is Mutating: then
	// readOnly True does.
	// +optional
	Destructive Hint `json:"destructive,omitempty"`
	// readOnly True says that the tool changes nothing, and so can't be
	// destructive.
	// +optional
	ReadOnly Hint `json:"readOnly,omitempty"`
	// idempotent True says that a second call with the same arguments changes
	// nothing more. Clients and rules see it.
	// +optional
	Idempotent Hint `json:"idempotent,omitempty"`
	// openWorld True says that the tool reaches things outside, such as the web.
	// Clients and rules see it.
	// +optional
	OpenWorld Hint `json:"openWorld,omitempty"`
}

// Pin admits one definition.
type Pin struct {
	// digest of the definition to admit, as status.observed.digest shows it:
	// v1:sha256: and 64 hex digits.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^v1:sha256:[0-9a-f]{64}$')",message="a digest is v1:sha256: and 64 lower-case hex digits; copy it from status.observed.digest"
	Digest string `json:"digest,omitempty"`
}

// Contract is what people promise of the tool to those who use it. A server whose
// definition breaks it is not admitted.
//
// +kubebuilder:validation:XValidation:rule="has(self.version) || has(self.deprecatedIn) || has(self.inputSchema) || has(self.outputSchema)",message="set one of version, deprecatedIn, inputSchema and outputSchema at least"
type Contract struct {
	// version is the tool's semantic version. Rules see it as tool.version.
	// Example: 1.4.0.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|[1-9][0-9]*)[.](0|[1-9][0-9]*)[.](0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?([+][0-9A-Za-z.-]+)?$')",message="a semantic version, such as 1.4.0"
	Version string `json:"version,omitempty"`
	// deprecatedIn is the version from which on the tool should not be used any
	// more: from then on the reason of Callable is Deprecated. Calls pass as
	// before. Without a version, the tool is deprecated. Example: 2.0.0.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|[1-9][0-9]*)[.](0|[1-9][0-9]*)[.](0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?([+][0-9A-Za-z.-]+)?$')",message="a semantic version, such as 2.0.0"
	DeprecatedIn string `json:"deprecatedIn,omitempty"`
	// inputSchema is a JSON Schema of arguments that the tool must take: all that
	// fits it must fit what the server lists. Example:
	// {type: object, properties: {path: {type: string}}, required: [path]}.
	// +optional
	// +structType=atomic
	// +kubebuilder:pruning:PreserveUnknownFields
	InputSchema *runtime.RawExtension `json:"inputSchema,omitempty"`
	// outputSchema is a JSON Schema that the tool's structured results must fit:
	// all that fits what the server lists must fit it. Example:
	// {type: object, properties: {lines: {type: integer}}, required: [lines]}.
	// +optional
	// +structType=atomic
	// +kubebuilder:pruning:PreserveUnknownFields
	OutputSchema *runtime.RawExtension `json:"outputSchema,omitempty"`
}

// Promises says whether a definition can break the contract; nil promises nothing.
func (c *Contract) Promises() bool {
	return c != nil && (c.InputSchema != nil || c.OutputSchema != nil)
}

// ToolLimits bound the calls of one tool, for each caller; each replica enforces
// its share, rounded up.
//
// +kubebuilder:validation:XValidation:rule="has(self.requestsPerMinute) || has(self.maxConcurrent)",message="set requestsPerMinute, maxConcurrent, or both"
type ToolLimits struct {
	// requestsPerMinute is how many calls of this tool a caller may make in a
	// minute, refused ones included. The server's own limit counts too. Default:
	// none but the server's.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	RequestsPerMinute *int32 `json:"requestsPerMinute,omitempty"`
	// maxConcurrent is how many calls of this tool a caller may have under way.
	// The server's own limit counts too. Default: none but the server's.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	MaxConcurrent *int32 `json:"maxConcurrent,omitempty"`
}
