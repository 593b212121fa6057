// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// RuleSet holds rules that decide about calls.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=mcprs,categories=mcp
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Format",type=string,JSONPath=`.spec.format`
// +kubebuilder:printcolumn:name="Priority",type=integer,JSONPath=`.spec.priority`
// +kubebuilder:printcolumn:name="Rules",type=integer,JSONPath=`.status.rulesCount`
// +kubebuilder:printcolumn:name="Servers",type=integer,JSONPath=`.status.matchedServers`
// +kubebuilder:printcolumn:name="Enforced",type=string,JSONPath=`.status.conditions[?(@.type=="Enforced")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type RuleSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec RuleSetSpec `json:"spec"`
	// +optional
	Status RuleSetStatus `json:"status,omitempty"`
}

// RuleSetList is a list of RuleSets.
//
// +kubebuilder:object:root=true
type RuleSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RuleSet `json:"items"`
}

// RuleSetSpec says what is governed, and how.
type RuleSetSpec struct {
	// type is the class of the rules: safety decides before policy, policy before validation.
	Type RuleSetType `json:"type"`
	// priority orders sets of one class; the highest decides.
	Priority *int32 `json:"priority,omitempty"`
	// enforcement Audit records what the rules would do and lets the call pass.
	Enforcement Enforcement `json:"enforcement,omitempty"`
	// format is the language of the rules.
	Format RuleFormat `json:"format,omitempty"`
	// servers selects MCPServers of this namespace; absent selects all.
	Servers *ServerSelector `json:"servers,omitempty"`
	// tools selects tools; absent selects all.
	Tools *ToolSelector `json:"tools,omitempty"`
	// methods are the MCP methods that the rules see.
	Methods []string `json:"methods,omitempty"`
	// rules decide about a call.
	Rules []Rule `json:"rules"`
}

// RuleSetType is the class of a set.
// +kubebuilder:validation:Enum=safety;policy;validation;routing
type RuleSetType string

const (
	RuleSetSafety     RuleSetType = "safety"
	RuleSetPolicy     RuleSetType = "policy"
	RuleSetValidation RuleSetType = "validation"
	RuleSetRouting    RuleSetType = "routing"
)

// Enforcement says whether a verdict is carried out.
// +kubebuilder:validation:Enum=Enforce;Audit
type Enforcement string

const (
	EnforcementEnforce Enforcement = "Enforce"
	EnforcementAudit   Enforcement = "Audit"
)

// RuleFormat is the language of the rules.
// +kubebuilder:validation:Enum=cel;jsonSchema;shacl
type RuleFormat string

const (
	RuleFormatCEL        RuleFormat = "cel"
	RuleFormatJSONSchema RuleFormat = "jsonSchema"
	RuleFormatSHACL      RuleFormat = "shacl"
)

// ServerSelector selects servers by name, by label, or both (either selects).
type ServerSelector struct {
	Names    []string              `json:"names,omitempty"`
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// ToolSelector selects tools by name or glob, and may narrow to destructive ones.
type ToolSelector struct {
	// names are tool names; * stands for any run of characters.
	Names []string `json:"names,omitempty"`
	// destructive Only narrows to tools that count as destructive.
	Destructive DestructiveSelector `json:"destructive,omitempty"`
}

// DestructiveSelector narrows to destructive tools.
// +kubebuilder:validation:Enum=Any;Only
type DestructiveSelector string

const (
	DestructiveAny  DestructiveSelector = "Any"
	DestructiveOnly DestructiveSelector = "Only"
)

// Rule is one decision. Exactly one of when, require and schema is set.
type Rule struct {
	Name string `json:"name"`
	// priority wins over the set's.
	Priority *int32 `json:"priority,omitempty"`
	// action is what happens when the rule applies.
	Action RuleAction `json:"action"`
	// message tells the caller what to do instead; {fields} in braces are filled in.
	Message string `json:"message,omitempty"`
	// messageExpression is CEL that gives the message.
	MessageExpression string `json:"messageExpression,omitempty"`
	// when is CEL; the rule applies when it is true.
	When string `json:"when,omitempty"`
	// require is CEL; the rule applies when it is not true.
	Require string `json:"require,omitempty"`
	// schema is a JSON Schema; the rule applies when the arguments do not conform.
	Schema *runtime.RawExtension `json:"schema,omitempty"`
}

// RuleAction is what a rule does.
// +kubebuilder:validation:Enum=Reject;RequireConfirmation;Warn;Allow
type RuleAction string

const (
	ActionReject              RuleAction = "Reject"
	ActionRequireConfirmation RuleAction = "RequireConfirmation"
	ActionWarn                RuleAction = "Warn"
	ActionAllow               RuleAction = "Allow"
)

// RuleSetStatus says whether the rules compile and who enforces them.
type RuleSetStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
	RulesCount         *int32             `json:"rulesCount,omitempty"`
	MatchedServers     *int32             `json:"matchedServers,omitempty"`
	EnforcedServers    *int32             `json:"enforcedServers,omitempty"`
	MatchedTools       *int32             `json:"matchedTools,omitempty"`
	// ruleErrors are the rules that do not compile.
	RuleErrors []RuleError `json:"ruleErrors,omitempty"`
}

// RuleError says why a rule does not compile.
type RuleError struct {
	Rule    string `json:"rule,omitempty"`
	Field   string `json:"field,omitempty"`
	Line    int32  `json:"line,omitempty"`
	Column  int32  `json:"column,omitempty"`
	Message string `json:"message"`
}
