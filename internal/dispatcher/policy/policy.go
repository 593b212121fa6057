// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy decides about messages: the ordered stages between a client and a tool, as functions on plain data, and
// the one table of errors that every surface answers with.
//
// It does no I/O, holds no clock, and never imports Kubernetes, the API, or the packages that move messages.
package policy

import (
	"errors"
	"strings"
	"time"

	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/rules"
	"toolgate.dev/toolgate/internal/schema/violation"
)

// Call is a message as policy sees it.
type Call struct {
	Method          string
	ProtocolVersion string
	// Caller is who sends the message, from verified credentials only; the zero value is anonymous.
	Caller rules.CallerInfo
	// Client is what the client says of itself.
	Client rules.ClientInfo
	// Tool is that of tools/call: the true name.
	Tool string
	// Arguments are the raw bytes that rules see as args, nil if absent: the arguments of tools/call and prompts/get, all params of
	// completion/complete and of what spec.passthrough names.
	Arguments []byte
	// Task says that the call asks to be run as a task.
	Task bool
	// Confirmed says who confirmed this very call; the zero value says that nobody did.
	Confirmed rules.Confirmation
	// URI and Name are those of resources/read and prompts/get, and what completion/complete refers to.
	URI, Name string
	Now       time.Time
}

// View is a connection's catalogue: what the server lists there.
type View interface {
	// Lookup gives the tool. The error is ErrNotListed, or says why what the server lists cannot be served; the tool then
	// still has the digest that it is listed with.
	Lookup(name string) (catalog.Tool, error)
}

// What Lookup may say beside what is wrong with a definition (catalog.ParseTool).
var (
	ErrNotListed     = errors.New("the server does not list the tool")
	ErrDuplicateName = errors.New("the server lists more than one tool of this name")
)

// Stage names a stage of the pipeline.
type Stage string

// The stages of architecture.md, in their order.
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
	StageOutput    Stage = "result"
)

// Verdict is one stage's word.
type Verdict string

// The words of a stage. Warn lets the call pass and says what was found; Confirm wants a person's confirmation first, and
// refuses without one.
const (
	Pass    Verdict = "pass"
	Warn    Verdict = "warn"
	Confirm Verdict = "confirm"
	Refuse  Verdict = "refuse"
)

// StageResult is one stage's word about one call.
type StageResult struct {
	Stage   Stage   `json:"stage"`
	Verdict Verdict `json:"verdict"`
	Rule    string  `json:"rule,omitempty"`
	Message string  `json:"message,omitempty"`
}

// Decision is the outcome of the stages before the server is called.
type Decision struct {
	// Refusal is nil when the call may pass.
	Refusal *Refusal
	// Tool is the definition that the call was checked against, and Effective what it counts as; zero for other methods
	// and where no definition is known.
	Tool      catalog.Tool
	Effective catalog.Verdict
	// Timeout bounds the call upstream.
	Timeout time.Duration
	// Rules is the verdict of the RuleSets: warnings, what Audit would have done, and the trace of a dry run.
	Rules rules.Decision
	// Violations are those that validation Warn let through.
	Violations []violation.Violation
	// Stages are the stages that the call reached, in order.
	Stages []StageResult
}

// Engine decides under one snapshot. It is immutable and safe for concurrent use.
type Engine struct {
	snapshot *registry.Snapshot
	schemas  *registry.SchemaCache
}

// New gives the engine of a snapshot. schemas outlives snapshots, so that a reload compiles nothing again.
func New(snapshot *registry.Snapshot, schemas *registry.SchemaCache) *Engine {
	return &Engine{snapshot: snapshot, schemas: schemas}
}

// Snapshot is what the engine decides under.
func (e *Engine) Snapshot() *registry.Snapshot { return e.snapshot }

func (e *Engine) policy() *registry.Policy { return &e.snapshot.Document().Policy }

// Knows says whether the document holds a tool of this name, admitted or not.
func (e *Engine) Knows(name string) bool {
	_, ok := e.snapshot.Tool(name)
	return ok
}

// TrueName gives the tool's own name for `<server>.<tool>`, the server's name with `-` written `_`. A name that the document holds
// is a tool's own, however it begins: nothing else would reach that tool.
func (e *Engine) TrueName(name string) string {
	if e.Knows(name) {
		return name
	}
	return strings.TrimPrefix(name, strings.ReplaceAll(e.snapshot.Document().Server.Name, "-", "_")+".")
}

// Trusted says whether destructive tools may be called: the server is trusted, trust has not expired, and the manager has
// polled this dispatcher lately enough (lastPoll, the zero time if never).
func (e *Engine) Trusted(now, lastPoll time.Time) bool {
	trust := e.policy().Trust
	if !trust.Trusted || trust.Ended(now) {
		return false
	}
	staleness := time.Duration(trust.MaxStalenessSeconds) * time.Second
	return staleness == 0 || now.Sub(lastPoll) <= staleness
}

// TrustEnds is when trust ends unless the manager polls meanwhile, for a server that is trusted; the zero time means never.
func (e *Engine) TrustEnds(lastPoll time.Time) time.Time {
	trust := e.policy().Trust
	var ends time.Time
	if trust.ExpiresAt != 0 {
		ends = time.Unix(trust.ExpiresAt, 0)
	}
	if trust.MaxStalenessSeconds != 0 {
		stale := lastPoll.Add(time.Duration(trust.MaxStalenessSeconds) * time.Second)
		if ends.IsZero() || stale.Before(ends) {
			ends = stale
		}
	}
	return ends
}

// ListsByTrust says whether tools/list depends on trust.
func (e *Engine) ListsByTrust() bool {
	gating := e.policy().Gating
	return gating.HideBlocked && !gating.Confirm
}
