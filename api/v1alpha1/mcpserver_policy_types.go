// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Limits bound what one caller may ask, and how large a message may be. Limits
// of messages, calls and sessions count per caller (anonymous callers count by
// address), and every message costs, refused or not.
type Limits struct {
	// requestsPerMinute is how many messages one caller may send in a minute; each
	// replica enforces its share, rounded up. Default: 100. 0 lifts the limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	RequestsPerMinute *int32 `json:"requestsPerMinute,omitempty"`
	// maxConcurrent is how many calls of one caller may be in flight at a time;
	// each replica enforces its share, rounded up. Default: 16.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	MaxConcurrent *int32 `json:"maxConcurrent,omitempty"`
	// maxSessions is how many sessions one caller may have open at a time at each
	// replica. Each session of a stdio server with isolation Session is a process.
	// Default: 20.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	MaxSessions *int32 `json:"maxSessions,omitempty"`
	// sessionIdleSeconds is after how long without a message a session ends, in
	// seconds. Default: 1800.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	SessionIdleSeconds *int32 `json:"sessionIdleSeconds,omitempty"`
	// maxRequestBytes bounds one message of a client, in bytes. Default: 4194304
	// (4 MiB).
	// +optional
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=67108864
	MaxRequestBytes *int32 `json:"maxRequestBytes,omitempty"`
	// maxResponseBytes bounds one message of the server, in bytes. Default:
	// 16777216 (16 MiB).
	// +optional
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=268435456
	MaxResponseBytes *int32 `json:"maxResponseBytes,omitempty"`
}

// Health says how the server is probed.
type Health struct {
	// intervalSeconds is how often the dispatcher asks whether the server answers,
	// in seconds. Default: 15.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	IntervalSeconds *int32 `json:"intervalSeconds,omitempty"`
	// timeoutSeconds is how long it waits for the answer, in seconds. Default: 5.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=300
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
	// failureThreshold is how many probes in a row must fail before the server
	// counts as Unhealthy. Default: 3.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	FailureThreshold *int32 `json:"failureThreshold,omitempty"`
}

// Discovery says how the catalogue is read and pinned.
type Discovery struct {
	// ttlSeconds is after how long the catalogue is read again, in seconds; it is
	// read at once when the server says that it changed. Default: 300.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	TTLSeconds *int32 `json:"ttlSeconds,omitempty"`
	// pinning says who admits the definition of a tool. PerRevision: the first
	// whole catalogue of each revision (image, command, arguments, environment,
	// mounts, address) is admitted, and every later change is withheld until a
	// person admits it with spec.pin of the MCPTool. Strict: what is admitted
	// stays so for later revisions: the first catalogue of the first revision is,
	// and what differs from it later is withheld until a person admits it. Manual:
	// a person sets each pin; what was admitted automatically before does not
	// count. Off: whatever the server lists is served; nothing but spec.pin of an
	// MCPTool withholds it for having changed. Default: PerRevision.
	// +optional
	Pinning Pinning `json:"pinning,omitempty"`
}

// Pinning says who admits the definition of a tool.
// +kubebuilder:validation:Enum=PerRevision;Strict;Manual;Off
type Pinning string

// Ways to admit definitions.
const (
	// PinningPerRevision admits each revision's first catalogue and withholds later changes.
	PinningPerRevision Pinning = "PerRevision"
	// PinningStrict admits the first catalogue of the first revision, and holds later revisions to it.
	PinningStrict Pinning = "Strict"
	// PinningManual waits for a person to set each pin.
	PinningManual Pinning = "Manual"
	// PinningOff serves whatever the server lists.
	PinningOff Pinning = "Off"
)

// Trust decides whether destructive tools may be called.
type Trust struct {
	// state Untrusted blocks every tool that counts as destructive. Trusted lets
	// them through; RuleSets still apply. Default: Untrusted.
	// +optional
	// +kubebuilder:default=Untrusted
	State TrustState `json:"state,omitempty"`
	// expiresAt is when trust ends by itself, as an RFC 3339 time. From then on
	// the server counts as Untrusted. Example: 2027-01-31T18:00:00Z. Default:
	// never.
	// +optional
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`
	// reason says why the server is trusted, for the next reader. It has no other
	// effect. Example: reviewed in SEC-1432.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`
	// maxStalenessSeconds is how long a dispatcher that no manager polls goes on
	// trusting, in seconds: a trust that was taken back while the manager could
	// not reach the pod ends by then. Default: 600. 0 means for ever.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	MaxStalenessSeconds *int32 `json:"maxStalenessSeconds,omitempty"`
}

// TrustState says whether a server is trusted.
// +kubebuilder:validation:Enum=Untrusted;Trusted
type TrustState string

// States of trust.
const (
	// Untrusted blocks what counts as destructive.
	Untrusted TrustState = "Untrusted"
	// Trusted lets it through; RuleSets still apply.
	Trusted TrustState = "Trusted"
)

// Gating says which tools count as destructive, and what becomes of their calls.
type Gating struct {
	// destructive says what the gate does with a call that it holds while the
	// server is Untrusted: Block refuses it, and nothing confirms that away;
	// Confirm asks a person for each call, as spec.confirm says, and refuses where
	// nobody can be asked. Default: Block.
	// +optional
	Destructive GateAction `json:"destructive,omitempty"`
	// unannotated says what a tool counts as that its server says nothing about:
	// no destructiveHint and no readOnlyHint. Destructive is MCP's own default.
	// Default: Destructive.
	// +optional
	Unannotated Unannotated `json:"unannotated,omitempty"`
	// scope Destructive gates the tools that count as destructive, Mutating every
	// tool that is not read-only. Default: Destructive.
	// +optional
	Scope GateScope `json:"scope,omitempty"`
	// blockedTools Hide leaves blocked tools out of tools/list; List shows them,
	// and a call says why it is blocked. Default: List.
	// +optional
	BlockedTools BlockedTools `json:"blockedTools,omitempty"`
}

// GateAction says what the gate does with a call that it holds.
// +kubebuilder:validation:Enum=Block;Confirm
type GateAction string

// What the gate can do.
const (
	// GateBlock refuses the call.
	GateBlock GateAction = "Block"
	// GateConfirm asks a person first; where nobody can be asked, it refuses.
	GateConfirm GateAction = "Confirm"
)

// Confirm says who confirms a call that the gate or a RuleSet wants confirmed. A
// confirmation is for one call: this caller, tool, arguments and definition,
// under the policy of that moment.
type Confirm struct {
	// by Caller asks the person at the client that calls, with a form (MCP
	// elicitation); clients that show no forms are refused. Approver wants
	// somebody else to confirm, whom this release cannot ask yet, so that such
	// calls are refused. Default: Approver.
	// +optional
	By ConfirmBy `json:"by,omitempty"`
	// ttlSeconds is how long a person may take, in seconds; a confirmation that
	// comes later counts for nothing. Default: 300.
	// +optional
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=3600
	TTLSeconds *int32 `json:"ttlSeconds,omitempty"`
}

// ConfirmBy is who confirms a call.
// +kubebuilder:validation:Enum=Caller;Approver
type ConfirmBy string

// Who can confirm a call.
const (
	// ConfirmByCaller is the person at the client that calls.
	ConfirmByCaller ConfirmBy = "Caller"
	// ConfirmByApprover is somebody else; nobody can be asked yet.
	ConfirmByApprover ConfirmBy = "Approver"
)

// Unannotated says what a tool without annotations counts as.
// +kubebuilder:validation:Enum=Destructive;Safe
type Unannotated string

// What a tool without annotations can count as.
const (
	// UnannotatedDestructive counts as destructive, which is MCP's own default.
	UnannotatedDestructive Unannotated = "Destructive"
	// UnannotatedSafe counts as not destructive.
	UnannotatedSafe Unannotated = "Safe"
)

// GateScope says which tools the gate holds.
// +kubebuilder:validation:Enum=Destructive;Mutating
type GateScope string

// Scopes of the gate.
const (
	// GateDestructive holds tools that count as destructive.
	GateDestructive GateScope = "Destructive"
	// GateMutating holds every tool that is not read-only.
	GateMutating GateScope = "Mutating"
)

// BlockedTools says whether clients see blocked tools.
// +kubebuilder:validation:Enum=List;Hide
type BlockedTools string

// What clients see of blocked tools.
const (
	// BlockedList shows blocked tools in tools/list.
	BlockedList BlockedTools = "List"
	// BlockedHide leaves blocked tools out of tools/list.
	BlockedHide BlockedTools = "Hide"
)

// Access allows or denies one feature.
// +kubebuilder:validation:Enum=Allow;Deny
type Access string

// Values of Access.
const (
	// Allow lets the feature through.
	Allow Access = "Allow"
	// Deny takes the feature away.
	Deny Access = "Deny"
)

// Expose says which parts of MCP are passed to clients. Deny takes the
// capability out of what clients are told and refuses its methods.
type Expose struct {
	// tools are tools/list and tools/call. Default: Allow.
	// +optional
	Tools Access `json:"tools,omitempty"`
	// resources are the methods resources/*. Default: Allow.
	// +optional
	Resources Access `json:"resources,omitempty"`
	// prompts are the methods prompts/*. Default: Allow.
	// +optional
	Prompts Access `json:"prompts,omitempty"`
	// completions is completion/complete. Default: Allow.
	// +optional
	Completions Access `json:"completions,omitempty"`
}

// ClientFeatures says what the server may ask of its clients. Deny takes the
// capability out of what the server is told and refuses the request.
type ClientFeatures struct {
	// sampling lets the server ask the client's model. Default: Allow.
	// +optional
	Sampling Access `json:"sampling,omitempty"`
	// samplingTools lets the server offer tools in a sampling request, which the
	// client's model then calls. Default: Deny while the server is Untrusted or
	// its trust has an end, Allow otherwise.
	// +optional
	SamplingTools Access `json:"samplingTools,omitempty"`
	// elicitationForm lets the server ask a person with a form. Default: Allow.
	// +optional
	ElicitationForm Access `json:"elicitationForm,omitempty"`
	// elicitationUrl lets the server send a person to a web page. Default: Deny
	// while the server is Untrusted or its trust has an end, Allow otherwise.
	// +optional
	ElicitationURL Access `json:"elicitationUrl,omitempty"`
	// roots lets the server ask which folders the client works in. Default: Allow.
	// +optional
	Roots Access `json:"roots,omitempty"`
}

// Validation says how strictly arguments and results are held to their
// schemas.
type Validation struct {
	// arguments Enforce refuses a call whose arguments do not conform to the
	// tool's inputSchema; Warn lets it pass and counts it; Off does not look.
	// Default: Enforce.
	// +optional
	Arguments ValidationMode `json:"arguments,omitempty"`
	// results is the same for structured results and the tool's outputSchema.
	// Default: Warn.
	// +optional
	Results ValidationMode `json:"results,omitempty"`
	// formats Assert checks the keyword format (date, email and so on); Annotate
	// reads it as a note, as JSON Schema 2020-12 does. Default: Annotate.
	// +optional
	Formats FormatMode `json:"formats,omitempty"`
}

// ValidationMode is what a violation leads to.
// +kubebuilder:validation:Enum=Enforce;Warn;Off
type ValidationMode string

// Modes of validation.
const (
	// ValidationEnforce refuses.
	ValidationEnforce ValidationMode = "Enforce"
	// ValidationWarn lets pass and counts.
	ValidationWarn ValidationMode = "Warn"
	// ValidationOff does not look.
	ValidationOff ValidationMode = "Off"
)

// FormatMode is what the keyword format means.
// +kubebuilder:validation:Enum=Annotate;Assert
type FormatMode string

// Meanings of the keyword format.
const (
	// FormatAnnotate reads format as a note.
	FormatAnnotate FormatMode = "Annotate"
	// FormatAssert checks it.
	FormatAssert FormatMode = "Assert"
)
