// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package outbox is the queue before a server that one goroutine writes to, as over pipes and over WebSocket.
//
// It owns the number of messages that wait, and drops those that nobody waits for any more. It writes nothing itself.
package outbox

import (
	"context"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/link"
)

// length bounds the messages that wait for the server to read them; senders wait beyond that.
const length = 64

// Outbox is the queue of one connection. Exchange, Tell and Flush are those of its link.Wire.
type Outbox struct {
	conn     *link.Conn
	counters *upstream.Counters
	frames   chan Frame
}

// New gives the queue of a connection.
func New(conn *link.Conn, counters *upstream.Counters) *Outbox {
	return &Outbox{conn: conn, counters: counters, frames: make(chan Frame, length)}
}

// Frame is one message on its way, or, without one, the mark behind others that is reached when they have been written.
type Frame struct {
	data []byte
	// call is nil for what wants no answer.
	call    *link.Call
	reached chan struct{}
}

// Marks says whether the frame is a mark. Whoever writes calls Reached once all before it is written.
func (f Frame) Marks() bool { return f.reached != nil }

// Reached says that all before a mark is written.
func (f Frame) Reached() { close(f.reached) }

// Wanted is the message, nil if its caller has given up: a server that reads late must not carry out what was reported as
// timed out.
func (f Frame) Wanted() []byte {
	if f.call != nil && f.call.Gone() {
		return nil
	}
	return f.data
}

// Frames are the messages in their order.
func (o *Outbox) Frames() <-chan Frame { return o.frames }

// Exchange queues a request as it is to be written.
func (o *Outbox) Exchange(ctx context.Context, p *link.Call, data []byte) error {
	if err := o.send(ctx, Frame{data: data, call: p}); err != nil {
		return err
	}
	p.MarkSent()
	return nil
}

// Tell queues what wants no answer.
func (o *Outbox) Tell(ctx context.Context, data []byte) error { return o.send(ctx, Frame{data: data}) }

// Mark puts a mark behind all that is queued, and gives what is closed when it is reached.
func (o *Outbox) Mark(ctx context.Context) (reached <-chan struct{}, err error) {
	f := Frame{reached: make(chan struct{})}
	return f.reached, o.send(ctx, f)
}

// Await waits until a mark is reached.
func (o *Outbox) Await(ctx context.Context, reached <-chan struct{}) error {
	select {
	case <-reached:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-o.conn.Done():
		return o.conn.Closed()
	}
}

// Flush waits until what is queued is written.
func (o *Outbox) Flush(ctx context.Context) error {
	reached, err := o.Mark(ctx)
	if err != nil {
		return err
	}
	return o.Await(ctx, reached)
}

// send waits, and counts that, while the server is behind.
func (o *Outbox) send(ctx context.Context, f Frame) error {
	select {
	case o.frames <- f:
		return nil
	default:
	}
	o.counters.Waiting.Add(1)
	defer o.counters.Waiting.Add(-1)
	select {
	case o.frames <- f:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-o.conn.Done():
		return o.conn.Closed()
	}
}
