// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy decides about messages: the ordered stages between a client and a tool, as functions on plain data, and
// the one table of errors that every surface answers with.
//
// It does no I/O, holds no clock, and never imports Kubernetes, the API, or the packages that move messages.
package policy

import (
	"time"

	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/rules"
	"toolgate.dev/toolgate/internal/schema"
)

// Caller is who sends a message, from verified credentials only. Until callers are authenticated everyone is anonymous.
type Caller struct {
	rules.Caller
	// Address is the peer's address without port: what an anonymous caller's limits count by.
	Address string
}

// Call is a message as policy sees it.
type Call struct {
	Method          string
	ProtocolVersion string
	Caller          Caller
	// Tool and Arguments are those of tools/call: the true name, and the raw bytes (nil if absent).
	Tool      string
	Arguments []byte
	// Task says that the call asks to be run as a task.
	Task bool
	// URI and Name are those of resources/read and prompts/get.
	URI, Name string
	Now       time.Time
}

// View is a connection's catalogue: what the server lists there.
type View interface {
	Lookup(name string) (catalog.Tool, bool)
}

// Stage names a stage of the pipeline, in order.
type Stage string

// The stages of architecture.md that a decision names.
const (
	StageParse     Stage = "parse"
	StageLimits    Stage = "limits"
	StageMethod    Stage = "method"
	StageTool      Stage = "tool"
	StagePin       Stage = "pin"
	StageState     Stage = "state"
	StageArguments Stage = "arguments"
	StageGate      Stage = "gate"
	StageRules     Stage = "rules"
	StageConfirm   Stage = "confirmation"
	StageUpstream  Stage = "upstream"
	StageResult    Stage = "result"
)

// Decision is the outcome of the stages before the server is called.
type Decision struct {
	// Refusal is nil when the call may pass.
	Refusal *Refusal
	// Tool is the definition that the call was checked against; zero for other methods.
	Tool     catalog.Tool
	Verdict  catalog.Verdict
	Timeout  time.Duration
	Warnings []rules.Hit
	Audited  []rules.Hit
	// Stages are the stages that were passed or refused, in order, for rules/evaluate and the audit record.
	Stages []StageResult
}

// StageResult is one stage's word.
type StageResult struct {
	Stage   Stage  `json:"stage"`
	Verdict string `json:"verdict"` // pass, warn, refuse
	Rule    string `json:"rule,omitempty"`
	Message string `json:"message,omitempty"`
}

// Refusal is why a message does not pass, and what would be right.
type Refusal struct {
	Kind  Kind
	Stage Stage
	Tool  string
	Rule  string
	// Reason is a stable word: Untrusted, DefinitionChanged, Disabled, RuleSet …
	Reason string
	// Path is a JSON Pointer into the arguments.
	Path       string
	Message    string
	Violations []schema.Violation
}

// Engine decides under one snapshot. It is immutable and safe for concurrent use.
type Engine struct {
	snapshot *registry.Snapshot
	schemas  *registry.SchemaCache
}

// The functions of this package (pipeline.go, errors.go, result.go, trust.go):
//
//	func New(snapshot *registry.Snapshot, schemas *registry.SchemaCache) *Engine
//	func (e *Engine) DecideMethod(call Call) *Refusal                      // is the method exposed, passed through, known? every message but tools/call
//	func (e *Engine) DecideCall(view View, call Call, trusted bool) Decision // tools/call: all stages up to the server
//	func (e *Engine) DecideRules(call Call, trusted bool) Decision         // RuleSets that govern other methods (resources/read, prompts/get …)
//	func (e *Engine) Trusted(now, lastPoll time.Time) bool                 // trust state, expiry and staleness
//	func (e *Engine) CheckResult(tool catalog.Tool, result []byte) (*Refusal, []schema.Violation) // output schema; isError exempt
//	func (e *Engine) Listing(view View, trusted bool) []ListedTool         // tools/list: admitted and not hidden, effective annotations, one order
//	func (r *Refusal) Error(server, traceID string) *jsonrpc.Error         // JSON-RPC error with data {kind, stage, server, tool, rule, path, traceId}
//	func (r *Refusal) Result(server, traceID string) []byte                // isError tools/call result with machine-readable reason in _meta
//	func (r *Refusal) AsResult(protocolVersion string, task bool) bool     // the table: result or JSON-RPC error
//	func (k Kind) ...                                                      // Code, HTTPModern, HTTPLegacy, HTTPREST, ErrorType
var _ = jsonrpc.AppendError
