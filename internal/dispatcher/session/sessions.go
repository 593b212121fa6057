// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package session keeps the sessions of clients that speak a revision up to 2025-11-25: their requests under way, their
// streams, what the server asks and tells them on its own, and their end.
//
// It owns no HTTP and reads no message of a client: that is the front's. What may pass is for the pipeline to decide. It never
// imports Kubernetes, the API or the launcher.
package session

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/metrics"
	"toolgate.dev/toolgate/internal/dispatcher/pipeline"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/stream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/mcp"
	"toolgate.dev/toolgate/internal/registry"
)

// Config is what sessions share.
type Config struct {
	Pipeline *pipeline.Pipeline
	// Connect gives the connection of a new session, which takes what the server sends on its own; release ends the
	// session's part in it.
	Connect func(ctx context.Context, hello upstream.Hello, handler upstream.Handler) (conn upstream.Conn, release func(), err error)
	// Tag ends every session's id: it says which replica holds the session.
	Tag     string
	Metrics *metrics.Metrics
	Log     *slog.Logger
}

// Sessions are the open ones by id. They are safe for concurrent use.
type Sessions struct {
	Config

	mu       sync.Mutex
	byID     map[string]*Session
	draining bool
	kept     stream.Total
}

// New gives a set without sessions.
func New(c Config) *Sessions {
	return &Sessions{Config: c, byID: map[string]*Session{}}
}

// NewID is a name for what a client begins here: 192 random bits in visible ASCII (MCP, Session Management). It is all that a
// caller needs, so it must not be guessed, and a client never chooses it.
func (a *Sessions) NewID() string {
	var id [24]byte
	_, _ = rand.Read(id[:]) // never fails: crypto/rand ends the process instead
	return base64.RawURLEncoding.EncodeToString(id[:]) + a.Tag
}

// Begin opens a session for a client at an address and connects it; version is the protocol's, as the client wishes it.
// The connection outlives ctx, which bounds its opening alone. on is the stream of a client that has one for everything, and
// counts among its caller's sessions already; nil for clients that open streams as they need them.
func (a *Sessions) Begin(ctx context.Context, address, version string, client Client, on *stream.Stream) (*Session, *policy.Refusal) {
	if a.Pipeline.Document() == nil || a.Closed() {
		return nil, a.Unready()
	}
	leave, refusal := func() {}, (*policy.Refusal)(nil)
	if on == nil {
		leave, refusal = a.Pipeline.BeginSession(address)
	}
	if refusal != nil {
		return nil, refusal
	}
	s := &Session{
		ID: a.NewID(), Version: version, Client: client, all: a, address: address, calls: map[string]*Call{}, asks: map[string]*ask{},
	}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.streams = stream.NewStore(&a.kept, func() { a.Metrics.Dropped("not_fetched") })
	if s.standalone = on; on == nil {
		s.own = s.streams.Open(s.Primed())
		s.standalone = s.own
	}
	hello := upstream.Hello{ProtocolVersion: version, Capabilities: client.Capabilities, ClientInfo: client.Info}
	conn, release, err := a.Connect(ctx, hello, s)
	if err != nil {
		s.cancel(err)
		s.closeStreams() // what the server said in the meantime counts no more
		leave()
		a.Log.Warn("session not begun", "err", err, "address", address)
		return nil, pipeline.TransportRefusal(err, "")
	}
	s.conn, s.forget = conn, func() { release(); leave() }
	if info := conn.Info(); info.Era == upstream.Legacy && info.ProtocolVersion < s.Version {
		s.Version = max(info.ProtocolVersion, mcp.OldestLegacy)
	}
	s.idle = time.AfterFunc(time.Duration(a.Pipeline.Limits().SessionIdleSeconds)*time.Second, s.expire)
	a.Metrics.SessionOpened()
	if !a.add(s) {
		s.end(errClosing)
		return nil, a.Unready()
	}
	go s.watch()
	return s, nil
}

// Unready is why no session begins: the dispatcher drains, or has no document.
func (a *Sessions) Unready() *policy.Refusal {
	if a.Closed() {
		return pipeline.Draining()
	}
	return &policy.Refusal{Kind: policy.Denied, Stage: policy.StageMethod, Reason: "NoRegistry",
		Message: "This dispatcher has no valid registry document yet, so it begins no session."}
}

// Find gives the session with an id, nil if there is none.
func (a *Sessions) Find(id string) *Session {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.byID[id]
}

// add says no while the dispatcher drains.
func (a *Sessions) add(one *Session) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.draining {
		return false
	}
	a.byID[one.ID] = one
	return true
}

func (a *Sessions) remove(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.byID, id)
}

func (a *Sessions) list() []*Session {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Collect(maps.Values(a.byID))
}

// Drain refuses new sessions from now on; those that there are go on.
func (a *Sessions) Drain() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.draining = true
}

// Closed says whether no session begins any more.
func (a *Sessions) Closed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.draining
}

// Tell sends a notification of the dispatcher's own to every session.
func (a *Sessions) Tell(message []byte) {
	for _, s := range a.list() {
		s.tell(message)
	}
}

// Close ends every session.
func (a *Sessions) Close() {
	a.Drain()
	for _, s := range a.list() {
		s.end(errClosing)
	}
}

// features are what policy lets the server ask of clients.
func (a *Sessions) features() registry.Client {
	if d := a.Pipeline.Document(); d != nil {
		return d.Policy.Client
	}
	return registry.Client{}
}
