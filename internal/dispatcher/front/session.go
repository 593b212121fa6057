// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package front

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
	"toolgate.dev/toolgate/internal/rules"
)

const (
	// maxBacklog bounds what waits for a session's stream to be opened, in messages and bytes; the oldest go first.
	maxBacklog      = 64
	maxBacklogBytes = 1 << 20
)

// client is what a client said of itself when its session began.
type client struct {
	claimed      rules.ClientInfo
	label        string
	capabilities []byte // stripped of what policy denies
}

// session is one legacy session: a client, and the connection that serves it.
type session struct {
	id      string
	h       *Handler
	address string
	version string // of the protocol, as agreed with the client
	client  client
	conn    upstream.Conn
	ctx     context.Context
	cancel  context.CancelCauseFunc
	// forget gives back what the session holds: its connection and its place among the caller's sessions.
	forget func()

	mu         sync.Mutex
	uses       int // requests and streams that are open
	idle       *time.Timer
	calls      map[string]*call // by the key of the client's id
	asks       map[string]*ask  // by the key of our id
	asked      int64
	standalone *response.Stream
	backlog    [][]byte
	held       int // bytes of backlog
}

// call is one request of the client that is under way.
type call struct {
	session *session
	reply   *response.Response
	cancel  context.CancelCauseFunc
	// hold stops the call's time-out while the client is asked something.
	hold func() (release func())
}

// Why sessions end, beside the end of their connection.
var (
	errIdle    = fmt.Errorf("%w: its session was idle", pipeline.ErrGivenUp)
	errDeleted = fmt.Errorf("%w: it ended its session", pipeline.ErrGivenUp)
	errClosing = &upstream.Error{Reason: registry.FailExited, Message: "The dispatcher is shutting down."}
)

// use counts one open request or stream; the function that it gives ends it. A session without any ends after a while.
func (s *session) use() (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uses++
	s.idle.Stop()
	return func() {
		idle := time.Duration(s.h.Pipeline.Limits().SessionIdleSeconds) * time.Second
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.uses--; s.uses == 0 && s.ctx.Err() == nil {
			s.idle.Reset(idle)
		}
	}
}

// expire ends the session unless it came into use while the timer fired.
func (s *session) expire() {
	s.mu.Lock()
	busy := s.uses > 0
	s.mu.Unlock()
	if !busy {
		s.end(errIdle)
	}
}

// end closes the session once: its id is unknown from now on, its streams end, its connection is given back. What is under
// way ends with the cause.
func (s *session) end(cause error) {
	s.mu.Lock()
	ended := s.ctx.Err() != nil
	s.cancel(cause)
	s.idle.Stop()
	standalone := s.standalone
	s.mu.Unlock()
	if ended {
		return
	}
	s.h.sessions.remove(s.id)
	if standalone != nil {
		standalone.Finish(nil)
	}
	s.forget()
	s.h.Metrics.SessionClosed()
	s.h.Log.Debug("session ended", "why", cause, "address", s.address)
}

// watch ends the session with its connection: the client then gets 404 and begins another.
func (s *session) watch() {
	select {
	case <-s.conn.Done():
		s.end(upstream.AsError(cmp.Or(s.conn.Err(), upstream.ErrClosed), registry.FailExited))
	case <-s.ctx.Done():
	}
}

// begin registers a request of the client. It says no to an id that is in use.
func (s *session) begin(id jsonrpc.ID, c *call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := id.Key()
	if s.calls[key] != nil {
		return false
	}
	s.calls[key] = c
	return true
}

func (s *session) finish(id jsonrpc.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, id.Key())
}

// giveUp cancels the request that the client no longer wants.
func (s *session) giveUp(id jsonrpc.ID, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.calls[id.Key()]; c != nil {
		c.cancel(cause)
	}
}

// deliver sends a message of the server on exactly one stream: that of the call that it belongs to, else the standalone
// one, else it waits for that to be opened. It says whether the message is on a stream.
func (s *session) deliver(owner *call, message []byte) bool {
	if owner != nil && owner.reply.Event(message) {
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
func (s *session) hold(message []byte) {
	if slices.ContainsFunc(s.backlog, func(held []byte) bool { return bytes.Equal(held, message) }) {
		return // list_changed says no more when it is said twice; requests differ in their ids
	}
	s.backlog = append(s.backlog, message)
	s.held += len(message)
	for len(s.backlog) > maxBacklog || s.held > maxBacklogBytes {
		s.held -= len(s.backlog[0])
		s.backlog = s.backlog[1:]
		s.h.Metrics.Dropped("no_stream")
	}
}

// serveStandalone writes the session's own stream until it ends. A newer one takes the older one's place: the client that
// opens it knows better than we do whether the older one still reaches it.
func (s *session) serveStandalone(w http.ResponseWriter, r *http.Request) {
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
