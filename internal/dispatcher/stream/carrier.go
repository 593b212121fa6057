// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"
)

const (
	// KeepAliveEvery is how often a silent stream gets a comment, so that nothing on the way takes it for dead.
	KeepAliveEvery = 15 * time.Second
	// WriteTimeout bounds one write to a client.
	WriteTimeout = 30 * time.Second
	// maxConnection is after how long a connection that carries a primed stream is closed: whatever stands between us and
	// the client might cut it soon without a word. The client resumes the stream after retryAfter.
	maxConnection = 15 * time.Minute
	// retryAfter is how long a client is asked to wait before it resumes a primed stream.
	retryAfter = time.Second
)

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

// Sink is where a connection writes messages.
type Sink interface {
	// Begin is called once, before anything else.
	Begin() error
	// Send writes messages; the first one has this number in its stream.
	Send(first int, messages [][]byte) error
	// Beat shows that the connection lives while there is nothing to say.
	Beat() error
}

// Run writes the stream as events until it is finished, ctx ends, the client has gone, or another connection carries it.
func (c *Carrier) Run(ctx context.Context, w http.ResponseWriter) {
	c.RunTo(ctx, newEventWriter(c, w))
}

// RunTo is Run for a connection that is no event stream.
func (c *Carrier) RunTo(ctx context.Context, out Sink) {
	defer c.release()
	if out.Begin() != nil {
		return
	}
	beat := time.NewTicker(KeepAliveEvery)
	defer beat.Stop()
	var old <-chan time.Time
	if c.stream.prime {
		age := time.NewTimer(maxConnection)
		defer age.Stop()
		old = age.C
	}
	for {
		messages, first, last := c.take()
		if len(messages) > 0 && out.Send(first, messages) != nil {
			return
		}
		c.wrote(len(messages))
		if last {
			return
		}
		select {
		case <-c.wake:
		case <-beat.C:
			if out.Beat() != nil {
				return
			}
		case <-old:
			if events, ok := out.(*eventWriter); ok {
				_ = events.raw(retryLine) // the connection ends, whether or not the client hears when to come back
			}
			return
		case <-ctx.Done():
			return
		}
	}
}
