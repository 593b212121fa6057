// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package prober

import (
	"context"
	"fmt"
	"io"

	"toolgate.dev/toolgate/internal/registry"
)

// What answers may take up, in bytes as they are sent. The manager's memory is shared by all servers, and what a server lists is
// for its author to say: without bounds one of them could end the manager, again after each restart.
const (
	// maxState is the most for one answer: a whole list of a server, 16 MiB, and what is said beside it. The largest lists seen
	// are some hundred kilobytes.
	maxState = 24 << 20
	// smallState is up to where answers are read side by side. Larger ones are read one at a time.
	smallState = 1 << 20
	// maxHeld is the most for all answers that are kept.
	maxHeld = 128 << 20
)

// reply is what a pod has answered. A state of nil means that nothing has changed since etag.
type reply struct {
	state *registry.State
	etag  string
	// size is that of the answer.
	size int
}

// read takes an answer whole. The caller calls done when nothing but the state is left of it.
func (p *Prober) read(ctx context.Context, from io.Reader) (body []byte, done func(), err error) {
	done = func() {}
	body, err = io.ReadAll(io.LimitReader(from, smallState))
	if err != nil || len(body) < smallState {
		return body, done, err
	}
	select {
	case <-ctx.Done():
		return nil, done, context.Cause(ctx)
	case p.large <- struct{}{}:
		done = func() { <-p.large }
	}
	rest, err := io.ReadAll(io.LimitReader(from, maxState+1-smallState))
	if err == nil && len(body)+len(rest) > maxState {
		err = fmt.Errorf("it is over %d bytes", maxState)
	}
	return append(body, rest...), done, err
}

// keep makes room for a worker's new state in place of its old one, or says why there is none. It is called with the lock held.
func (p *Prober) keep(w *worker, size int) error {
	if held := p.held - w.size + size; held > maxHeld && size > w.size {
		return fmt.Errorf("the dispatcher's state, of %d bytes, finds no room: those of all pods together may have %d; let servers list less, or fewer of them", size, maxHeld)
	}
	p.held += size - w.size
	w.size = size
	return nil
}

// release is for a worker whose pod is not asked any more. It is called with the lock held.
func (p *Prober) release(w *worker) {
	w.cancel()
	w.released = true
	p.held -= w.size
	w.size = 0
}
