// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"net/http"
	"sync"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/edge"
)

// reply is the HTTP response to one request: plain JSON, or an event stream from the first thing on that precedes the
// answer.
type reply struct {
	w       http.ResponseWriter
	ctx     context.Context // of the HTTP request: ends when the client has gone
	accepts edge.Accepts

	mu      sync.Mutex
	events  *stream
	written chan struct{} // closed when the stream's writer has ended
	ended   bool
}

// event sends a message ahead of the answer. It says no when the client takes no event stream, or cannot keep up.
func (r *reply) event(message []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || !r.accepts.EventStream {
		return false
	}
	return r.open().push(message)
}

// open gives the event stream, and starts it where there is none yet.
func (r *reply) open() *stream {
	if r.events == nil {
		r.events = newStream()
		r.written = make(chan struct{})
		go func() {
			defer close(r.written)
			r.events.run(r.ctx, r.w)
		}()
	}
	return r.events
}

// patience opens the event stream when the answer takes long, so that its comments keep the connection alive. The function
// that it gives stops it.
func (r *reply) patience() (stop func() bool) {
	return time.AfterFunc(keepAliveEvery, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.ended && r.accepts.EventStream {
			r.open()
		}
	}).Stop
}

// answer ends the response with a message. status counts where no stream was opened; any but 200 goes out as plain JSON.
func (r *reply) answer(status int, message []byte) {
	events, written := r.close(status == http.StatusOK && !r.accepts.JSON)
	if events == nil {
		writeJSON(r.w, status, message)
		return
	}
	events.finish(message)
	<-written
}

// withhold ends the response without an answer: the client gave the request up and expects none.
func (r *reply) withhold() {
	events, written := r.close(true)
	if events == nil {
		r.w.WriteHeader(http.StatusAccepted)
		return
	}
	events.finish(nil)
	<-written
}

// close takes no more events and gives the event stream, nil where there is none. wanted opens one if the client takes it.
func (r *reply) close(wanted bool) (*stream, chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if wanted && r.accepts.EventStream {
		r.open()
	}
	r.ended = true
	return r.events, r.written
}
