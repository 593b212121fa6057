// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pipeline carries one request of a client through its stages: the caller's limits, policy, the server with its
// time-out, the result's schema, and the record of it all. The MCP and the REST face call it alike.
//
// It owns the engine in force, the limits and the count of what is in flight. What a request is stands in requests, what
// tools/list answers in listing; the steps of one exchange share its state, and so one package. It knows no HTTP, and never
// imports Kubernetes, the API or the launcher.
package pipeline

import (
	"log/slog"
	"sync/atomic"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/audit"
	"toolgate.dev/toolgate/internal/dispatcher/domainmodel"
	"toolgate.dev/toolgate/internal/dispatcher/input"
	"toolgate.dev/toolgate/internal/dispatcher/limits"
	"toolgate.dev/toolgate/internal/dispatcher/listing"
	"toolgate.dev/toolgate/internal/dispatcher/metrics"
	"toolgate.dev/toolgate/internal/dispatcher/parking"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/tracing"
	"toolgate.dev/toolgate/internal/dispatcher/trust"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/registry"
)

// Discovery is what is known of the server without asking it again.
type Discovery interface {
	// Catalogue is the one that was read last, nil until a whole one was.
	Catalogue() *upstream.Catalogue
}

// Config is what a Pipeline needs.
type Config struct {
	Discovery Discovery
	// Model answers the dispatcher's own resources; nil is one without any.
	Model   *domainmodel.Model
	Audit   *audit.Log
	Metrics *metrics.Metrics
	Log     *slog.Logger
	Now     func() time.Time
	// Tag ends the names that say which replica made a requestState.
	Tag string
}

// Pipeline decides and carries out requests. It is safe for concurrent use.
type Pipeline struct {
	Config
	schemas  *registry.SchemaCache
	engine   atomic.Pointer[policy.Engine]
	payloads atomic.Pointer[audit.Payloads]
	tracer   atomic.Pointer[tracing.Tracer]
	lastPoll atomic.Pointer[time.Time]
	callers  *limits.Callers
	lists    listing.Kept
	flight   limits.Flight
	vault    *input.Vault
	lot      *parking.Lot[*parked]
}

// New gives a pipeline without a document: it refuses everything until Apply.
func New(c Config) *Pipeline {
	p := &Pipeline{Config: c, schemas: registry.NewSchemaCache()}
	if p.Model == nil {
		p.Model = domainmodel.New(func() {}, c.Log)
	}
	p.callers = limits.NewCallers(c.Now)
	p.vault = input.NewVault(c.Now, c.Tag)
	p.lot = parking.NewLot(maxParked, (*parked).abandon)
	return p
}

// Close ends the calls that wait for another round of their clients. It may be called more than once.
func (p *Pipeline) Close() { p.lot.Close() }

// Apply puts a snapshot in force. Requests that are under way end under the one that they began with.
func (p *Pipeline) Apply(s *registry.Snapshot) {
	p.payloads.Store(audit.NewPayloads(s.Document().Policy.Audit))
	p.engine.Store(policy.New(s, p.schemas))
}

// Engine is the one in force, nil while there is no document.
func (p *Pipeline) Engine() *policy.Engine { return p.engine.Load() }

// Document is the one in force, nil while there is none.
func (p *Pipeline) Document() *registry.Document {
	if e := p.engine.Load(); e != nil {
		return e.Snapshot().Document()
	}
	return nil
}

// Polled notes that the manager read this dispatcher's state: trust outlives the last poll by trust.maxStaleness only.
func (p *Pipeline) Polled() {
	now := p.Now()
	p.lastPoll.Store(&now)
}

// Trusted says whether the server counts as trusted now.
func (p *Pipeline) Trusted(e *policy.Engine) bool { return e.Trusted(p.Now(), p.polled()) }

// Trust is what trust in the server is, and until when.
func (p *Pipeline) Trust() trust.State {
	e := p.engine.Load()
	if e == nil {
		return trust.State{}
	}
	return trust.State{Policy: e, Trusted: p.Trusted(e), Shows: e.ListsByTrust(), Ends: e.TrustEnds(p.polled())}
}

// polled is when the manager read the state last, the zero time if it never did.
func (p *Pipeline) polled() time.Time {
	if t := p.lastPoll.Load(); t != nil {
		return *t
	}
	return time.Time{}
}

// Flight is what is in flight, to be waited for by a drain.
func (p *Pipeline) Flight() *limits.Flight { return &p.flight }

// Limits are those of the document in force, and the usual ones where there is none.
func (p *Pipeline) Limits() registry.Limits {
	if d := p.Document(); d != nil {
		return d.Policy.Limits
	}
	return registry.Usual().Limits
}

// Admit takes one message off the caller's rate: every message costs, refused or not.
func (p *Pipeline) Admit(address string) *policy.Refusal {
	return p.callers.Admit(address, p.Limits().RequestsPerMinute)
}

// BeginSession counts one session of the caller; end is to be called once.
func (p *Pipeline) BeginSession(address string) (end func(), refusal *policy.Refusal) {
	place, refusal := p.callers.BeginSession(address, p.Limits().MaxSessions)
	return place.End, refusal
}

// ServerName names the server in answers and records; empty while there is no document.
func (p *Pipeline) ServerName() string {
	if d := p.Document(); d != nil {
		return d.Server.Name
	}
	return ""
}

// noDocument is the refusal of everything while no document is in force.
func noDocument() *policy.Refusal {
	return &policy.Refusal{Kind: policy.Denied, Stage: policy.StageMethod, Reason: "NoRegistry",
		Message: "This dispatcher has no valid registry document yet, so it lets nothing through."}
}
