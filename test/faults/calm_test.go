// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"toolgate.dev/toolgate/test/faults/proxy"
	"toolgate.dev/toolgate/test/faults/rig"
)

// calm collects how long it took after faults until all was as it should be and nothing was written any more, and what was
// written in the silence that has to follow. How long is told, never asserted: it depends on the machine.
type calm struct {
	// window is how long the silence is listened to.
	window time.Duration

	mu         sync.Mutex
	took       []took
	namespaces int
	writes     []proxy.Call
}

// took is the time to converge after one fault.
type took struct {
	time.Duration
	what string
}

// rest waits until the manager writes nothing more to the namespaces of points that are as they should be, and then listens to
// the silence.
func (c *calm) rest(ctx context.Context, m *rig.Manager, what string, points []*point) error {
	points = slices.DeleteFunc(slices.Clone(points), func(p *point) bool { return p.reached.IsZero() })
	began := time.Now()
	for {
		var last time.Time
		for _, p := range points {
			if at := m.LastWrite(p.namespace); at.After(last) {
				last = at
			}
		}
		if time.Since(last) > quiet || time.Since(began) > rig.Patience {
			break
		}
		if err := rig.Wait(ctx, quiet/4); err != nil {
			return err
		}
	}
	quietened := map[string]bool{}
	for _, p := range points {
		quietened[p.namespace] = true
		c.converged(p, what, m.LastWrite(p.namespace))
	}
	before := len(m.Writes())
	if err := rig.Wait(ctx, c.window); err != nil {
		return err
	}
	until := len(m.Writes())
	if until > before {
		// Whether the API server carries the last ones out is known with its answers.
		if err := rig.Wait(ctx, quiet); err != nil {
			return err
		}
	}
	writes := slices.DeleteFunc(m.Writes()[before:until], func(w proxy.Call) bool {
		// What the API server refuses, such as a spec that makes no pod, is tried again every half a minute on purpose.
		return w.Denied || !quietened[w.Namespace]
	})
	c.mu.Lock()
	c.namespaces += len(quietened)
	c.writes = append(c.writes, writes...)
	c.mu.Unlock()
	if len(writes) > 0 {
		return fmt.Errorf("%d writes after all was as it should be: %v", len(writes), writes[:min(len(writes), 10)])
	}
	return nil
}

// converged records a point whose fault has happened and that was overcome.
func (c *calm) converged(p *point, what string, lastWrite time.Time) {
	if p.hit.IsZero() {
		return
	}
	end := p.reached
	if lastWrite.After(end) {
		end = lastWrite
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.took = append(c.took, took{end.Sub(p.hit), fmt.Sprintf("%s: %v", what, p)})
}

// clearAll empties the namespaces of points.
func clearAll(ctx context.Context, r *rig.Rig, points []*point) error {
	for _, p := range points {
		if p.namespace == "" {
			continue // it never began
		}
		if err := r.Clear(ctx, p.namespace); err != nil {
			return err
		}
	}
	return nil
}

// figures prints what was collected in a line of its own.
func (c *calm) figures(t *testing.T, began time.Time) {
	t.Helper()
	if len(c.took) == 0 {
		return
	}
	slices.SortFunc(c.took, func(a, b took) int { return cmp.Compare(a.Duration, b.Duration) })
	at := func(share float64) string {
		return fmt.Sprintf("%.1f s", c.took[int(share*float64(len(c.took)-1))].Seconds())
	}
	figures(t, began, "converged after %d faults, %d at a time: p50 %s, p99 %s, max %s (%s); silent for %v in %d namespaces: %d writes",
		len(c.took), parallel, at(0.5), at(0.99), at(1), c.took[len(c.took)-1].what, c.window, c.namespaces, len(c.writes))
	for _, slow := range c.took[max(0, len(c.took)-30):] {
		t.Logf("%.1f s: %s", slow.Seconds(), slow.what)
	}
}
