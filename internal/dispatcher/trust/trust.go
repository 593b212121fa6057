// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package trust tells when trust in a server ends, or comes back, by time alone: then tools/list is another though neither the
// server nor the registry document has changed.
//
// It decides nothing: whether a server is trusted is the policy's word. It imports no other package of the data plane.
package trust

import (
	"context"
	"time"
)

// State is what policy says now.
type State struct {
	// Policy is what decides: trust of another policy cannot be compared, and who puts one in force tells of that.
	Policy any
	// Trusted says whether the server is trusted, Shows whether tools/list shows that.
	Trusted, Shows bool
	// Ends is when trust ends unless something happens; the zero time means never.
	Ends time.Time
}

// Watch watches one dispatcher's trust.
type Watch struct {
	state   func() State
	changed func()
	now     func() time.Time
	moved   chan struct{} // has room for one
}

// New gives a watch on a clock. changed is called when tools/list is another because of trust.
func New(state func() State, changed func(), now func() time.Time) *Watch {
	return &Watch{state: state, changed: changed, now: now, moved: make(chan struct{}, 1)}
}

// Moved says that the state may be another: there is another policy, or trust was renewed. It does not block.
func (w *Watch) Moved() {
	select {
	case w.moved <- struct{}{}:
	default:
	}
}

// Run watches until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var last State
	for {
		select {
		case <-timer.C:
		case <-w.moved:
		case <-ctx.Done():
			return
		}
		state := w.state()
		if state.Shows && state.Policy == last.Policy && state.Trusted != last.Trusted {
			w.changed()
		}
		last = state
		timer.Stop()
		if !state.Ends.IsZero() && state.Trusted {
			// Past that moment, not at it.
			timer.Reset(max(state.Ends.Sub(w.now()), 0) + 10*time.Millisecond)
		}
	}
}
