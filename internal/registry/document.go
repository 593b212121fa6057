// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registry is the contract between the manager and the dispatchers: the registry Document that the manager
// writes and a dispatcher enforces, and the State that a dispatcher answers and the manager reads.
//
// It is a leaf of plain structs: it imports the engines (rules, schema, catalog, jsonrpc) and never Kubernetes or the API.
package registry

import "toolgate.dev/toolgate/internal/rules"

// Versions of the document's schema. Version is a document of one piece, VersionSharded one that is cut into shards, which is
// read and written by package shard and means the same. Supported gives those that this release reads.
const (
	Version        = 1
	VersionSharded = 2
)

// FileName is the key of the document in its ConfigMap, and the file's name in the dispatcher's volume.
const FileName = "registry.json"

// Document is everything that the dispatchers of one server need to decide about a call. It is a pure function of the
// MCPServer, its MCPTools and RuleSets: no times, no random ids, every list sorted.
type Document struct {
	// Version is the schema's version; a dispatcher refuses one that it does not support.
	Version int `json:"version"`
	// Sequence rises only when the content changes; a dispatcher refuses a lower one than it has seen.
	Sequence int64 `json:"sequence"`

	Server   Server   `json:"server"`
	Upstream Upstream `json:"upstream"`
	Policy   Policy   `json:"policy"`
	// Telemetry is where spans go.
	Telemetry Telemetry `json:"telemetry,omitzero"`
	// DomainModel is what the dispatcher answers as a resource of its own.
	DomainModel DomainModel `json:"domainModel,omitzero"`
	// Revisions holds the admitted tools of every revision that still has a pod, by the revision's name. A dispatcher
	// uses only its own; an absent revision denies every call.
	Revisions map[string]Revision `json:"revisions"`
	// RuleSets are the sets that govern this server, sorted by name.
	RuleSets []rules.Set `json:"ruleSets,omitempty"`
}

// Telemetry is where a dispatcher sends what it observes.
type Telemetry struct {
	// OTLPEndpoint is the base URL of a collector that speaks OTLP over HTTP, such as http://collector:4318; empty for none.
	OTLPEndpoint string `json:"otlpEndpoint,omitempty"`
}

// Server is who the server is: what rules see as `server`, and what REST answers say.
type Server struct {
	Namespace    string   `json:"namespace"`
	Name         string   `json:"name"`
	Description  string   `json:"description,omitempty"`
	Domain       string   `json:"domain,omitempty"`
	Capabilities []string `json:"capabilities,omitempty"`
	// URL is where clients reach the server.
	URL string `json:"url,omitempty"`
}

// TransportType is how the dispatcher reaches the server.
type TransportType string

// The transports of an upstream.
const (
	TransportStdio          TransportType = "stdio"
	TransportStreamableHTTP TransportType = "streamable-http"
	TransportSSE            TransportType = "sse"       // HTTP with SSE of revision 2024-11-05
	TransportWebSocket      TransportType = "websocket" // in no revision of MCP
)

// Transports are all that there are.
func Transports() []TransportType {
	return []TransportType{TransportStdio, TransportStreamableHTTP, TransportSSE, TransportWebSocket}
}

// Isolation says who shares an upstream connection (architecture: who owns an upstream connection).
type Isolation string

// Session gives each session its own connection, and a call without a session a fresh one; Shared gives all of them one.
const (
	IsolationSession Isolation = "Session"
	IsolationShared  Isolation = "Shared"
)

// Upstream is how to speak to the server: that of the newest revision. Dispatchers of others know their own from their pods (see In).
type Upstream struct {
	Transport TransportType `json:"transport"`
	// URL is the endpoint of an HTTP upstream: on loopback for one in the pod.
	URL       string    `json:"url,omitempty"`
	Remote    bool      `json:"remote,omitempty"`
	Isolation Isolation `json:"isolation,omitempty"`
	// Headers are files in the dispatcher whose content is sent as header, sorted by name.
	Headers []HeaderFile `json:"headers,omitempty"`
	// CAFile is a PEM bundle in the dispatcher that replaces the system's.
	CAFile string `json:"caFile,omitempty"`
}

// HeaderFile is one header and the file that holds its value.
type HeaderFile struct {
	Name string `json:"name"`
	File string `json:"file"`
}

// Mode is Enforce, Warn or Off.
type Mode string

// The modes of validation.
const (
	Enforce Mode = "Enforce"
	Warn    Mode = "Warn"
	Off     Mode = "Off"
)

// Policy is every switch of a server. An absent switch is the strict one. An absent number is the usual one (Usual), but for the two that
// say something with 0: it lifts Limits.RequestsPerMinute, and trust outlives the manager for ever.
type Policy struct {
	// TimeoutSeconds bounds one call.
	TimeoutSeconds int `json:"timeoutSeconds"`

	Limits     Limits     `json:"limits"`
	Health     Health     `json:"health"`
	Discovery  Discovery  `json:"discovery"`
	Trust      Trust      `json:"trust"`
	Gating     Gating     `json:"gating"`
	Confirm    Confirm    `json:"confirm,omitzero"`
	Expose     Expose     `json:"expose"`
	Client     Client     `json:"clientFeatures"`
	Validation Validation `json:"validation"`
	Audit      Audit      `json:"audit,omitzero"`
	// Passthrough are methods that are let through unchecked, sorted.
	Passthrough []string `json:"passthrough,omitempty"`
}

// Limits of one replica, already divided among the replicas. 0 lifts RequestsPerMinute only.
type Limits struct {
	RequestsPerMinute  int `json:"requestsPerMinute"`
	MaxConcurrent      int `json:"maxConcurrent"`
	MaxSessions        int `json:"maxSessions"`
	SessionIdleSeconds int `json:"sessionIdleSeconds"`
	MaxRequestBytes    int `json:"maxRequestBytes"`
	MaxResponseBytes   int `json:"maxResponseBytes"`
}

// Health is how the upstream is probed.
type Health struct {
	IntervalSeconds  int `json:"intervalSeconds"`
	TimeoutSeconds   int `json:"timeoutSeconds"`
	FailureThreshold int `json:"failureThreshold"`
}

// Discovery is how the catalogue is read. With PinningOff the dispatcher serves what the server lists without comparing digests.
type Discovery struct {
	TTLSeconds int  `json:"ttlSeconds"`
	PinningOff bool `json:"pinningOff,omitempty"`
}

// Trust lets destructive tools through.
type Trust struct {
	Trusted bool `json:"trusted,omitempty"`
	// ExpiresAt is when trust ends, in Unix seconds; 0 means never.
	ExpiresAt int64 `json:"expiresAt,omitempty"`
	// MaxStalenessSeconds is how long trust outlives the manager's last poll; 0 means for ever.
	MaxStalenessSeconds int `json:"maxStalenessSeconds"`
}

// Gating says which tools the destructive gate holds, and whether a person's confirmation opens it (Confirm) or nothing does.
type Gating struct {
	Confirm         bool `json:"confirm,omitempty"`
	UnannotatedSafe bool `json:"unannotatedSafe,omitempty"`
	Mutating        bool `json:"mutating,omitempty"`
	HideBlocked     bool `json:"hideBlocked,omitempty"`
}

// ConfirmBy is who confirms a call.
type ConfirmBy string

// Caller lets the person at the client confirm. Approver wants somebody else to, which no dispatcher can ask for yet, so that
// such calls are refused; it is what stands where nothing is said.
const (
	ConfirmByCaller   ConfirmBy = "Caller"
	ConfirmByApprover ConfirmBy = "Approver"
)

// Confirm is how calls are confirmed that the gate or a rule wants confirmed.
type Confirm struct {
	By ConfirmBy `json:"by,omitempty"`
	// TTLSeconds is how long a confirmation may take.
	TTLSeconds int `json:"ttlSeconds,omitempty"`
}

// Expose says which parts of MCP reach clients.
type Expose struct {
	Tools       bool `json:"tools,omitempty"`
	Resources   bool `json:"resources,omitempty"`
	Prompts     bool `json:"prompts,omitempty"`
	Completions bool `json:"completions,omitempty"`
}

// Client says what the server may ask of clients.
type Client struct {
	Sampling        bool `json:"sampling,omitempty"`
	SamplingTools   bool `json:"samplingTools,omitempty"`
	ElicitationForm bool `json:"elicitationForm,omitempty"`
	ElicitationURL  bool `json:"elicitationUrl,omitempty"`
	Roots           bool `json:"roots,omitempty"`
}

// Validation says how arguments and results are held to their schemas. An empty Mode means Enforce.
type Validation struct {
	Arguments     Mode `json:"arguments"`
	Results       Mode `json:"results"`
	AssertFormats bool `json:"assertFormats,omitempty"`
}

// AuditFailure says which calls do not happen when they cannot be recorded.
type AuditFailure string

// Block refuses every call that cannot be recorded, BlockDestructive (also where nothing is said) those that count as
// destructive, Continue none.
const (
	AuditBlock            AuditFailure = "Block"
	AuditBlockDestructive AuditFailure = "BlockDestructive"
	AuditContinue         AuditFailure = "Continue"
)

// Audit says what is recorded beside digests and sizes. The zero value records no values.
type Audit struct {
	Arguments bool `json:"arguments,omitempty"`
	Results   bool `json:"results,omitempty"`
	// Redact are JSON Pointers (RFC 6901) and, without a leading slash, names of members that are left out, sorted.
	Redact    []string     `json:"redact,omitempty"`
	OnFailure AuditFailure `json:"onFailure,omitempty"`
}

// Revision is what is admitted for one revision of the server.
type Revision struct {
	// Tools are sorted by name. A tool that is not listed is unknown.
	Tools []Tool `json:"tools"`
}

// Tool is one tool as policy sees it. The definition itself is not repeated here: the dispatcher reads it from the server
// and serves it only while its digest is Digest.
type Tool struct {
	Name string `json:"name"`
	// Digest is the admitted definition (catalog.Digest); empty withholds the tool, unless nothing is pinned.
	Digest string `json:"digest,omitempty"`
	// Digests are the definitions that may be served where nothing is pinned, sorted; none means any. A tool with a contract has those that
	// are known to keep it.
	Digests []string `json:"digests,omitempty"`
	// Withheld says why the tool must not be called although it is known (Disabled, InvalidSchema, DuplicateName …); empty admits it.
	Withheld string `json:"withheld,omitempty"`
	// Message says in a sentence what Withheld means here.
	Message string `json:"message,omitempty"`
	// Hints override the server's annotations.
	Hints *Hints `json:"hints,omitempty"`
	// TimeoutSeconds wins over Policy.TimeoutSeconds; 0 means the server's.
	TimeoutSeconds int `json:"timeoutSeconds,omitempty"`
	// Limits count beside those of Policy.
	Limits       ToolLimits `json:"limits,omitzero"`
	Version      string     `json:"version,omitempty"`
	DeprecatedIn string     `json:"deprecatedIn,omitempty"`
}

// ToolLimits bound the calls of one tool for each caller of one replica; 0 is no limit.
type ToolLimits struct {
	RequestsPerMinute int `json:"requestsPerMinute,omitempty"`
	MaxConcurrent     int `json:"maxConcurrent,omitempty"`
}

// Hints override annotations; nil leaves the server's.
type Hints struct {
	ReadOnly    *bool `json:"readOnly,omitempty"`
	Destructive *bool `json:"destructive,omitempty"`
	Idempotent  *bool `json:"idempotent,omitempty"`
	OpenWorld   *bool `json:"openWorld,omitempty"`
}
