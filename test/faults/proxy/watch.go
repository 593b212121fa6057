// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"encoding/json"
	"fmt"
	"io"
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
	// Drop loses the event. A real server loses none, so a stream that drops has to expire later, or the client would never
	// know.
	Drop bool
	// Expire ends the watch with 410 Gone in place of the event: the client has to list anew.
	Expire bool
}

// frame is an event as it is sent.
type frame struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`
}

// initialEnd is the annotation of the bookmark after which a watch is live (KEP-3157).
const initialEnd = "k8s.io/initial-events-end"

// bend passes a watch on as its stream says.
func (p *Proxy) bend(to io.Writer, from io.Reader, call Call) {
	stream := p.options.Watches.Stream(call)
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
		if !p.pass(to, f, fate) {
			return
		}
	}
}

// pass sends one event as its fate says, and says whether the watch goes on.
func (p *Proxy) pass(to io.Writer, f frame, fate Fate) bool {
	if fate.Lag > 0 {
		timer := time.NewTimer(fate.Lag)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-p.ctx.Done():
			return false
		}
	}
	if fate.Expire {
		status := metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
			Status:   metav1.StatusFailure, Code: 410, Reason: metav1.StatusReasonExpired, Message: "fault injected: too old resource version",
		}
		body, _ := json.Marshal(status)
		_, _ = fmt.Fprintf(to, "{\"type\":\"ERROR\",\"object\":%s}\n", body)
		return false
	}
	if fate.Drop {
		return true
	}
	line, err := json.Marshal(f)
	if err != nil {
		return false
	}
	_, err = to.Write(append(line, '\n'))
	return err == nil
}
