// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// MCPTool is the policy, pin and approval target of one tool of one MCPServer. Discovery makes it, or a person beforehand.
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
// +kubebuilder:printcolumn:name="Title",type=string,priority=1,JSONPath=`.status.observed.title`
type MCPTool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec MCPToolSpec `json:"spec"`
	// +optional
	Status MCPToolStatus `json:"status,omitempty"`
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
	// serverRef names the MCPServer, in this namespace.
	ServerRef ServerRef `json:"serverRef"`
	// toolName is the tool's true name, compared byte for byte.
	ToolName string `json:"toolName"`
	// state Disabled refuses every call of the tool.
	State State `json:"state,omitempty"`
	// timeoutSeconds is how long one call may take; it wins over the server's.
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
	// hints override what the server says of the tool.
	Hints Hints `json:"hints,omitzero"`
	// pin admits one definition by its digest; it wins over automatic admission.
	Pin *Pin `json:"pin,omitempty"`
	// contract is what people promise of the tool.
	Contract *Contract `json:"contract,omitempty"`
	// ruleSets names RuleSets of this namespace that govern this tool, beside those that select it.
	RuleSets []string `json:"ruleSets,omitempty"`
}

// ServerRef names an MCPServer of the same namespace.
type ServerRef struct {
	Name string `json:"name"`
}

// Hint overrides one annotation of a tool.
// +kubebuilder:validation:Enum="True";"False"
type Hint string

const (
	HintTrue  Hint = "True"
	HintFalse Hint = "False"
)

// Hints override the annotations of a tool.
type Hints struct {
	Destructive Hint `json:"destructive,omitempty"`
	ReadOnly    Hint `json:"readOnly,omitempty"`
	Idempotent  Hint `json:"idempotent,omitempty"`
	OpenWorld   Hint `json:"openWorld,omitempty"`
}

// Pin admits one definition.
type Pin struct {
	// digest is v1:sha256: and 64 hex digits, as in status.observed.digest.
	Digest string `json:"digest"`
}

// Contract is what people promise of the tool.
type Contract struct {
	// version is the tool's semantic version. Rules see it as tool.version.
	Version string `json:"version,omitempty"`
	// deprecatedIn is the version from which on the tool should not be used.
	DeprecatedIn string `json:"deprecatedIn,omitempty"`
}

// MCPToolStatus is what was observed of the tool, and what is admitted.
type MCPToolStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
	Observed           *ObservedTool      `json:"observed,omitempty"`
	// pins are the admitted definitions by revision of the server.
	Pins        []RevisionPin      `json:"pins,omitempty"`
	Destructive *DestructiveStatus `json:"destructive,omitempty"`
}

// ObservedTool is the definition that the server lists.
type ObservedTool struct {
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Annotations *ToolAnnotations `json:"annotations,omitempty"`
	// inputSchema is for reading; the digest is over the original.
	InputSchema  *runtime.RawExtension `json:"inputSchema,omitempty"`
	OutputSchema *runtime.RawExtension `json:"outputSchema,omitempty"`
	// schemaOmitted says which schemas are too large to be shown here.
	SchemaOmitted []string `json:"schemaOmitted,omitempty"`
	Digest        string   `json:"digest,omitempty"`
	// variants is how many different definitions the replicas list.
	Variants int32 `json:"variants,omitempty"`
}

// ToolAnnotations are the server's own hints.
type ToolAnnotations struct {
	ReadOnly    Hint `json:"readOnly,omitempty"`
	Destructive Hint `json:"destructive,omitempty"`
	Idempotent  Hint `json:"idempotent,omitempty"`
	OpenWorld   Hint `json:"openWorld,omitempty"`
}

// RevisionPin is the admitted definition of one revision.
type RevisionPin struct {
	Revision string `json:"revision"`
	Digest   string `json:"digest"`
}

// DestructiveStatus says whether the tool counts as destructive, and why.
type DestructiveStatus struct {
	Verdict Hint       `json:"verdict"`
	Because HintSource `json:"because"`
}

// HintSource is where a verdict comes from.
// +kubebuilder:validation:Enum=Override;Annotation;Default
type HintSource string

const (
	HintOverride   HintSource = "Override"
	HintAnnotation HintSource = "Annotation"
	HintDefault    HintSource = "Default"
)
