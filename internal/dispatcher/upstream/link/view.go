// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"sync"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/lists"
	"toolgate.dev/toolgate/internal/registry"
)

// view is a connection's own catalogue: read at its first use, again after list_changed, and after its time to live.
type view struct {
	conn *Conn

	mu      sync.Mutex
	changes int64 // list_changed notifications so far
	current *upstream.Catalogue
	asOf    int64 // changes when the reading of current began
	readAt  time.Time
	flight  *reading
}

// reading is one reading of the catalogue, shared by all who wait for it.
type reading struct {
	asOf int64
	done chan struct{}
	cat  *upstream.Catalogue
	err  error
}

// Outdate marks the catalogue as changed.
func (c *Conn) Outdate() {
	c.view.mu.Lock()
	c.view.changes++
	c.view.mu.Unlock()
}

// begun says whether the catalogue was ever read, or is being read.
func (v *view) begun() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.current != nil || v.flight != nil
}

// Catalogue never returns a reading that began before a list_changed that had come when it was called.
func (c *Conn) Catalogue(ctx context.Context) (*upstream.Catalogue, error) {
	v := &c.view
	v.mu.Lock()
	need := v.changes
	v.mu.Unlock()
	for {
		current, r := v.get(need)
		if current != nil {
			return current, nil
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if r.asOf >= need {
			return r.cat, r.err
		}
	}
}

// get returns the catalogue if it is good enough, else the reading to wait for, which it starts if there is none.
func (v *view) get(need int64) (*upstream.Catalogue, *reading) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.current != nil && v.asOf >= need && v.conn.opts.Now().Sub(v.readAt) < v.current.Lasts(v.conn.opts.CatalogueTTL) {
		return v.current, nil
	}
	if v.flight == nil {
		v.flight = &reading{asOf: v.changes, done: make(chan struct{})}
		go v.read(v.flight)
	}
	return nil, v.flight
}

// read carries out a reading. It belongs to the connection, not to the caller who began it.
func (v *view) read(r *reading) {
	r.cat, r.err = lists.Tools(v.conn.ctx, v.conn, v.conn.opts.ListTimeout)
	switch {
	case r.err == nil:
		v.vet(r.cat)
		if v.conn.hello.Listed != nil {
			v.conn.hello.Listed(r.cat)
		}
	case v.conn.ctx.Err() != nil:
		r.err = v.conn.Closed()
	default:
		r.err = upstream.AsError(r.err, registry.FailCatalogue).WithStderr(v.conn.wire.Stderr())
	}
	v.mu.Lock()
	if v.flight = nil; r.err == nil {
		v.current, v.asOf, v.readAt = r.cat, r.asOf, v.conn.opts.Now()
	}
	v.mu.Unlock()
	close(r.done)
}

// vet withholds what cannot be called over this connection.
func (v *view) vet(cat *upstream.Catalogue) {
	for i := range cat.Tools {
		if t := &cat.Tools[i]; t.Err == nil {
			t.Err = v.conn.wire.Vet(t.InputSchema)
		}
	}
}
