// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"slices"
	"strings"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
)

// The states of registry.HealthState.
const (
	Healthy   = "Healthy"
	Unhealthy = "Unhealthy"
	Unknown   = "Unknown"
)

// maxWord bounds a name that the server gives itself, in bytes.
const maxWord = 256

// State is what is known of the server at one moment. It is immutable, but for ResponseTimeMs, ProbedAt and ReadAt, which move on
// without a new Version.
type State struct {
	// Version rises with each change.
	Version  uint64
	Upstream registry.UpstreamState
	// Info is what the server said of itself last; its Era is empty until it has.
	Info upstream.Info
	// Catalogue is the last whole one, nil until there was one; Observed is the same for registry.State.
	Catalogue *upstream.Catalogue
	Observed  *registry.Catalogue
	Health    registry.HealthState
	// ProbedAt is when the server was asked last, ReadAt when Catalogue was last seen to be right.
	ProbedAt, ReadAt time.Time
	// Changed is closed when there is a newer Version.
	Changed <-chan struct{}
}

// State returns the newest state.
func (p *Prober) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

// publish changes the state, and tells those who wait for a change if there was one.
func (p *Prober) publish(change func(*State)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := p.state
	change(&next)
	next.Upstream.StdoutNoise = rising(next.Upstream.StdoutNoise, p.opts.Counters.StdoutNoise.Load())
	next.Upstream.ChildDeaths = rising(next.Upstream.ChildDeaths, p.opts.Counters.ChildDeaths.Load())
	if same(p.state, next) {
		p.state = next
		return
	}
	next.Version++
	changed := make(chan struct{})
	next.Changed = changed
	p.state = next
	close(p.changed)
	p.changed = changed
}

// rising is what to show of a count. A chatty server, or one that dies all the time, must not change the state all the time,
// so that the count is only shown anew when it has doubled.
func rising(shown, now int64) int64 {
	if now >= 2*max(shown, 1) || shown == 0 {
		return now
	}
	return shown
}

// same says whether nothing has changed that anybody waits for.
func same(a, b State) bool {
	a.Health.ResponseTimeMs, b.Health.ResponseTimeMs = 0, 0
	return a.Catalogue == b.Catalogue && a.Health == b.Health && sameUpstream(a.Upstream, b.Upstream)
}

func sameUpstream(a, b registry.UpstreamState) bool {
	return a.Phase == b.Phase && a.Reason == b.Reason && a.Message == b.Message && slices.Equal(a.Stderr, b.Stderr) &&
		a.ProtocolVersion == b.ProtocolVersion && a.ServerName == b.ServerName && a.ServerVersion == b.ServerVersion &&
		slices.Equal(a.Capabilities, b.Capabilities) && a.StdoutNoise == b.StdoutNoise && a.ChildDeaths == b.ChildDeaths
}

// fail writes a failure into the state. One that comes again keeps what the server wrote then, where numbers alone differ: the
// time on a line must not change the state with each attempt.
func fail(s *registry.UpstreamState, phase registry.UpstreamPhase, e *upstream.Error) {
	if s.Phase != phase || s.Reason != e.Reason || s.Message != e.Message || !slices.EqualFunc(s.Stderr, e.Stderr, alike) {
		s.Stderr = e.Stderr
	}
	s.Phase, s.Reason, s.Message = phase, e.Reason, e.Message
}

// alike says whether two lines differ in their digits alone: times, process ids and the like.
func alike(a, b string) bool {
	return a == b || strings.Map(undated, a) == strings.Map(undated, b)
}

func undated(r rune) rune {
	if '0' <= r && r <= '9' {
		return -1
	}
	return r
}

// connected writes what a server says of itself into the state.
func connected(state *State, info upstream.Info) {
	state.Info = info
	s := &state.Upstream
	s.Phase, s.Reason, s.Message, s.Stderr = registry.UpstreamConnected, "", "", nil
	s.ProtocolVersion = info.ProtocolVersion
	s.ServerName, s.ServerVersion = word(info.ServerInfo, "name"), word(info.ServerInfo, "version")
	s.Capabilities = nil
	for name := range jsonrpc.Members(info.Capabilities) {
		s.Capabilities = append(s.Capabilities, short(name))
	}
	slices.Sort(s.Capabilities)
}

func word(object []byte, key string) string {
	raw, _ := jsonrpc.Member(object, key)
	text, _ := jsonrpc.String(raw)
	return short(text)
}

func short(text string) string {
	return strings.ToValidUTF8(text[:min(maxWord, len(text))], "")
}

// observe is a catalogue as registry.State has it.
func observe(c *upstream.Catalogue) *registry.Catalogue {
	o := &registry.Catalogue{Digest: c.Digest, Tools: make([]registry.ObservedTool, len(c.Tools)), Resources: c.Resources, Prompts: c.Prompts}
	for i, t := range c.Tools {
		o.Tools[i] = registry.ObservedTool{Name: t.Name, Digest: t.Digest, Definition: t.Definition}
		if t.Err != nil {
			o.Tools[i].Error = t.Err.Error()
		}
	}
	return o
}
