// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
)

// refill starts as many spares as are missing, in the background. It is called after each call that may have taken one, so
// that a server without such calls has none.
func (p *Pool) refill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.opts.Spares == 0 || p.sharing(upstream.Modern) {
		return
	}
	p.beginTending()
	for len(p.ready)+p.filling < p.opts.Spares {
		if !p.slots.take() {
			return
		}
		p.filling++
		p.tasks.Go(p.fill)
	}
}

// fill starts one spare and reads its catalogue, so that the call that takes it need not wait for either. Where that fails
// nothing is tried again: the next call will, and it will hear why.
func (p *Pool) fill() {
	conn, err := p.dial(p.ctx, p.opts.Hello, nil)
	if err == nil {
		if _, err = conn.Catalogue(p.ctx); err != nil {
			p.end(conn)
		}
	}
	p.mu.Lock()
	p.filling--
	p.mu.Unlock()
	switch {
	case err != nil:
		p.log.Debug("a spare connection could not be made ready", "err", err)
	case !p.offer(conn):
		p.end(conn)
	}
}

func (p *Pool) offer(conn upstream.Conn) bool {
	select {
	case p.ready <- conn:
		return true
	default:
		return false
	}
}

// beginTending starts tend, if it does not run yet. p.mu is held.
func (p *Pool) beginTending() {
	if !p.tending && !p.closed {
		p.tending = true
		p.tasks.Go(p.tend)
	}
}

// tend ends the spares when no call has come for IdleTimeout.
func (p *Pool) tend() {
	for {
		timer, stop := p.opts.After(p.opts.IdleTimeout)
		select {
		case <-timer:
		case <-p.ctx.Done():
			stop()
			return
		}
		if used := p.used.Load(); used == nil || p.opts.Now().Sub(*used) < p.opts.IdleTimeout {
			continue
		}
		for spare := p.takeSpare(); spare != nil; spare = p.takeSpare() {
			p.end(spare)
		}
	}
}

// takeSpare takes a spare of any sort, nil if there is none.
func (p *Pool) takeSpare() upstream.Conn {
	select {
	case spare := <-p.ready:
		return spare
	default:
		return p.takeKindred()
	}
}
