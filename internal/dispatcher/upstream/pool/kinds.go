// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"bytes"
	"context"
	"sync"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
)

const (
	// maxKinds bounds the kinds of clients that have a spare: the one that has not called for longest loses its own.
	maxKinds = 4
	// often is how many calls a kind must have made before a process is started ahead for it.
	often = 2
)

// kinds hold a started connection for each kind of client that calls without a session and can be asked. A server of an
// earlier era is told at its start what its client can do, so that such calls cannot take the spares of the others.
type kinds struct {
	mu    sync.Mutex
	known map[string]*kind
	// early: the server asks before it is called, and would wait for an answer that nobody can give yet.
	early bool
}

// kind are the clients that say the same of themselves.
type kind struct {
	hello   upstream.Hello
	calls   int
	used    time.Time
	filling bool
	conn    upstream.Conn // the spare, nil if there is none
	handler *late
}

// late is the handler of a connection that nobody uses yet.
type late struct {
	pool *Pool

	mu      sync.Mutex
	handler upstream.Handler
	spoiled bool // the server has asked too early
}

// bind hands what the server says over to a handler, unless it is too late for that.
func (l *late) bind(handler upstream.Handler) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.spoiled {
		return false
	}
	l.handler = handler
	return true
}

// bound is the handler, nil while there is none. A question then spoils the connection.
func (l *late) bound(question bool) upstream.Handler {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spoiled = l.spoiled || question && l.handler == nil
	return l.handler
}

// HandleRequest passes a question on. One that comes before there is a call ends all spares: the server wants its client to be
// there from the start.
func (l *late) HandleRequest(ctx context.Context, event upstream.Event) upstream.Reply {
	if handler := l.bound(true); handler != nil {
		return handler.HandleRequest(ctx, event)
	}
	l.pool.asksEarly()
	return upstream.Reply{Error: &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "Method not found"}}
}

// HandleNotification passes on what the server tells, and drops it while nobody listens.
func (l *late) HandleNotification(event upstream.Event) {
	if handler := l.bound(false); handler != nil {
		handler.HandleNotification(event)
		return
	}
	l.pool.opts.Counters.DroppedMessages.Add(1)
}

// kindred gives the spare of the clients that say the same of themselves, nil if there is none.
func (p *Pool) kindred(hello upstream.Hello, handler upstream.Handler) upstream.Conn {
	k := &p.kinds
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.early || p.opts.Spares == 0 {
		return nil
	}
	now := p.opts.Now()
	p.used.Store(&now)
	one := k.of(hello)
	if one == nil {
		if len(k.known) >= maxKinds {
			p.retireSpare(k.oldest(func(*kind) bool { return true }))
		}
		one = k.add(hello)
	}
	one.calls++
	one.used = now
	conn := one.conn
	switch {
	case conn == nil:
		return nil
	case alive(conn) && one.handler.bind(handler):
		one.conn = nil
		return conn
	}
	p.retire(conn)
	one.conn = nil
	return nil
}

// restock starts a spare for the clients that say so of themselves, in the background, once they have called often enough.
func (p *Pool) restock(hello upstream.Hello) {
	p.mu.Lock()
	if p.closed || p.sharing(upstream.Modern) {
		p.mu.Unlock()
		return
	}
	p.beginTending()
	p.mu.Unlock()
	p.kinds.mu.Lock()
	defer p.kinds.mu.Unlock()
	one := p.kinds.of(hello)
	if one == nil || p.kinds.early || one.filling || one.conn != nil || one.calls < often || !p.slots.take() {
		return
	}
	one.filling = true
	p.background(func(ctx context.Context) { p.stock(ctx, one) })
}

// stock starts one spare and reads its catalogue. Where that fails nothing is tried again: the next call will.
func (p *Pool) stock(ctx context.Context, one *kind) {
	handler := &late{pool: p}
	conn, err := p.dial(ctx, one.hello, handler)
	if err == nil {
		if _, err = conn.Catalogue(ctx); err != nil {
			p.end(conn)
		}
	}
	p.kinds.mu.Lock()
	one.filling = false
	wanted := err == nil && !p.kinds.early && p.kinds.of(one.hello) == one
	if wanted {
		one.conn, one.handler = conn, handler
	}
	p.kinds.mu.Unlock()
	switch {
	case err != nil:
		p.log.Debug("a spare connection could not be made ready", "err", err)
	case !wanted:
		p.end(conn)
	}
}

// asksEarly ends all spares of this sort for good.
func (p *Pool) asksEarly() {
	p.kinds.mu.Lock()
	defer p.kinds.mu.Unlock()
	p.kinds.early = true
	for _, one := range p.kinds.known {
		p.retireSpare(one)
	}
}

// retireSpare forgets a kind, and ends its spare. kinds.mu is held.
func (p *Pool) retireSpare(one *kind) {
	delete(p.kinds.known, keyOf(one.hello))
	if one.conn != nil {
		p.retire(one.conn)
	}
}

// takeKindred takes the spare of the kind that has not called for longest, for its slot; nil if there is none.
func (p *Pool) takeKindred() upstream.Conn {
	p.kinds.mu.Lock()
	defer p.kinds.mu.Unlock()
	one := p.kinds.oldest(func(one *kind) bool { return one.conn != nil })
	if one == nil {
		return nil
	}
	conn := one.conn
	one.conn = nil
	return conn
}

// of gives a kind that is known, add makes one known. kinds.mu is held, as it is for oldest.
func (k *kinds) of(hello upstream.Hello) *kind { return k.known[keyOf(hello)] }

func (k *kinds) add(hello upstream.Hello) *kind {
	if k.known == nil {
		k.known = map[string]*kind{}
	}
	hello.Capabilities, hello.ClientInfo = bytes.Clone(hello.Capabilities), bytes.Clone(hello.ClientInfo) // they are parts of a request
	one := &kind{hello: hello}
	k.known[keyOf(hello)] = one
	return one
}

func (k *kinds) oldest(fits func(*kind) bool) *kind {
	var oldest *kind
	for _, one := range k.known {
		if fits(one) && (oldest == nil || one.used.Before(oldest.used)) {
			oldest = one
		}
	}
	return oldest
}

// keyOf is all that a server is told of a client.
func keyOf(hello upstream.Hello) string {
	return hello.ProtocolVersion + "\n" + string(hello.Capabilities) + "\n" + string(hello.ClientInfo)
}
