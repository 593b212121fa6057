// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/limits"
	"toolgate.dev/toolgate/internal/dispatcher/requests"
	"toolgate.dev/toolgate/internal/dispatcher/stream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
	"toolgate.dev/toolgate/internal/registry"
)

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

	// standalone is the stream of GET, for what belongs to no request of the client; streams keeps it and all others.
	standalone *stream.Stream
	own        *stream.Stream // the same, unless the client has one stream for everything
	streams    *stream.Store

	mu    sync.Mutex
	uses  int // requests and streams that are open
	idle  *time.Timer
	calls map[string]*Call // by the key of the client's id
	asks  map[string]*ask  // by the key of our id
	asked int64
}

// Reply is the answer to a request, as far as the server's own messages can precede it.
type Reply interface {
	// Event sends a message ahead of the answer. It says no where that is not possible.
	Event(message []byte) bool
	// Live says whether the client is there to read what Event sends.
	Live() bool
}

// Call is one request of the client that is under way.
type Call struct {
	// Reply takes what is sent to the client ahead of the answer.
	Reply Reply
	// Deadline is the call's time-out, which stands still while the client is asked something.
	Deadline *limits.Deadline
	// Cancel ends the call's context; Begin sets it.
	Cancel context.CancelCauseFunc
	// Trace is that of the call, for records; it may be nil.
	Trace *requests.Trace

	session *Session
	key     string // that of the client's id
}

// Why sessions end, beside the end of their connection.
var (
	errIdle    = fmt.Errorf("%w: its session was idle", requests.ErrGivenUp)
	errDeleted = fmt.Errorf("%w: it ended its session", requests.ErrGivenUp)
	errClosing = &upstream.Error{Reason: registry.FailExited, Message: "The dispatcher is shutting down."}
)

// Conn gives the session's own connection.
func (s *Session) Conn(context.Context) (upstream.Conn, func(), error) {
	return s.conn, func() {}, nil
}

// Done is closed when the session has ended.
func (s *Session) Done() <-chan struct{} { return s.ctx.Done() }

// Info is what the server said of itself on the session's connection.
func (s *Session) Info() upstream.Info { return s.conn.Info() }

// Notify passes a notification of the client on.
func (s *Session) Notify(method string, params []byte) {
	if err := s.conn.Notify(s.ctx, method, params); err != nil {
		s.all.Log.Debug("notification not passed on", "method", method, "err", err)
	}
}

// Enter counts one open request or stream, and Leave ends it. A session without any ends after a while.
func (s *Session) Enter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.uses++; s.uses == 1 {
		s.idle.Stop()
	}
}

// Leave is the other half of Enter.
func (s *Session) Leave() {
	idle := time.Duration(s.all.Pipeline.Limits().SessionIdleSeconds) * time.Second
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.uses--; s.uses == 0 && s.ctx.Err() == nil {
		s.idle.Reset(idle)
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
	s.mu.Unlock()
	if ended {
		return
	}
	s.all.remove(s.ID)
	s.closeStreams()
	s.forget()
	s.all.Metrics.SessionClosed()
	s.all.Log.Debug("session ended", "why", cause, "address", s.address)
}

// closeStreams keeps nothing for the client any more, and takes nothing either.
func (s *Session) closeStreams() {
	if s.own != nil {
		s.own.Finish(nil)
	}
	s.streams.Close()
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
// Sending Messages to the Server, point 6), so that it lives as long as the session, or until Finish. It says no to an id
// that is in use.
func (s *Session) Begin(id jsonrpc.ID, c *Call) (ctx context.Context, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := id.Key()
	if s.calls[key] != nil {
		return nil, false
	}
	ctx, c.Cancel = context.WithCancelCause(s.ctx)
	c.session, c.key = s, key
	s.calls[key] = c
	return ctx, true
}

// Finish is the other half of a Begin that said yes.
func (s *Session) Finish(c *Call) {
	c.Cancel(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, c.key)
}

// GiveUp cancels the request that the client no longer wants.
func (s *Session) GiveUp(id jsonrpc.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.calls[id.Key()]; c != nil {
		c.Cancel(requests.ErrGivenUp)
	}
}

// deliver sends a message of the server on exactly one stream: that of the call that it belongs to, else the standalone
// one, where it waits if the client has not opened that. The function that it gives says whether the client is there to read
// it; it is nil where the message reaches nobody.
func (s *Session) deliver(owner *Call, message []byte) (live func() bool) {
	if owner != nil && owner.Reply.Event(message) {
		return owner.Reply.Live
	}
	if s.standalone.Push(message) {
		return s.standalone.Carried
	}
	s.all.Metrics.Dropped("no_stream")
	return nil
}

// tell sends a notification of what may have changed on the standalone stream. It says no more when it is said twice.
func (s *Session) tell(message []byte) {
	if !s.standalone.PushOnce(message) {
		s.all.Metrics.Dropped("no_stream")
	}
}

// Primed says whether the session's streams begin with an event without data, by which a client can resume them.
func (s *Session) Primed() bool { return s.Version >= mcp.SincePriming }

// Streams keeps the session's event streams.
func (s *Session) Streams() *stream.Store { return s.streams }

// Standalone gives the connection that carries the session's own stream from now on.
func (s *Session) Standalone() *stream.Carrier { return s.standalone.Attach() }
