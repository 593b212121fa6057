// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package response

import (
	"context"
	"net/http"
	"sync"
	"time"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

const (
	// maxQueued bounds what waits for a slow client on one stream, in messages and bytes.
	maxQueued      = 256
	maxQueuedBytes = 4 << 20
	// keepAliveEvery is how often a silent stream gets a comment, so that nothing on the way takes it for dead.
	keepAliveEvery = 15 * time.Second
	// WriteTimeout bounds one write to a client.
	WriteTimeout = 30 * time.Second
)

var keepAlive = []byte(": keep-alive\n\n")

// Stream is an event stream to a client (HTML, Server-sent events): a queue that anybody fills without blocking, and one
// goroutine that writes it.
type Stream struct {
	mu     sync.Mutex
	queue  [][]byte
	bytes  int
	closed bool // nothing more is taken
	wake   chan struct{}
}

// NewStream gives an empty stream.
func NewStream() *Stream { return &Stream{wake: make(chan struct{}, 1)} }

// Push queues one message. It says no when the stream has ended or its client is too slow.
func (s *Stream) Push(message []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.queue) >= maxQueued || s.bytes+len(message) > maxQueuedBytes {
		return false
	}
	s.add(message)
	return true
}

// Finish ends the stream, after one last message where there is one: an answer is never dropped.
func (s *Stream) Finish(last []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last != nil && !s.closed {
		s.add(last)
	}
	s.closed = true
	s.signal()
}

func (s *Stream) add(message []byte) {
	s.queue = append(s.queue, message)
	s.bytes += len(message)
	s.signal()
}

func (s *Stream) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// take gives what is queued, and whether the stream ends after it.
func (s *Stream) take() (messages [][]byte, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	messages, s.queue, s.bytes = s.queue, nil, 0
	return messages, s.closed
}

// Run writes the stream until it is finished, ctx ends, or the client has gone.
func (s *Stream) Run(ctx context.Context, w http.ResponseWriter) {
	defer s.Finish(nil)
	out := newEventWriter(w)
	if out.flush() != nil {
		return
	}
	beat := time.NewTicker(keepAliveEvery)
	defer beat.Stop()
	for {
		messages, last := s.take()
		if out.events(messages) != nil || last {
			return
		}
		select {
		case <-s.wake:
		case <-beat.C:
			if out.raw(keepAlive) != nil || out.flush() != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// eventWriter frames messages as events.
type eventWriter struct {
	w          http.ResponseWriter
	controller *http.ResponseController
	buf        []byte
}

// newEventWriter writes the headers of an event stream.
func newEventWriter(w http.ResponseWriter) *eventWriter {
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-cache, no-transform")
	header.Set("X-Accel-Buffering", "no") // nginx and its kin would hold events back
	w.WriteHeader(http.StatusOK)
	return &eventWriter{w: w, controller: http.NewResponseController(w)}
}

func (e *eventWriter) events(messages [][]byte) error {
	if len(messages) == 0 {
		return nil
	}
	for _, m := range messages {
		// Clients skip events that are not named, so the default name is spelt out. Line breaks can only be white space
		// between tokens, and would end the data line.
		e.buf = append(e.buf[:0], "event: message\ndata: "...)
		e.buf = jsonrpc.AppendCompactLines(e.buf, m)
		e.buf = append(e.buf, "\n\n"...)
		if err := e.raw(e.buf); err != nil {
			return err
		}
	}
	return e.flush()
}

func (e *eventWriter) raw(data []byte) error {
	_ = e.controller.SetWriteDeadline(time.Now().Add(WriteTimeout)) // a recorder in a test has none
	_, err := e.w.Write(data)
	return err
}

func (e *eventWriter) flush() error { return e.controller.Flush() }
