// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/pipeline"
	"toolgate.dev/toolgate/internal/dispatcher/response"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
)

const (
	// maxBacklog bounds what waits for a session's stream to be opened, in messages and bytes; the oldest go first.
	maxBacklog      = 64
	maxBacklogBytes = 1 << 20
)

// oldestVersion is the first revision of the protocol; revisions are dates, so that their order is that of their names.
const oldestVersion = "2024-11-05"

// Session is one legacy session: a client, and the connection that serves it. It is safe for concurrent use.
type Session struct {
	ID string
	// Version is that of the protocol, as agreed with the client.
	Version string
	Client  Client

	all     *Sessions
	address string
	conn    upstream.Conn
	ctx     context.Context
	cancel  context.CancelCauseFunc
	// forget gives back what the session holds: its connection and its place among the caller's sessions.
	forget func()

	mu         sync.Mutex
	uses       int // requests and streams that are open
	idle       *time.Timer
	calls      map[string]*Call // by the key of the client's id
	asks       map[string]*ask  // by the key of our id
	asked      int64
	standalone *response.Stream
	backlog    [][]byte
	held       int // bytes of backlog
}

// Call is one request of the client that is under way.
type Call struct {
	// Reply takes what is sent to the client ahead of the answer.
	Reply interface{ Event(message []byte) bool }
	// Hold stops the call's time-out while the client is asked something.
	Hold func() (release func())

	session *Session
	cancel  context.CancelCauseFunc
}

// Why sessions end, beside the end of their connection.
var (
	errIdle    = fmt.Errorf("%w: its session was idle", pipeline.ErrGivenUp)
	errDeleted = fmt.Errorf("%w: it ended its session", pipeline.ErrGivenUp)
	errClosing = &upstream.Error{Reason: registry.FailExited, Message: "The dispatcher is shutting down."}
)

// Conn gives the session's own connection.
func (s *Session) Conn(context.Context) (upstream.Conn, func(), error) {
	return s.conn, func() {}, nil
}

// Info is what the server said of itself on the session's connection.
func (s *Session) Info() upstream.Info { return s.conn.Info() }

// Notify passes a notification of the client on.
func (s *Session) Notify(method string, params []byte) {
	if err := s.conn.Notify(s.ctx, method, params); err != nil {
		s.all.Log.Debug("notification not passed on", "method", method, "err", err)
	}
}

// Use counts one open request or stream; the function that it gives ends it. A session without any ends after a while.
func (s *Session) Use() (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uses++
	s.idle.Stop()
	return func() {
		idle := time.Duration(s.all.Pipeline.Limits().SessionIdleSeconds) * time.Second
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.uses--; s.uses == 0 && s.ctx.Err() == nil {
			s.idle.Reset(idle)
		}
	}
}

// expire ends the session unless it came into use while the timer fired.
func (s *Session) expire() {
	s.mu.Lock()
	busy := s.uses > 0
	s.mu.Unlock()
	if !busy {
		s.end(errIdle)
	}
}

// End ends the session as its client asked.
func (s *Session) End() { s.end(errDeleted) }

// end closes the session once: its id is unknown from now on, its streams end, its connection is given back. What is under
// way ends with the cause.
func (s *Session) end(cause error) {
	s.mu.Lock()
	ended := s.ctx.Err() != nil
	s.cancel(cause)
	s.idle.Stop()
	standalone := s.standalone
	s.mu.Unlock()
	if ended {
		return
	}
	s.all.remove(s.ID)
	if standalone != nil {
		standalone.Finish(nil)
	}
	s.forget()
	s.all.Metrics.SessionClosed()
	s.all.Log.Debug("session ended", "why", cause, "address", s.address)
}

// watch ends the session with its connection: the client then gets 404 and begins another.
func (s *Session) watch() {
	select {
	case <-s.conn.Done():
		s.end(upstream.AsError(cmp.Or(s.conn.Err(), upstream.ErrClosed), registry.FailExited))
	case <-s.ctx.Done():
	}
}

// Begin registers a request of the client, whose context it gives: a client that goes away has not cancelled it (MCP,
// Sending Messages to the Server, point 6), so that it lives as long as the session. It says no to an id that is in use.
func (s *Session) Begin(id jsonrpc.ID, c *Call) (ctx context.Context, finish func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := id.Key()
	if s.calls[key] != nil {
		return nil, nil, false
	}
	ctx, c.cancel = context.WithCancelCause(s.ctx)
	c.session = s
	s.calls[key] = c
	return ctx, func() {
		c.cancel(nil)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.calls, key)
	}, true
}

// GiveUp cancels the request that the client no longer wants.
func (s *Session) GiveUp(id jsonrpc.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.calls[id.Key()]; c != nil {
		c.cancel(pipeline.ErrGivenUp)
	}
}

// deliver sends a message of the server on exactly one stream: that of the call that it belongs to, else the standalone
// one, else it waits for that to be opened. It says whether the message is on a stream.
func (s *Session) deliver(owner *Call, message []byte) bool {
	if owner != nil && owner.Reply.Event(message) {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.standalone != nil && s.standalone.Push(message) {
		return true
	}
	s.hold(message)
	return false
}

// hold keeps a message until the client opens its stream.
func (s *Session) hold(message []byte) {
	if slices.ContainsFunc(s.backlog, func(held []byte) bool { return bytes.Equal(held, message) }) {
		return // list_changed says no more when it is said twice; requests differ in their ids
	}
	s.backlog = append(s.backlog, message)
	s.held += len(message)
	for len(s.backlog) > maxBacklog || s.held > maxBacklogBytes {
		s.held -= len(s.backlog[0])
		s.backlog = s.backlog[1:]
		s.all.Metrics.Dropped("no_stream")
	}
}

// ServeStandalone writes the session's own stream until it ends. A newer one takes the older one's place: the client that
// opens it knows better than we do whether the older one still reaches it.
func (s *Session) ServeStandalone(w http.ResponseWriter, r *http.Request) {
	mine := response.NewStream()
	s.mu.Lock()
	if s.standalone != nil {
		s.standalone.Finish(nil)
	}
	s.standalone = mine
	for _, message := range s.backlog {
		mine.Push(message)
	}
	s.backlog, s.held = nil, 0
	s.mu.Unlock()
	if s.ctx.Err() != nil {
		mine.Finish(nil)
	}
	mine.Run(r.Context(), w)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.standalone == mine {
		s.standalone = nil
	}
}
