// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stream keeps the event streams of clients (HTML, Server-sent events): what waits for a slow client, what is kept
// for one whose connection broke, the framing, and the comments that keep a silent connection alive.
//
// It knows no session, no message and no policy, and never imports Kubernetes, the API, or the packages that talk to
// servers.
package stream

import (
	"bytes"
	"slices"
	"strconv"
)

// What waits for a client on one stream, in messages and bytes: more while a connection carries the stream than while none
// does. What is over it is refused, but never an answer.
const (
	MaxQueued      = 256
	maxQueuedBytes = 4 << 20
	maxAway        = 64
	maxAwayBytes   = 1 << 20
	// Answers are taken until this much waits, one of any size among it.
	maxAnswers     = 1024
	maxAnswerBytes = 8 << 20
)

// Stream is one event stream to a client: a queue that anybody fills without blocking, and one connection at a time that
// carries it. It is safe for concurrent use.
type Stream struct {
	store *Store
	name  string
	prime bool
	// greeting is written before all else on a connection.
	greeting []byte

	// All below is guarded by store.mu.
	events   []*event // those that are kept, by number without gaps
	next     int      // number of the next event to be written
	taken    int      // number of the last event that a connection has begun to write
	last     int      // number of the newest event
	waiting  int      // bytes of what is not written yet
	finished bool     // nothing more is taken
	primed   int      // how often a client was primed
	carrier  *Carrier // nil while no connection carries the stream
}

// event is one message of a stream. The first has number 1.
type event struct {
	stream  *Stream
	number  int
	message []byte
	listed  bool // among those that were written
	gone    bool // no longer kept
}

// New gives a stream that keeps nothing: it ends with the one connection that carries it.
func New() *Stream { return (&Store{}).open("", false) }

// NewGreeting is New with an event that precedes all messages (HTTP+SSE of 2024-11-05 begins with one).
func NewGreeting(name, data string) *Stream {
	s := New()
	s.greeting = []byte("event: " + name + "\ndata: " + data + "\n\n")
	return s
}

// Push queues one message. It says no when the stream has ended or its client is too slow, or away for too long.
func (s *Stream) Push(message []byte) bool {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	return s.push(message)
}

// Answer queues a message that is never dropped for want of room. It says no when so much waits that the client surely does
// not read: what carries the stream is then to be given up.
func (s *Stream) Answer(message []byte) bool {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	if s.finished || len(s.unwritten()) >= maxAnswers || s.waiting > maxAnswerBytes {
		return false
	}
	s.add(message)
	return true
}

// PushOnce is Push for a message that says no more when it is said twice before a connection has begun to write it: from then
// on the client may have read it, and must hear of what comes later.
func (s *Stream) PushOnce(message []byte) bool {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	untaken := s.events[len(s.events)-(s.last-max(s.taken, s.next-1)):]
	if slices.ContainsFunc(untaken, func(e *event) bool { return bytes.Equal(e.message, message) }) {
		return true
	}
	return s.push(message)
}

func (s *Stream) push(message []byte) bool {
	most, mostBytes := MaxQueued, maxQueuedBytes
	if s.carrier == nil {
		most, mostBytes = maxAway, maxAwayBytes
	}
	if s.finished || len(s.unwritten()) >= most || s.waiting+len(message) > mostBytes {
		return false
	}
	s.add(message)
	return true
}

// Finish ends the stream, after one last message where there is one: an answer is never dropped.
func (s *Stream) Finish(last []byte) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	if s.finished {
		return
	}
	if last != nil {
		s.add(last)
	}
	s.finish()
}

func (s *Stream) finish() {
	s.finished = true
	s.signal()
	s.store.settle(s)
}

// Carried says whether a connection carries the stream at this moment.
func (s *Stream) Carried() bool {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	return s.carrier != nil
}

func (s *Stream) add(message []byte) {
	s.last++
	s.events = append(s.events, &event{stream: s, number: s.last, message: message})
	s.waiting += len(message)
	s.store.hold(len(message))
	s.signal()
}

func (s *Stream) signal() {
	if s.carrier != nil {
		s.carrier.signal()
	}
}

// unwritten are the events that no connection has carried yet.
func (s *Stream) unwritten() []*event { return s.events[len(s.events)-(s.last-s.next+1):] }

// drop forgets the oldest event, which is written or belongs to a stream that is forgotten.
func (s *Stream) drop() {
	oldest := s.events[0]
	s.events[0] = nil
	s.events = s.events[1:]
	oldest.gone = true
	s.store.hold(-len(oldest.message))
	oldest.message = nil
}

// id names an event: its stream, and its number there.
func (s *Stream) id(number int) string { return s.name + "-" + strconv.Itoa(number) }
