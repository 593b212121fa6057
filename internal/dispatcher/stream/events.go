// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"net/http"
	"strconv"
	"time"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

var (
	keepAlive = []byte(": keep-alive\n\n")
	// retryLine tells when to come back.
	retryLine = []byte("retry: " + strconv.FormatInt(retryAfter.Milliseconds(), 10) + "\n\n")
)

// eventWriter frames messages as events.
type eventWriter struct {
	carrier    *Carrier
	w          http.ResponseWriter
	controller *http.ResponseController
	buf        []byte
}

// newEventWriter writes the headers of an event stream.
func newEventWriter(c *Carrier, w http.ResponseWriter) *eventWriter {
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-cache, no-transform")
	header.Set("X-Accel-Buffering", "no") // nginx and its kin would hold events back
	w.WriteHeader(http.StatusOK)
	return &eventWriter{carrier: c, w: w, controller: http.NewResponseController(w)}
}

// Begin primes the client where the stream is primed and the client has not seen an event of it yet.
func (e *eventWriter) Begin() error {
	first := e.carrier.stream.greeting
	if e.carrier.prime != "" {
		first = []byte("id: " + e.carrier.prime + "\n" + string(retryLine[:len(retryLine)-1]) + "data:\n\n")
	}
	if len(first) > 0 {
		if err := e.raw(first); err != nil {
			return err
		}
	}
	return e.flush()
}

// Send writes messages as events.
func (e *eventWriter) Send(first int, messages [][]byte) error {
	s := e.carrier.stream
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

// Beat writes a comment.
func (e *eventWriter) Beat() error {
	if err := e.raw(keepAlive); err != nil {
		return err
	}
	return e.flush()
}

func (e *eventWriter) raw(data []byte) error {
	_ = e.controller.SetWriteDeadline(time.Now().Add(WriteTimeout)) // a recorder in a test has none
	_, err := e.w.Write(data)
	return err
}

func (e *eventWriter) flush() error { return e.controller.Flush() }
