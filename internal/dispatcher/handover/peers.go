// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"context"
	"net/netip"
	"sync"
	"time"
)

const (
	// fresh is how long an answer of the lookup is believed.
	fresh = 5 * time.Second
	// again is how soon an address that is not known may have it asked anew: a replica that has just started.
	again = time.Second
	// lookupTimeout bounds one lookup.
	lookupTimeout = 2 * time.Second
)

// peers are the replicas that there are.
type peers struct {
	lookup func(ctx context.Context) ([]netip.Addr, error)
	now    func() time.Time

	mu     sync.Mutex
	known  map[netip.Addr]bool
	asked  time.Time     // when the last lookup ended
	asking chan struct{} // closed when the one under way ends; nil while there is none
}

// has says whether an address is a replica's. What can't be looked up is none. Whoever needs a lookup waits for the one that
// all share, or until ctx ends; nobody else does.
func (p *peers) has(ctx context.Context, a netip.Addr) bool {
	if asking := p.due(ctx, a); asking != nil {
		select {
		case <-asking:
		case <-ctx.Done():
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known[a]
}

// due gives what to wait for before an address can be told, nil where enough is known. A lookup outlives the request that
// began it: the others wait for it, too.
func (p *peers) due(ctx context.Context, a netip.Addr) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	age := p.now().Sub(p.asked)
	if !p.asked.IsZero() && age < fresh && (p.known[a] || age < again) {
		return nil
	}
	if p.asking == nil {
		p.asking = make(chan struct{})
		go p.ask(context.WithoutCancel(ctx))
	}
	return p.asking
}

// ask keeps what was known where the lookup fails: a name server that is away for a moment must end no session.
func (p *peers) ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	found, err := p.lookup(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = p.now()
	close(p.asking)
	p.asking = nil
	if err != nil {
		return
	}
	p.known = make(map[netip.Addr]bool, len(found))
	for _, a := range found {
		p.known[a.Unmap()] = true
	}
}
