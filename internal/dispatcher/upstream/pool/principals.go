// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"sync"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/registry"
)

// principals hold one connection for each caller whose identity was verified, for its sessions and its calls without one
// (isolation Caller). An address is no identity: callers that nobody has verified are treated as with isolation Session.
type principals struct {
	mu   sync.Mutex
	open map[string]*held
}

// held is the connection of one principal, on a slot of its own.
type held struct {
	*shared
	users int
	left  time.Time // when the last of them went
}

// byPrincipal says whether connections go by who calls.
func (p *Pool) byPrincipal(principal string) bool {
	return p.opts.Isolation == registry.IsolationCaller && principal != ""
}

// principal leases the connection of one principal.
func (p *Pool) principal(ctx context.Context, name string, handler upstream.Handler) (upstream.Conn, func(), error) {
	h := p.hold(name)
	if h == nil {
		return nil, nil, ErrNoCapacity
	}
	conn, err := h.lease(ctx, handler)
	if err != nil {
		p.leave(h)
		return nil, nil, err
	}
	return conn, sync.OnceFunc(func() {
		p.end(conn)
		p.leave(h)
	}), nil
}

// hold counts a user of a principal's connection in, which it makes room for if it is the first. It is nil where there is none.
func (p *Pool) hold(name string) *held {
	p.principals.mu.Lock()
	defer p.principals.mu.Unlock()
	h := p.principals.open[name]
	if h == nil {
		if !p.takeSlot() && !p.evict() {
			return nil
		}
		h = &held{shared: newShared(p)}
		if p.principals.open == nil {
			p.principals.open = map[string]*held{}
		}
		p.principals.open[name] = h
		p.mu.Lock()
		p.beginTending()
		p.mu.Unlock()
	}
	h.users++
	return h
}

func (p *Pool) leave(h *held) {
	p.principals.mu.Lock()
	defer p.principals.mu.Unlock()
	h.users--
	h.left = p.opts.Now()
}

// evict ends the connection that has been without users for longest, and leaves its slot to the caller. principals.mu is held.
func (p *Pool) evict() bool {
	var longest string
	for name, h := range p.principals.open {
		if h.unused() && (longest == "" || h.left.Before(p.principals.open[longest].left)) {
			longest = name
		}
	}
	if longest == "" {
		return false
	}
	p.drop(longest)
	return true
}

// sweep ends the connections of principals that have been without users for IdleTimeout.
func (p *Pool) sweep() {
	p.principals.mu.Lock()
	defer p.principals.mu.Unlock()
	for name, h := range p.principals.open {
		if h.unused() && p.opts.Now().Sub(h.left) >= p.opts.IdleTimeout {
			p.drop(name)
			p.slots.free()
		}
	}
}

// drop ends a principal's connection; its slot is the caller's. principals.mu is held.
func (p *Pool) drop(name string) {
	h := p.principals.open[name]
	delete(p.principals.open, name)
	p.background(func(context.Context) { h.close() }) // over HTTP it says good-bye to the server
}

// unused says whether nobody needs the connection, or waits for it to be opened.
func (h *held) unused() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.users == 0 && h.attempt == nil
}

// closePrincipals ends them all, with the pool.
func (p *Pool) closePrincipals() {
	p.principals.mu.Lock()
	defer p.principals.mu.Unlock()
	for _, h := range p.principals.open {
		h.close()
	}
	p.principals.open = nil
}
