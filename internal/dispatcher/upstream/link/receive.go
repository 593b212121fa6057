// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"regexp"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
	"toolgate.dev/toolgate/internal/registry"
)

// maxAsks bounds the requests of a server that wait for an answer at once.
const maxAsks = 64

// Receive takes one message of the server; on is the call whose stream it came on, nil where streams say nothing. It
// reports whether data was a message. What it keeps of data it copies.
func (c *Conn) Receive(data []byte, on *Call) bool {
	m, err := jsonrpc.Parse(data, jsonrpc.Limits{MaxBytes: c.opts.MaxMessageBytes})
	if err != nil {
		return c.malformed(data, err)
	}
	switch m.Kind {
	case jsonrpc.Response:
		c.response(&m, on)
	case jsonrpc.Request:
		c.ask(&m, on)
	case jsonrpc.Notification:
		c.notice(&m, on)
	}
	return true
}

func (c *Conn) response(m *jsonrpc.Message, on *Call) {
	var p *Call
	if id, ok := m.ID.Int(); ok {
		p = c.Pending(id)
	} else if m.ID.IsZero() {
		// A server that could not read a request answers without its id.
		if p = on; p == nil {
			p = c.only()
		}
	}
	if p == nil {
		c.Drop("an answer that nobody waits for")
		return
	}
	a := Answer{Reply: upstream.Reply{Result: bytes.Clone(m.Result)}}
	if m.Error != nil {
		a.Error = &jsonrpc.Error{Code: m.Error.Code, Message: m.Error.Message, Data: bytes.Clone(m.Error.Data)}
	}
	c.Settle(p, a)
}

// malformed takes what is not one strict message. Where it can be told which call it would answer, that call fails at
// once; anything else is left to the caller as noise.
func (c *Conn) malformed(data []byte, err error) bool {
	parts := [][]byte{data}
	if jsonrpc.IsArray(data) {
		parts = parts[:0]
		for element := range jsonrpc.Elements(data) {
			parts = append(parts, element)
		}
	}
	hit := false
	for _, part := range parts {
		if p := c.Answers(part); p != nil {
			c.Settle(p, Answer{Err: notStrict(p, err)})
			hit = true
		}
	}
	return hit
}

func notStrict(p *Call, err error) *upstream.Error {
	return upstream.Fail(registry.FailNotMCP, errors.Join(upstream.ErrNotStrict, err),
		"The server's answer to %s is not strict JSON-RPC, so that two readers could understand it differently.", p.Method)
}

// Answers returns the call that a broken message seems to answer. The message may be cut off anywhere.
func (c *Conn) Answers(data []byte) *Call {
	raw, ok := jsonrpc.Member(data, "id")
	if !ok || IsEvent(data) {
		return nil
	}
	id, ok := whole(raw)
	if !ok {
		return nil
	}
	return c.Pending(id)
}

// wholeNumber is a number that is whole but for how it is written: 1.0, 10e-1, 1E0.
var wholeNumber = regexp.MustCompile(`^[0-9]{1,18}(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,2})?$`)

// whole reads the id of an answer that MCP does not allow, but that leaves no doubt which call it means: some servers keep
// ids as floating-point numbers and write them as such.
func whole(raw []byte) (int64, bool) {
	if id, ok := jsonrpc.Int(raw); ok {
		return id, true
	}
	if !wholeNumber.Match(raw) {
		return 0, false
	}
	var n big.Rat
	if _, ok := n.SetString(string(raw)); !ok || !n.IsInt() || !n.Num().IsInt64() {
		return 0, false
	}
	return n.Num().Int64(), true
}

// IsEvent says whether a broken message names a method, so that it answers nothing.
func IsEvent(data []byte) bool {
	_, ok := jsonrpc.Member(data, "method")
	return ok
}

// notice takes a notification.
func (c *Conn) notice(m *jsonrpc.Message, on *Call) {
	switch m.Method {
	case mcp.NotifyProgress:
		c.progress(m)
		return
	case mcp.NotifyCancelled:
		id, ok := jsonrpc.ParseID(m.Param("requestId"))
		c.mu.Lock()
		cancel := c.asks[id.Key()]
		c.mu.Unlock()
		switch {
		case ok && cancel != nil:
			cancel()
		case !c.ended(id):
			c.Drop("a cancellation of no request")
		}
		return
	case mcp.NotifyAcknowledged:
		if p, _ := c.heard(m, on); p != nil && p.listening() != nil {
			p.listening().acknowledge(p.id, m.Param("notifications"))
			return
		}
		c.Drop("an acknowledgement of nothing")
		return
	case mcp.NotifyToolsChanged:
		c.Outdate()
	}
	if c.handler == nil {
		c.Drop("a notification that nobody wants")
		return
	}
	c.handler.HandleNotification(c.event(m, on))
}

func (c *Conn) progress(m *jsonrpc.Message) {
	token, ok := jsonrpc.Int(m.Param(mcp.ProgressToken))
	if p := c.Pending(token); ok && p != nil && p.Progress != nil {
		p.Progress(bytes.Clone(m.Params))
		return
	}
	c.Drop("progress of no call")
}

func (c *Conn) event(m *jsonrpc.Message, on *Call) upstream.Event {
	on, params := c.heard(m, on)
	e := upstream.Event{Method: m.Method, Params: params}
	if on != nil {
		if e.Exact = true; on.listening() == nil {
			e.Owner = on.Owner
		}
	} else if p := c.only(); p != nil {
		e.Owner = p.Owner
	}
	return e
}

// ask has a request of the server answered. Requests went from server to client up to revision 2025-11-25 only.
func (c *Conn) ask(m *jsonrpc.Message, on *Call) {
	var reply func(ctx context.Context) upstream.Reply
	switch {
	case m.Method == mcp.MethodInitialize || m.Method == mcp.MethodDiscover:
		c.Fail(upstream.Fail(registry.FailNotMCP, nil, "The server sends back what it was sent: it is not an MCP server."))
		return
	case m.Method == mcp.MethodPing:
		reply = func(context.Context) upstream.Reply { return upstream.Reply{Result: emptyObject} }
	case c.handler == nil || c.Info().Era == upstream.Modern:
		c.Drop("a request that nobody answers")
		reply = func(context.Context) upstream.Reply { return refuse(jsonrpc.CodeMethodNotFound, "Method not found") }
	default:
		event := c.event(m, on)
		reply = func(ctx context.Context) upstream.Reply { return c.handler.HandleRequest(ctx, event) }
	}
	id := m.ID.Clone()
	ctx, cancel := context.WithCancel(c.ctx)
	if !c.open(id, cancel) {
		cancel()
		c.Drop("a request with an id in use, or one too many")
		return
	}
	go func() {
		defer cancel()
		r := reply(ctx)
		if wanted := c.shut(ctx, id); wanted {
			c.reply(id, r) //nolint:contextcheck // the answer has a time-out of its own
		}
	}()
}

// open notes a request of the server, unless its id is in use or too many wait.
func (c *Conn) open(id jsonrpc.ID, cancel context.CancelFunc) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, used := c.asks[id.Key()]; used || len(c.asks) >= maxAsks {
		return false
	}
	c.asks[id.Key()] = cancel
	return true
}

// shut forgets a request, and reports whether the server still wants its answer.
func (c *Conn) shut(ctx context.Context, id jsonrpc.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.asks, id.Key())
	return ctx.Err() == nil
}

func refuse(code int64, message string) upstream.Reply {
	return upstream.Reply{Error: &jsonrpc.Error{Code: code, Message: message}}
}

func (c *Conn) reply(id jsonrpc.ID, r upstream.Reply) {
	if r.Error == nil && r.Result == nil {
		r = refuse(jsonrpc.CodeInternalError, "No answer")
	}
	var message []byte
	if r.Error != nil {
		message = jsonrpc.AppendError(nil, id, r.Error)
	} else {
		message = jsonrpc.AppendResponse(nil, id, r.Result)
	}
	ctx, cancel := context.WithTimeout(c.ctx, tellTimeout)
	defer cancel()
	if err := c.wire.Tell(ctx, message); err != nil {
		c.log.Debug("an answer did not reach the server", "err", err)
	}
}

// Noise counts what is no message at all.
func (c *Conn) Noise() {
	c.noisy.Add(1)
	c.opts.Counters.StdoutNoise.Add(1)
}

// Drop counts what nobody wants. What it says is never logged: it may hold anything.
func (c *Conn) Drop(what string) {
	c.opts.Counters.DroppedMessages.Add(1)
	c.log.Debug("dropped a message of the server", "what", what)
}

// TooLarge is the failure of a call whose answer is over the bound.
func TooLarge(method string, limit int) *upstream.Error {
	return upstream.Fail(registry.FailNotMCP, fmt.Errorf("%w: the limit is %d bytes", upstream.ErrTooLarge, limit),
		"The server's answer to %s is larger than the %d bytes that are allowed.", method, limit)
}
