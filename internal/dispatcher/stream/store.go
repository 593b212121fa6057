// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// What one session keeps, in messages and bytes, for a client whose connection may have broken. What was written goes first,
// the oldest before; then the streams that ended while the client was away. The newest message is kept whatever its size.
const (
	maxKept      = 256
	maxKeptBytes = 4 << 20
)

// maxTotalBytes bounds what all sessions keep together; over it, the newest message is no exception.
const maxTotalBytes = 64 << 20

// Total is what all stores of a process keep, in bytes.
type Total struct{ bytes atomic.Int64 }

// ErrUnknown says that an event id names nothing that is kept.
var ErrUnknown = errors.New("no such event is kept")

// Store holds the streams of one session by name. It is safe for concurrent use.
type Store struct {
	keeps bool
	total *Total
	lost  func() // called for a message that was given up before any connection carried it

	mu      sync.Mutex
	streams map[string]*Stream
	opened  int
	written []*event  // in the order in which they were
	away    []*Stream // ended while no connection carried them, with events that nobody has read
	count   int
	bytes   int
}

// NewStore gives the store of a session. lost is called for each message that is given up unread; it must not block.
func NewStore(total *Total, lost func()) *Store {
	return &Store{keeps: true, total: total, lost: lost, streams: map[string]*Stream{}}
}

// Open begins a stream. A primed one begins with an event without data, so that the client knows where to resume from
// (MCP 2025-11-25, Sending Messages to the Server, point 6).
func (t *Store) Open(primed bool) *Stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.open(strconv.Itoa(t.opened), primed)
	t.opened++
	if t.keeps {
		t.streams[s.name] = s
	}
	return s
}

func (t *Store) open(name string, primed bool) *Stream {
	return &Stream{store: t, name: name, prime: primed, next: 1}
}

// Resume gives the connection that carries a stream on after an event of which the client sent the id. The error is
// ErrUnknown where what follows that event is not there any more, or never was.
func (t *Store) Resume(lastID string) (*Carrier, error) {
	name, rest, _ := strings.Cut(lastID, "-")
	text, _, _ := strings.Cut(rest, "-") // the id of a priming event goes on
	number, err := strconv.Atoi(text)
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.streams[name]
	if err != nil || s == nil || number < 0 || number > s.taken {
		return nil, ErrUnknown
	}
	if number >= s.next { // it arrived before its connection had noted that it was written
		t.wrote(s, number-s.next+1)
	}
	if first := s.last - len(s.events) + 1; number+1 < first {
		return nil, ErrUnknown
	}
	for _, e := range s.unwrittenFrom(number + 1) {
		s.waiting += len(e.message)
	}
	s.next = number + 1
	return s.attach(), nil
}

// unwrittenFrom are the events from a number on that a connection has carried already.
func (s *Stream) unwrittenFrom(number int) []*event {
	first := s.last - len(s.events) + 1
	return s.events[number-first : s.next-first]
}

// Close keeps nothing from now on: nobody can resume a stream of this store any more. Those that a connection carries end
// by themselves, so that the answers to what was under way arrive.
func (t *Store) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.keeps = false
	for _, s := range t.streams {
		if s.carrier == nil {
			s.finished = true
			t.forget(s)
		}
	}
}

// hold counts what is kept, less for a negative size.
func (t *Store) hold(size int) {
	if size < 0 {
		t.count--
	} else {
		t.count++
	}
	t.bytes += size
	if t.total != nil {
		t.total.bytes.Add(int64(size))
	}
}

// wrote notes the next n events of a stream, which its connection has carried.
func (t *Store) wrote(s *Stream, n int) {
	for _, e := range s.unwritten()[:n] {
		s.next++
		s.waiting -= len(e.message)
		switch {
		case !t.keeps:
			s.drop()
		case !e.listed:
			e.listed = true
			t.written = append(t.written, e)
		}
	}
	t.trim()
}

// settle looks at a stream that has ended, or whose connection has.
func (t *Store) settle(s *Stream) {
	if s.carrier != nil || !s.finished {
		t.trim()
		return
	}
	if !t.keeps || len(s.events) == 0 {
		t.forget(s)
		return
	}
	if s.next <= s.last && !slices.Contains(t.away, s) {
		t.away = append(t.away, s)
	}
	t.trim()
}

// trim keeps the bounds.
func (t *Store) trim() {
	for t.over() && len(t.written) > 0 && (len(t.written) > 1 || t.overall()) {
		e := t.written[0]
		t.written, e.listed = t.written[1:], false
		if e.gone || e.number >= e.stream.next {
			continue // it was forgotten, or is about to be written again
		}
		e.stream.drop()
		if e.stream.finished && e.stream.carrier == nil && len(e.stream.events) == 0 {
			t.forget(e.stream)
		}
	}
	for t.over() && len(t.away) > 0 && (len(t.away) > 1 || t.overall()) {
		s := t.away[0]
		t.away = t.away[1:]
		t.forget(s)
	}
}

func (t *Store) over() bool { return t.count > maxKept || t.bytes > maxKeptBytes || t.overall() }

func (t *Store) overall() bool { return t.total != nil && t.total.bytes.Load() > maxTotalBytes }

// forget gives a stream up with all that it keeps.
func (t *Store) forget(s *Stream) {
	if t.lost != nil {
		for range s.unwritten() {
			t.lost()
		}
	}
	for len(s.events) > 0 {
		s.drop()
	}
	s.next, s.waiting = s.last+1, 0
	delete(t.streams, s.name)
}
