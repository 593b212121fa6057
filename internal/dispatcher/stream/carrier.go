// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

const (
	// KeepAliveEvery is how often a silent stream gets a comment, so that nothing on the way takes it for dead.
	KeepAliveEvery = 15 * time.Second
	// WriteTimeout bounds one write to a client.
	WriteTimeout = 30 * time.Second
	// MaxConnection is after how long a connection that carries a primed stream is closed: whatever stands between us and
	// the client might cut it soon without a word. The client resumes the stream after Retry.
	MaxConnection = 15 * time.Minute
	// Retry is how long a client is asked to wait before it resumes a primed stream.
	Retry = time.Second
)

var keepAlive = []byte(": keep-alive\n\n")

// Carrier is one connection on its way to carry a stream. Run is to be called once.
type Carrier struct {
	stream *Stream
	prime  string // id of the event that primes the client; empty for none
	wake   chan struct{}
}

// Attach gives the connection that carries the stream from now on, from what no connection has carried yet. One that did
// so far is ended: the client that opens another knows better than we do whether the older one still reaches it.
func (s *Stream) Attach() *Carrier {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	c := s.attach()
	if s.prime {
		s.primed++
		c.prime = s.id(s.next-1) + "-" + strconv.Itoa(s.primed) // no two events of a session have one id
	}
	return c
}

func (s *Stream) attach() *Carrier {
	s.signal()
	s.carrier = &Carrier{stream: s, wake: make(chan struct{}, 1)}
	if i := slices.Index(s.store.away, s); i >= 0 {
		s.store.away = slices.Delete(s.store.away, i, i+1)
	}
	return s.carrier
}

func (c *Carrier) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// take gives the messages that wait, with the number of the first, and whether the connection ends after them.
func (c *Carrier) take() (messages [][]byte, first int, last bool) {
	s := c.stream
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	if s.carrier != c {
		return nil, 0, true
	}
	for _, e := range s.unwritten() {
		messages = append(messages, e.message)
	}
	s.taken = s.last
	return messages, s.next, s.finished
}

// wrote notes how many of the messages that waited have been written.
func (c *Carrier) wrote(n int) {
	s := c.stream
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	if n > 0 && s.carrier == c {
		s.store.wrote(s, n)
	}
}

// release leaves the stream without a connection. One that is not kept ends with it.
func (c *Carrier) release() {
	s := c.stream
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	if s.carrier != c {
		return
	}
	s.carrier = nil
	if !s.store.keeps {
		s.finished = true
	}
	s.store.settle(s)
}

// Run writes the stream until it is finished, ctx ends, the client has gone, or another connection carries it.
func (c *Carrier) Run(ctx context.Context, w http.ResponseWriter) {
	defer c.release()
	out := newEventWriter(w)
	if out.begin(c) != nil {
		return
	}
	beat := time.NewTicker(KeepAliveEvery)
	defer beat.Stop()
	var old <-chan time.Time
	if c.stream.prime {
		age := time.NewTimer(MaxConnection)
		defer age.Stop()
		old = age.C
	}
	for {
		messages, first, last := c.take()
		if out.events(c.stream, first, messages) != nil {
			return
		}
		c.wrote(len(messages))
		if last {
			return
		}
		select {
		case <-c.wake:
		case <-beat.C:
			if out.raw(keepAlive) != nil || out.flush() != nil {
				return
			}
		case <-old:
			_ = out.raw(retryLine) // the connection ends, whether or not the client hears when to come back
			return
		case <-ctx.Done():
			return
		}
	}
}

// retryLine tells when to come back.
var retryLine = []byte("retry: " + strconv.FormatInt(Retry.Milliseconds(), 10) + "\n\n")

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

// begin primes the client where the stream is primed and the client has not seen an event of it yet.
func (e *eventWriter) begin(c *Carrier) error {
	if c.prime != "" {
		if err := e.raw([]byte("id: " + c.prime + "\n" + string(retryLine[:len(retryLine)-1]) + "data:\n\n")); err != nil {
			return err
		}
	}
	return e.flush()
}

func (e *eventWriter) events(s *Stream, first int, messages [][]byte) error {
	if len(messages) == 0 {
		return nil
	}
	for i, m := range messages {
		// Clients skip events that are not named, so the default name is spelt out. Line breaks can only be white space
		// between tokens, and would end the data line.
		e.buf = append(e.buf[:0], "event: message\n"...)
		if s.name != "" {
			e.buf = append(append(append(e.buf, "id: "...), s.id(first+i)...), '\n')
		}
		e.buf = append(e.buf, "data: "...)
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
