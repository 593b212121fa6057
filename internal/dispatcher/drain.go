// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"context"
	"fmt"
	"time"
)

// Drain leaves readiness, refuses new sessions, and waits for the calls in flight, though no longer than its bound. Calls
// are taken until none is in flight; from that moment on sessions are unknown here and their clients begin anew elsewhere.
// It may be called more than once; all wait for the same end.
func (d *Dispatcher) Drain(ctx context.Context) error {
	d.drain.Do(func() {
		d.draining.Store(true)
		d.front.Drain()
		d.changed()
		d.opts.Log.Info("draining", "inFlight", d.pipeline.Flight().Count())
		go d.land()
	})
	select {
	case <-d.drained:
		return d.failed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// land waits for what is in flight.
func (d *Dispatcher) land() {
	defer close(d.drained)
	bound := time.NewTimer(d.opts.DrainTimeout)
	defer bound.Stop()
	settle := time.NewTimer(d.opts.DrainSettle)
	defer settle.Stop()
	<-settle.C
	select {
	case <-d.pipeline.Flight().Close():
		d.release()
		d.opts.Log.Info("drained")
	case <-bound.C:
		d.failed = fmt.Errorf("%d calls were still in flight after %s", d.pipeline.Flight().Count(), d.opts.DrainTimeout)
	}
}

// release lets the server go: nothing will be asked of it any more, and its launcher stays as long as it is connected to.
func (d *Dispatcher) release() {
	d.front.Close()
	d.pipeline.Close()
	d.backends.close()
	if d.opts.Release == nil {
		return
	}
	if err := d.opts.Release(); err != nil {
		d.opts.Log.Warn("the server's processes did not end well", "err", err)
	}
}

// end drains before everything is closed.
func (d *Dispatcher) end(ctx context.Context) {
	if err := d.Drain(ctx); err != nil {
		d.opts.Log.Warn("ending before all calls have", "err", err)
	}
}
