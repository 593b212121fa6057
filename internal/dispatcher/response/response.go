// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package response writes HTTP responses to clients of MCP: plain JSON, or an event stream from the first thing on that
// precedes the answer.
//
// It owns the choice between the two; the streams themselves are kept by the package stream. It knows no session and no
// policy, and never imports Kubernetes, the API, or the packages that talk to servers.
package response

import (
	"context"
	"net/http"
	"sync"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/edge"
	"toolgate.dev/toolgate/internal/dispatcher/stream"
)

// Response is the HTTP response to one request. It is safe for concurrent use.
type Response struct {
	// Accepts is what the client takes.
	Accepts edge.Accepts

	w   http.ResponseWriter
	ctx context.Context // of the HTTP request: ends when the client has gone

	mu      sync.Mutex
	store   *stream.Store // keeps the stream, if there will be one; nil where nothing is kept
	primed  bool
	patient time.Duration
	events  *stream.Stream
	written chan struct{} // closed when the stream's writer has ended
	ended   bool
}

// To makes the zero value the response to a request.
func (r *Response) To(w http.ResponseWriter, request *http.Request) {
	r.Accepts, r.w, r.ctx, r.patient = edge.Accept(request), w, request.Context(), stream.KeepAliveEvery
}

// announceAfter is how long a primed answer may take before its stream is opened: a connection that breaks later than that
// loses nothing.
const announceAfter = time.Second

// Resumable opens the event stream, if there will be one, in a store from which a client whose connection breaks can take it
// up again. A primed one is opened soon, so that the client knows how.
func (r *Response) Resumable(store *stream.Store, primed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.store, r.primed = store, primed
	if primed {
		r.patient = announceAfter
	}
}

// Header is what the response's headers will be, until something is sent.
func (r *Response) Header() http.Header { return r.w.Header() }

// Accepted answers what wants no answer (MCP, Sending Messages to the Server, point 4).
func (r *Response) Accepted() { r.w.WriteHeader(http.StatusAccepted) }

// jsonType is shared by all responses: net/http copies headers before it changes them.
var jsonType = []string{"application/json"}

// WriteJSON writes one JSON text as the whole response.
func WriteJSON(w http.ResponseWriter, status int, body []byte) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(stream.WriteTimeout)) // a recorder in a test has none
	w.Header()["Content-Type"] = jsonType
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone needs no answer
}

// Event sends a message ahead of the answer. It says no when the client takes no event stream, or cannot keep up.
func (r *Response) Event(message []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.may() && r.start().Push(message)
}

// EventOnce is Event for a message that says no more when it is said twice before the client has read it.
func (r *Response) EventOnce(message []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.may() && r.start().PushOnce(message)
}

// Streams says whether events can precede the answer.
func (r *Response) Streams() bool { return r.Accepts.EventStream }

// Live says whether a connection carries the response at this moment, as far as is known.
func (r *Response) Live() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events != nil && r.events.Carried()
}

// may says whether events may be sent: to a client that has gone before it heard of a stream there is no way.
func (r *Response) may() bool {
	return !r.ended && r.Accepts.EventStream && (r.events != nil || r.ctx.Err() == nil)
}

// start gives the event stream, and begins it where there is none yet.
func (r *Response) start() *stream.Stream {
	if r.events == nil {
		if r.events = stream.New(); r.store != nil {
			r.events = r.store.Open(r.primed)
		}
		r.written = make(chan struct{})
		carrier := r.events.Attach()
		go func() {
			defer close(r.written)
			carrier.Run(r.ctx, r.w)
		}()
	}
	return r.events
}

// Patience opens the event stream when the answer takes long, so that its comments keep the connection alive. The timer
// that it gives is to be stopped.
func (r *Response) Patience() *time.Timer { return time.AfterFunc(r.patient, r.announce) }

func (r *Response) announce() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.may() {
		r.start()
	}
}

// Answer ends the response with a message. status counts where no stream was opened; any but 200 goes out as plain JSON. It
// reports whether the message is kept, so that its memory may not be used again.
func (r *Response) Answer(status int, message []byte) (kept bool) {
	events, written := r.close(status == http.StatusOK && !r.Accepts.JSON)
	if events == nil {
		WriteJSON(r.w, status, message)
		return false
	}
	events.Finish(message)
	<-written
	return true
}

// Withhold ends the response without an answer: the client gave the request up and expects none.
func (r *Response) Withhold() {
	r.mu.Lock()
	r.store = nil // nothing is there to be resumed
	r.mu.Unlock()
	events, written := r.close(true)
	if events == nil {
		r.w.WriteHeader(http.StatusAccepted)
		return
	}
	events.Finish(nil)
	<-written
}

// close takes no more events and gives the event stream, nil where there is none. wanted opens one if the client takes it.
func (r *Response) close(wanted bool) (*stream.Stream, chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if wanted && r.Accepts.EventStream {
		r.start()
	}
	r.ended = true
	return r.events, r.written
}
