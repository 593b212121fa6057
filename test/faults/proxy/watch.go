// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Watches says how the watches of a manager are bent. It is asked for each watch, from many goroutines.
type Watches interface {
	// Stream is asked when a watch begins; nil passes its events on as they come.
	Stream(Call) Stream
}

// Stream bends one watch. The initial events of a watch that brings them are never held back: a client that has not seen them
// all waits.
type Stream interface {
	// Next says what becomes of an event.
	Next(Event) Fate
}

// Event is what a plan sees of an event.
type Event struct {
	// Type is ADDED, MODIFIED, DELETED or BOOKMARK.
	Type            string
	Namespace, Name string
}

// Fate is what becomes of an event. The zero value passes it on.
type Fate struct {
	// Lag holds the event back, and all after it.
	Lag time.Duration
	// Lost drops the event. A real server loses none, so the watch expires so much later with 410 Gone, and the client has to
	// list anew: events between are coalesced into what it then finds. 0 loses nothing.
	Lost time.Duration
	// Expire ends the watch with 410 Gone in place of the event.
	Expire bool
}

// frame is an event as it is sent.
type frame struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`
}

// initialEnd is the annotation of the bookmark after which a watch is live (KEP-3157).
const initialEnd = "k8s.io/initial-events-end"

// bent is a watch on its way to the client.
type bent struct {
	from io.Closer

	mu    sync.Mutex
	to    io.Writer
	ended bool
	timer *time.Timer
}

// bend passes a watch on as its stream says.
func (p *Proxy) bend(to io.Writer, from io.ReadCloser, call Call) {
	stream := p.options.Watches.Stream(call)
	b := &bent{from: from, to: to}
	defer b.end(false)
	decoder := json.NewDecoder(from)
	live := !call.initial
	for {
		var f frame
		if err := decoder.Decode(&f); err != nil {
			return
		}
		var o metav1.PartialObjectMetadata
		if err := json.Unmarshal(f.Object, &o); err != nil {
			return
		}
		fate := Fate{}
		if stream != nil && live {
			fate = stream.Next(Event{Type: f.Type, Namespace: o.Namespace, Name: o.Name})
		}
		if f.Type == "BOOKMARK" && o.Annotations[initialEnd] == "true" {
			live = true
		}
		if !p.hold(fate.Lag) || !b.pass(f, fate) {
			return
		}
	}
}

// hold waits; false when the proxy was cut off meanwhile.
func (p *Proxy) hold(lag time.Duration) bool {
	if lag == 0 {
		return true
	}
	timer := time.NewTimer(lag)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.ctx.Done():
		return false
	}
}

// pass sends one event as its fate says, and says whether the watch goes on.
func (b *bent) pass(f frame, fate Fate) bool {
	if fate.Expire {
		b.end(true)
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.ended:
		return false
	case fate.Lost > 0:
		if b.timer == nil {
			b.timer = time.AfterFunc(fate.Lost, func() { b.end(true) })
		}
		return true
	case b.timer != nil:
		// Nothing comes through any more between a loss and the end: a client never sees a gap and then what is after it.
		return true
	}
	line, err := json.Marshal(f)
	if err == nil {
		_, err = b.to.Write(append(line, '\n'))
	}
	return err == nil
}

// end ends the watch, once, with 410 Gone if so wanted.
func (b *bent) end(expired bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return
	}
	b.ended = true
	if b.timer != nil {
		b.timer.Stop()
	}
	if expired {
		body, _ := json.Marshal(metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
			Code: http.StatusGone, Reason: metav1.StatusReasonExpired, Message: "fault injected: too old resource version",
		})
		_, _ = fmt.Fprintf(b.to, "{\"type\":\"ERROR\",\"object\":%s}\n", body)
	}
	_ = b.from.Close()
}
