// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package response writes HTTP responses to clients of MCP: plain JSON, or an event stream from the first thing on that
// precedes the answer.
//
// It owns the framing, the keep-alive comments and the bounds of what waits for a slow client. It knows no session and no
// policy, and never imports Kubernetes, the API, or the packages that talk to servers.
package response

import (
	"context"
	"net/http"
	"sync"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/edge"
)

// Response is the HTTP response to one request. It is safe for concurrent use.
type Response struct {
	// Accepts is what the client takes.
	Accepts edge.Accepts

	w   http.ResponseWriter
	ctx context.Context // of the HTTP request: ends when the client has gone

	mu      sync.Mutex
	events  *Stream
	written chan struct{} // closed when the stream's writer has ended
	ended   bool
}

// New gives the response to r.
func New(w http.ResponseWriter, r *http.Request) *Response {
	return &Response{Accepts: edge.Accept(r), w: w, ctx: r.Context()}
}

// Header is what the response's headers will be, until something is sent.
func (r *Response) Header() http.Header { return r.w.Header() }

// Accepted answers what wants no answer (MCP, Sending Messages to the Server, point 4).
func (r *Response) Accepted() { r.w.WriteHeader(http.StatusAccepted) }

// WriteJSON writes one JSON text as the whole response.
func WriteJSON(w http.ResponseWriter, status int, body []byte) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(WriteTimeout)) // a recorder in a test has none
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone needs no answer
}

// Event sends a message ahead of the answer. It says no when the client takes no event stream, or cannot keep up.
func (r *Response) Event(message []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || !r.Accepts.EventStream {
		return false
	}
	return r.open().Push(message)
}

// open gives the event stream, and starts it where there is none yet.
func (r *Response) open() *Stream {
	if r.events == nil {
		r.events = NewStream()
		r.written = make(chan struct{})
		go func() {
			defer close(r.written)
			r.events.Run(r.ctx, r.w)
		}()
	}
	return r.events
}

// Patience opens the event stream when the answer takes long, so that its comments keep the connection alive. The function
// that it gives stops it.
func (r *Response) Patience() (stop func() bool) {
	return time.AfterFunc(keepAliveEvery, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.ended && r.Accepts.EventStream {
			r.open()
		}
	}).Stop
}

// Answer ends the response with a message. status counts where no stream was opened; any but 200 goes out as plain JSON.
func (r *Response) Answer(status int, message []byte) {
	events, written := r.close(status == http.StatusOK && !r.Accepts.JSON)
	if events == nil {
		WriteJSON(r.w, status, message)
		return
	}
	events.Finish(message)
	<-written
}

// Withhold ends the response without an answer: the client gave the request up and expects none.
func (r *Response) Withhold() {
	events, written := r.close(true)
	if events == nil {
		r.w.WriteHeader(http.StatusAccepted)
		return
	}
	events.Finish(nil)
	<-written
}

// close takes no more events and gives the event stream, nil where there is none. wanted opens one if the client takes it.
func (r *Response) close(wanted bool) (*Stream, chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if wanted && r.Accepts.EventStream {
		r.open()
	}
	r.ended = true
	return r.events, r.written
}
