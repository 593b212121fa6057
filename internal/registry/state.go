// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import "encoding/json"

// State is what a dispatcher answers at GET :7311/state: what it enforces, and what it sees of its server. Everything here
// is the dispatcher's own strict reading; texts that come from the server (stderr, messages) are for people, never input of
// a policy.
//
// The ETag of the answer covers all but Health.ResponseTimeMs, so that an unchanged state costs a 304. `?wait=<seconds>`
// with If-None-Match holds the answer back until the state changes (30 at most).
type State struct {
	// Supports are the document versions that this dispatcher reads.
	Supports []int `json:"supports"`
	// Dispatcher is the dispatcher's own version.
	Dispatcher string `json:"dispatcher"`
	// PodUID and Revision say who answers: from the downward API and the flag --revision.
	PodUID   string `json:"podUID,omitempty"`
	Revision string `json:"revision,omitempty"`

	Registry RegistryState `json:"registry"`
	// Ready says whether clients are served (the latch of architecture.md); Draining is set once, before the end.
	Ready    bool          `json:"ready"`
	Draining bool          `json:"draining,omitempty"`
	Upstream UpstreamState `json:"upstream"`
	// Catalogue is absent until one whole catalogue has been read.
	Catalogue *Catalogue `json:"catalogue,omitempty"`
	// Sessions is what clients' connections list beside it. Dispatchers of earlier releases don't tell.
	Sessions SessionsState `json:"sessions,omitzero"`
	Health   HealthState   `json:"health"`
	// References are the ConfigMaps and Secrets that the server was started with.
	References ReferencesState `json:"references,omitzero"`
	// DomainModel is the text of spec.domainModel.
	DomainModel DomainModelState `json:"domainModel,omitzero"`
}

// ReferencesState says which of the objects that a server was started with have another content now.
type ReferencesState struct {
	// Changed names them as kind.name in lower case (secret.web), sorted.
	Changed []string `json:"changed,omitempty"`
	// Digest is over the contents of all of them, keyed so that it says nothing about a content; empty when none has changed.
	Digest string `json:"digest,omitempty"`
}

// RegistryState is the document in force.
//
//nolint:revive // it is the state of the registry, and State is that of the whole dispatcher
type RegistryState struct {
	// Digest is that of the document in force (Encode); empty while there is none, and then every call is refused.
	Digest   string `json:"digest,omitempty"`
	Sequence int64  `json:"sequence,omitempty"`
	// Error says why a newer document was refused.
	Error string `json:"error,omitempty"`
}

// UpstreamPhase is how far the dispatcher has got with its server.
type UpstreamPhase string

// Connecting: no whole catalogue yet. Connected: one was read and the last contact succeeded. Failed: the last attempt
// failed, and Reason says why.
const (
	UpstreamConnecting UpstreamPhase = "Connecting"
	UpstreamConnected  UpstreamPhase = "Connected"
	UpstreamFailed     UpstreamPhase = "Failed"
)

// FailureReason is why the dispatcher could not speak to its server. The values are condition reasons too.
type FailureReason string

// The ways in which a server fails.
const (
	FailStart        FailureReason = "ServerStartFailed" // the command could not be started, or nothing listens
	FailExited       FailureReason = "ServerExited"      // the process ended
	FailNotMCP       FailureReason = "NotMCP"            // what it answers is not MCP
	FailTimeout      FailureReason = "ServerTimeout"     // it does not answer in time
	FailUnreachable  FailureReason = "ServerUnreachable" // a remote server cannot be reached
	FailUnauthorized FailureReason = "ServerUnauthorized"
	FailCatalogue    FailureReason = "CatalogueInvalid" // a list could not be read whole: cursor loop, broken page
	FailProtocol     FailureReason = "UnsupportedProtocolVersion"
)

// UpstreamState is what is known of the server.
type UpstreamState struct {
	Phase   UpstreamPhase `json:"phase"`
	Reason  FailureReason `json:"reason,omitempty"`
	Message string        `json:"message,omitempty"`
	// Stderr are the last lines of the server's standard error, at most 20 of at most 1 KiB.
	Stderr          []string `json:"stderr,omitempty"`
	ProtocolVersion string   `json:"protocolVersion,omitempty"`
	ServerName      string   `json:"serverName,omitempty"`
	ServerVersion   string   `json:"serverVersion,omitempty"`
	// Capabilities are the names of the capabilities that the server declares, sorted.
	Capabilities []string `json:"capabilities,omitempty"`
	// StdoutNoise counts lines on standard output that were not JSON-RPC and were skipped.
	StdoutNoise int64 `json:"stdoutNoise,omitempty"`
	// ChildDeaths counts processes that ended before they were asked to, those of clients' sessions included. It is brought up
	// to date when it has doubled.
	ChildDeaths int64 `json:"childDeaths,omitempty"`
}

// Catalogue is the server's whole tools/list with the counts of its other lists.
type Catalogue struct {
	// Digest is catalog.CatalogueDigest over all tools.
	Digest string         `json:"digest"`
	Tools  []ObservedTool `json:"tools"`
	// Resources and Prompts are -1 when the server has no such list.
	Resources int `json:"resources"`
	Prompts   int `json:"prompts"`
}

// ObservedTool is one definition as the server gave it.
type ObservedTool struct {
	Name string `json:"name"`
	// Digest is catalog.Digest of Definition.
	Digest     string          `json:"digest"`
	Definition json.RawMessage `json:"definition"`
	// Error says why the definition cannot be served (no input schema, schema that does not compile …).
	Error string `json:"error,omitempty"`
}

// The most that a SessionsState holds: definitions, and bytes of them. The manager keeps it of each of thousands of pods.
const (
	MaxSessionTools = 64
	MaxSessionBytes = 256 << 10
)

// SessionsState is what the server lists on connections that serve clients and not on that of discovery, as far as it was listed in
// the last day: another definition of a tool, or a further tool.
type SessionsState struct {
	// Tools are sorted by name and digest. What came first is kept where there are more than MaxSessionTools.
	Tools []ObservedTool `json:"tools,omitempty"`
	// NotKept counts how often others were listed for which there was no room. It is brought up to date when it has doubled.
	NotKept int64 `json:"notKept,omitempty"`
}

// HealthState is the outcome of probing.
type HealthState struct {
	// State is Healthy, Unhealthy or Unknown.
	State string `json:"state"`
	// ConsecutiveFailures are counted up to the threshold at which the server is Unhealthy.
	ConsecutiveFailures int    `json:"consecutiveFailures,omitempty"`
	ResponseTimeMs      int64  `json:"responseTimeMs,omitempty"`
	Message             string `json:"message,omitempty"`
}
