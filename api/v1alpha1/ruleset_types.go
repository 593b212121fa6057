// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// RuleSet holds rules that decide about calls: over arguments, tools, servers
// and callers, in CEL or JSON Schema. Rules only take away: none lifts a check
// that Toolgate makes by itself. A set that does not compile denies what it
// governs.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=mcprs,categories=mcp
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Rules",type=integer,JSONPath=`.status.rulesCount`
// +kubebuilder:printcolumn:name="Servers",type=integer,JSONPath=`.status.matchedServers`
// +kubebuilder:printcolumn:name="Tools",type=integer,JSONPath=`.status.matchedTools`
// +kubebuilder:printcolumn:name="Enforced",type=string,JSONPath=`.status.conditions[?(@.type=="Enforced")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Format",type=string,priority=1,JSONPath=`.spec.format`
// +kubebuilder:printcolumn:name="Priority",type=integer,priority=1,JSONPath=`.spec.priority`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type RuleSet struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the object's name, namespace, labels and annotations.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is governed, and how. People write it.
	// +required
	Spec RuleSetSpec `json:"spec,omitzero"`
	// status says whether the rules compile and who enforces them. Toolgate writes
	// it.
	// +optional
	Status RuleSetStatus `json:"status,omitzero"`
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
//
// +kubebuilder:validation:XValidation:rule="self.?format.orValue('cel') != 'shacl' && !self.rules.exists(r, has(r.shapes))",fieldPath=".format",message="SHACL (format shacl, and shapes in rules) is not built yet: such rules could not be enforced; use format jsonSchema with a schema in each rule, or format cel with when or require"
// +kubebuilder:validation:XValidation:rule="self.?format.orValue('cel') != 'cel' || self.rules.all(r, has(r.shapes) || has(r.when) != has(r.require) && !has(r.schema))",fieldPath=".rules",message="with format cel each rule has exactly one of when (applies when true) and require (applies when not true), and no schema"
// +kubebuilder:validation:XValidation:rule="self.?format.orValue('cel') != 'jsonSchema' || self.rules.all(r, has(r.shapes) || has(r.schema) && !has(r.when) && !has(r.require) && !has(r.messageExpression))",fieldPath=".rules",message="with format jsonSchema each rule has a schema (applies when the arguments do not conform) and a message where wanted, and none of when, require and messageExpression"
type RuleSetSpec struct {
	// type is the class of the rules. safety decides before policy, and policy
	// before validation; a lower class never weakens the verdict of a higher one.
	// routing keeps its place and is refused until it is built.
	// +required
	// +kubebuilder:validation:XValidation:rule="self != 'routing'",message="type routing is not built yet: rules of this type would be accepted and do nothing; use safety, policy or validation"
	Type RuleSetType `json:"type,omitempty"`
	// priority orders sets of one class: the highest decides, on a tie the
	// stricter action. Default: 0. Example: 100.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=-1000000
	// +kubebuilder:validation:Maximum=1000000
	Priority *int32 `json:"priority,omitempty"`
	// enforcement Audit records what the rules would do and lets the call pass:
	// the way to try a set before it decides. Default: Enforce.
	// +optional
	Enforcement Enforcement `json:"enforcement,omitempty"`
	// format is the language of the rules. shacl keeps its place and is refused
	// until it is built. Default: cel.
	// +optional
	// +kubebuilder:default=cel
	Format RuleFormat `json:"format,omitempty"`
	// servers selects MCPServers of this namespace. Default: all of them.
	// +optional
	Servers *ServerSelector `json:"servers,omitempty"`
	// tools selects tools of those servers. Default: all of them.
	// +optional
	Tools *ToolSelector `json:"tools,omitempty"`
	// callers selects who calls. Default: everybody.
	// +optional
	Callers *CallerSelector `json:"callers,omitempty"`
	// methods are the MCP methods that the rules see. Default: [tools/call].
	// Example: [tools/call, resources/read].
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.all(m, m.matches('^[A-Za-z0-9_$.-]+(/[A-Za-z0-9_$.-]+)*$'))",message="each entry is the full name of one method, such as tools/call; there are no wildcards"
	// +kubebuilder:validation:XValidation:rule="self.all(m, !(m in ['initialize', 'ping', 'server/discover', 'subscriptions/listen']) && !m.startsWith('notifications/'))",message="rules decide about requests that reach the server: initialize, ping, server/discover, subscriptions/listen and notifications/* are answered by the dispatcher itself and reach no rule"
	Methods []string `json:"methods,omitempty"`
	// rules decide about a call. Within a class the rule of the highest priority
	// that applies decides.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=128
	Rules []Rule `json:"rules,omitempty"`
}

// RuleSetType is the class of a set.
// +kubebuilder:validation:Enum=safety;policy;validation;routing
type RuleSetType string

// Classes of sets, the highest first.
const (
	// RuleSetSafety decides first.
	RuleSetSafety RuleSetType = "safety"
	// RuleSetPolicy decides second.
	RuleSetPolicy RuleSetType = "policy"
	// RuleSetValidation decides last.
	RuleSetValidation RuleSetType = "validation"
	// RuleSetRouting keeps its place; it is refused until it is built.
	RuleSetRouting RuleSetType = "routing"
)

// Enforcement says whether a verdict is carried out.
// +kubebuilder:validation:Enum=Enforce;Audit
type Enforcement string

// Ways to enforce.
const (
	// EnforcementEnforce carries the verdict out.
	EnforcementEnforce Enforcement = "Enforce"
	// EnforcementAudit records it and lets the call pass.
	EnforcementAudit Enforcement = "Audit"
)

// RuleFormat is the language of the rules.
// +kubebuilder:validation:Enum=cel;jsonSchema;shacl
type RuleFormat string

// Languages of rules.
const (
	// RuleFormatCEL has when or require in each rule.
	RuleFormatCEL RuleFormat = "cel"
	// RuleFormatJSONSchema has a schema in each rule.
	RuleFormatJSONSchema RuleFormat = "jsonSchema"
	// RuleFormatSHACL keeps its place; it is refused until it is built.
	RuleFormatSHACL RuleFormat = "shacl"
)

// ServerSelector selects servers by name, by label, or both: either selects.
//
// +kubebuilder:validation:XValidation:rule="has(self.names) || has(self.selector)",message="an empty servers selects nothing: name servers in names, select them with selector, or leave servers out to select all"
type ServerSelector struct {
	// names of MCPServers. Example: [files, billing].
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Names []string `json:"names,omitempty"`
	// selector selects MCPServers by their labels. Example: {matchLabels: {tier:
	// prod}}.
	// +optional
	// +kubebuilder:validation:XValidation:rule="(has(self.matchLabels) && self.matchLabels.size() > 0) || (has(self.matchExpressions) && self.matchExpressions.size() > 0)",message="an empty selector is refused, because it is unclear whether all or none is meant: say matchLabels or matchExpressions, or leave servers out to select all"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, has(e.values) && e.values.size() > 0 ? e.operator == 'In' || e.operator == 'NotIn' : e.operator == 'Exists' || e.operator == 'DoesNotExist')",message="an operator is In or NotIn with values, or Exists or DoesNotExist without"
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// ToolSelector selects tools by name or glob, and may narrow to destructive
// ones: a tool must fit both.
//
// +kubebuilder:validation:XValidation:rule="has(self.names) || has(self.destructive)",message="an empty tools selects nothing: name tools in names, set destructive to Only, or leave tools out to select all"
type ToolSelector struct {
	// names are true names of tools; * stands for any run of characters and ? for
	// one. Example: [write_file, delete_*].
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	Names []string `json:"names,omitempty"`
	// destructive Only narrows to tools that count as destructive. Default: Any.
	// +optional
	Destructive DestructiveSelector `json:"destructive,omitempty"`
}

// DestructiveSelector narrows to destructive tools.
// +kubebuilder:validation:Enum=Any;Only
type DestructiveSelector string

// Values of DestructiveSelector.
const (
	// DestructiveAny selects both kinds of tools.
	DestructiveAny DestructiveSelector = "Any"
	// DestructiveOnly selects tools that count as destructive.
	DestructiveOnly DestructiveSelector = "Only"
)

// CallerSelector selects callers by what was verified of them: a caller must fit
// each list that is there. Whoever has not proved who it is may be anybody, so
// leaving credentials out lifts no restriction: Reject, RequireConfirmation and
// Warn apply to such callers too, and Allow does not. In each list * stands for
// any run of characters and ? for one.
//
// +kubebuilder:validation:XValidation:rule="has(self.names) || has(self.namespaces) || has(self.groups)",message="an empty callers selects nobody: say names, namespaces or groups, or leave callers out to select everybody"
type CallerSelector struct {
	// names of callers. Example: [ci-*, ann@example.com].
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Names []string `json:"names,omitempty"`
	// namespaces of callers that are service accounts. Example: [batch].
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Namespaces []string `json:"namespaces,omitempty"`
	// groups of which a caller is in one. Example: [contractors].
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Groups []string `json:"groups,omitempty"`
}

// Rule is one decision. It has one of when, require and schema, as the format of
// the set says.
type Rule struct {
	// name of the rule. Refusals, audit records and status name it. Example:
	// no-writes-to-etc.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$')",message="letters, digits, hyphens, dots and underscores, as in no-writes-to-etc"
	Name string `json:"name,omitempty"`
	// priority of this rule alone. Default: the set's.
	// +optional
	// +kubebuilder:validation:Minimum=-1000000
	// +kubebuilder:validation:Maximum=1000000
	Priority *int32 `json:"priority,omitempty"`
	// action is what happens when the rule applies. Reject refuses the call.
	// RequireConfirmation asks a person first; where nobody can be asked, it
	// refuses. Warn lets it pass and records it. Allow settles between rules: it
	// keeps lower priorities of the same class from having a say, and lifts no
	// other check.
	// +required
	Action RuleAction `json:"action,omitempty"`
	// message tells the caller what to do instead; {fields} in braces are filled
	// in. Example: "{args.path} is outside of /data; write below /data". Default:
	// a sentence that names the rule.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// messageExpression is CEL that gives the message; where it fails, message
	// stands in. Only with format cel.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	MessageExpression string `json:"messageExpression,omitempty"`
	// when is CEL over tool, args, rawArgs, server, caller, client, call and
	// confirmed; the rule applies when it is true. An error counts as true, except
	// for Allow. Example: args.path.startsWith("/etc").
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	When string `json:"when,omitempty"`
	// require is CEL as in when; the rule applies when it is not true. Example:
	// args.path.startsWith("/data/").
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	Require string `json:"require,omitempty"`
	// schema is a JSON Schema (2020-12, unless $schema names draft-04, -06, -07 or
	// 2019-09); the rule applies when the arguments do not conform. Nothing is
	// fetched: $ref reaches within the schema only. Example: {properties: {path:
	// {pattern: "^/data/"}}}.
	// +optional
	// +structType=atomic
	// +kubebuilder:pruning:PreserveUnknownFields
	Schema *runtime.RawExtension `json:"schema,omitempty"`
	// shapes are SHACL in Turtle, for format shacl. They keep their place and are
	// refused until they are built.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	Shapes string `json:"shapes,omitempty"`
}

// RuleAction is what a rule does.
// +kubebuilder:validation:Enum=Reject;RequireConfirmation;Warn;Allow
type RuleAction string

// Actions of rules, the strictest first.
const (
	// ActionReject refuses the call.
	ActionReject RuleAction = "Reject"
	// ActionRequireConfirmation asks a person first; where nobody can be asked, it refuses.
	ActionRequireConfirmation RuleAction = "RequireConfirmation"
	// ActionWarn lets the call pass and records it.
	ActionWarn RuleAction = "Warn"
	// ActionAllow keeps lower priorities of the class from having a say.
	ActionAllow RuleAction = "Allow"
)

// RuleSetStatus says whether the rules compile and who enforces them.
type RuleSetStatus struct {
	// conditions are Accepted, Enforced and Ready. Enforced speaks of pods that
	// new sessions reach; one that drains ends by the document that it has.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the generation of the spec that this status speaks of.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// rulesCount is the number of rules.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RulesCount *int32 `json:"rulesCount,omitempty"`
	// matchedServers is the number of MCPServers that the set governs.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MatchedServers *int32 `json:"matchedServers,omitempty"`
	// enforcedServers is how many of them have this generation of the set in force
	// in every replica.
	// +optional
	// +kubebuilder:validation:Minimum=0
	EnforcedServers *int32 `json:"enforcedServers,omitempty"`
	// matchedTools is the number of MCPTools that the set governs.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MatchedTools *int32 `json:"matchedTools,omitempty"`
	// ruleErrors say why rules do not compile, and where.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	RuleErrors []RuleError `json:"ruleErrors,omitempty"`
}

// RuleError says why a rule does not compile.
type RuleError struct {
	// rule that does not compile; absent where it is the set itself.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Rule string `json:"rule,omitempty"`
	// field of the rule. Example: when.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Field string `json:"field,omitempty"`
	// line in that field, from 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Line int32 `json:"line,omitempty"`
	// column in that line, from 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Column int32 `json:"column,omitempty"`
	// message says what is wrong.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Message string `json:"message,omitempty"`
}
