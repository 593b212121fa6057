// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// MCPToolStatus is what was observed of the tool, and what is admitted.
type MCPToolStatus struct {
	// conditions are Registered, Callable and Ready. Callable=False says what
	// blocks the tool.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the generation of the spec that this status speaks of.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// observed is the definition that the server lists.
	// +optional
	Observed *ObservedTool `json:"observed,omitempty"`
	// pins are the definitions that are admitted automatically, by revision of
	// the server; they count for nothing while its pinning is Manual or Off.
	// +optional
	// +listType=map
	// +listMapKey=revision
	// +kubebuilder:validation:MaxItems=64
	Pins []RevisionPin `json:"pins,omitempty"`
	// admitted is the definition that was admitted last, while the server lists
	// another one: what to compare observed with.
	// +optional
	Admitted *ObservedTool `json:"admitted,omitempty"`
	// change says what differs between the definition that is observed and the one
	// that was admitted before it.
	// +optional
	Change *ToolChange `json:"change,omitempty"`
	// contractBroken are the digests of definitions that break spec.contract. They
	// are withheld, whoever admitted them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=128
	ContractBroken []string `json:"contractBroken,omitempty"`
	// contractKept are the digests of definitions that replicas list and that keep
	// spec.contract. With pinning Off they are those that may be served.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=128
	ContractKept []string `json:"contractKept,omitempty"`
	// destructive says whether the tool counts as destructive, and why.
	// +optional
	Destructive *DestructiveStatus `json:"destructive,omitempty"`
}

// ObservedTool is the definition that the server lists. All of it is the
// server's word.
type ObservedTool struct {
	// title for people, cut after 256 bytes.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Title string `json:"title,omitempty"`
	// description that models read, cut after 4096 bytes: whether a
	// longer one has changed is seen by the digest, which is over all of it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16384
	Description string `json:"description,omitempty"`
	// annotations are the server's own hints.
	// +optional
	Annotations *ToolAnnotations `json:"annotations,omitempty"`
	// inputSchema is the JSON Schema of the arguments. It is for reading: the
	// digest is over the original.
	// +optional
	// +structType=atomic
	// +kubebuilder:pruning:PreserveUnknownFields
	InputSchema *runtime.RawExtension `json:"inputSchema,omitempty"`
	// outputSchema is the JSON Schema of structured results. It is for reading:
	// the digest is over the original.
	// +optional
	// +structType=atomic
	// +kubebuilder:pruning:PreserveUnknownFields
	OutputSchema *runtime.RawExtension `json:"outputSchema,omitempty"`
	// schemaOmitted says which of inputSchema and outputSchema can't be shown:
	// they are too large (16 KiB), or have a number beyond float64, which the API
	// server does not take.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:MaxLength=16
	SchemaOmitted []string `json:"schemaOmitted,omitempty"`
	// digest of the whole definition, as spec.pin.digest takes it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Digest string `json:"digest,omitempty"`
	// revision of the server whose pods list it, as in its status.revisions: the
	// one by which the tool is judged.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Revision string `json:"revision,omitempty"`
	// variants is how many different definitions the replicas list, those in
	// clients' sessions included.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Variants int32 `json:"variants,omitempty"`
	// sessionVariants is how many of the variants nothing but clients' sessions
	// listed, in the last day: discovery, which has a connection of its own, lists
	// others, or does not list the tool.
	// +optional
	// +kubebuilder:validation:Minimum=1
	SessionVariants int32 `json:"sessionVariants,omitempty"`
}

// ToolAnnotations are the server's own hints. What is absent was not said.
type ToolAnnotations struct {
	// readOnly is readOnlyHint: the tool changes nothing.
	// +optional
	ReadOnly Hint `json:"readOnly,omitempty"`
	// destructive is destructiveHint: the tool can destroy something.
	// +optional
	Destructive Hint `json:"destructive,omitempty"`
	// idempotent is idempotentHint: a second call with the same arguments changes
	// nothing more.
	// +optional
	Idempotent Hint `json:"idempotent,omitempty"`
	// openWorld is openWorldHint: the tool reaches things outside.
	// +optional
	OpenWorld Hint `json:"openWorld,omitempty"`
}

// ToolChange is the step from one definition of a tool to another.
type ToolChange struct {
	// kind is none, patch (texts alone), minor (more is accepted or less is sent
	// than before) or breaking (what worked before need not work now). What can't
	// be compared is breaking.
	// +required
	Kind ChangeKind `json:"kind,omitempty"`
	// text says what changed and where, the worst first, as JSON pointers into the
	// definition.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Text string `json:"text,omitempty"`
	// from is the digest of the definition that was admitted before.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	From string `json:"from,omitempty"`
}

// ChangeKind is how much a change of a definition matters to those who use the
// tool, as in semantic versions.
// +kubebuilder:validation:Enum=none;patch;minor;breaking
type ChangeKind string

// Kinds of change.
const (
	// ChangeNone is no change since the definition was admitted.
	ChangeNone ChangeKind = "none"
	// ChangePatch is a change of texts alone.
	ChangePatch ChangeKind = "patch"
	// ChangeMinor accepts more, or sends less, than before.
	ChangeMinor ChangeKind = "minor"
	// ChangeBreaking need not work for those for whom it worked before.
	ChangeBreaking ChangeKind = "breaking"
)

// RevisionPin is the admitted definition of one revision.
type RevisionPin struct {
	// revision of the server, as in its status.revisions.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Revision string `json:"revision,omitempty"`
	// digest of the definition that is admitted for it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Digest string `json:"digest,omitempty"`
}

// DestructiveStatus says whether the tool counts as destructive, and why.
type DestructiveStatus struct {
	// verdict is True where the tool counts as destructive.
	// +required
	Verdict Hint `json:"verdict,omitempty"`
	// because is Override (spec.hints), Annotation (the server's) or Default (the
	// server says nothing).
	// +required
	Because HintSource `json:"because,omitempty"`
}

// HintSource is where a verdict comes from.
// +kubebuilder:validation:Enum=Override;Annotation;Default
type HintSource string

// Sources of a verdict.
const (
	// HintOverride is from spec.hints.
	HintOverride HintSource = "Override"
	// HintAnnotation is the server's own.
	HintAnnotation HintSource = "Annotation"
	// HintDefault is what spec.gating says of a tool without annotations.
	HintDefault HintSource = "Default"
)
