// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"toolgate.dev/toolgate/test/faults/proxy"
	"toolgate.dev/toolgate/test/faults/rig"
)

// ways are what becomes of the call at a point, beside the manager being killed there.
var ways = []proxy.Fault{proxy.Refused, proxy.ReplyLost, proxy.Conflict, proxy.Busy, proxy.Unavailable}

// once makes one write of each namespace fail, once.
type once struct {
	mu     sync.Mutex
	points map[string]*point
}

// point is a write of a scenario and what becomes of it.
type point struct {
	key        string
	occurrence int
	fault      proxy.Fault
	seen       int
	hit        bool
}

func (o *once) arm(namespace string, p *point) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.points == nil {
		o.points = map[string]*point{}
	}
	o.points[namespace] = p
}

// disarm says whether the point was reached.
func (o *once) disarm(namespace string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	hit := o.points[namespace].hit
	delete(o.points, namespace)
	return hit
}

// Fault implements proxy.Plan.
func (o *once) Fault(c proxy.Call) proxy.Fault {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.points[c.Namespace]
	if p == nil || p.hit || p.key != c.Key() {
		return proxy.None
	}
	if p.seen++; p.seen < p.occurrence {
		return proxy.None
	}
	p.hit = true
	return p.fault
}

// clean is what a scenario does without a fault.
type clean struct {
	scenario
	namespace     string
	before, after rig.State
	// writes are those of its second half.
	writes []proxy.Call
}

// parallel is how many points are tried at one time.
const parallel = 16

// quiet is how long nothing may change before a clean run counts as at its end. The state is compared again when all points
// of the scenario are through.
const quiet = 1500 * time.Millisecond

// rehearse runs a scenario without a fault.
func rehearse(ctx context.Context, r *rig.Rig, m *rig.Manager, s scenario) (*clean, error) {
	ns, err := r.Namespace(ctx)
	if err != nil {
		return nil, err
	}
	c := &clean{scenario: s, namespace: ns}
	p := person{r, ns}
	if err := s.before(ctx, p); err != nil {
		return nil, err
	}
	if c.before, err = r.Rest(ctx, ns, quiet); err != nil {
		return nil, err
	}
	n := len(m.WritesIn(ns))
	if err := s.then(ctx, p); err != nil {
		return nil, err
	}
	if c.after, err = r.Rest(ctx, ns, quiet); err != nil {
		return nil, err
	}
	seen := map[string]int{}
	for _, call := range m.WritesIn(ns)[n:] {
		seen[call.Key()]++
		call.Occurrence = seen[call.Key()]
		c.writes = append(c.writes, call)
	}
	return c, nil
}

// crashes is the sweep: one manager, and a namespace for each point.
type crashes struct {
	*rig.Rig
	manager *rig.Manager
	plan    once
	// most bounds the points of a scenario; random picks them.
	most   int
	random *rand.Rand
	// rehearsed are the clean runs so far.
	rehearsed []*clean

	// differing are the points after which the state was another than that of the clean run, or could not be reached.
	points, missed, differing atomic.Int64
}

func TestCrashPoints(t *testing.T) {
	r, began := need(t), time.Now()
	scenarios := basic()
	scenarios = scenarios[:sized(t, 1, len(scenarios), len(scenarios))]
	c := &crashes{Rig: r, most: sized(t, 8, 20, 10_000), random: dice(1)}
	var err error
	if c.manager, err = r.StartManager(rig.ManagerOptions{Options: proxy.Options{Plan: &c.plan}}); err != nil {
		t.Fatal(err)
	}
	progress(t, &c.points, "points")
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) { c.run(t, s) })
	}
	if unknown := rig.Unknown(c.manager.Writes()); len(unknown) > 0 {
		t.Errorf("the manager writes %v, which rig.State does not compare", unknown)
	}
	if err := c.manager.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, wanted := range c.rehearsed {
		t.Run("killed while "+wanted.name, func(t *testing.T) { c.kills(t, wanted) })
	}
	figures(t, began, "%d scenarios, %d points (%d not reached by the time), %d differences",
		len(scenarios), c.points.Load(), c.missed.Load(), c.differing.Load())
}

// run runs a scenario once for every write of it and every way.
func (c *crashes) run(t *testing.T, s scenario) {
	ctx := t.Context()
	wanted, err := rehearse(ctx, c.Rig, c.manager, s)
	if err != nil {
		t.Fatal(err)
	}
	c.rehearsed = append(c.rehearsed, wanted)
	c.each(t, wanted, ways, c.at)
	if _, err := c.Reach(ctx, wanted.namespace, wanted.after); err != nil {
		t.Errorf("the clean run itself had not come to rest: %v", err)
	}
	if err := c.Clear(ctx, wanted.namespace); err != nil {
		t.Error(err)
	}
}

// each tries points of a scenario: every write in every way, or as many as the size of the run allows.
func (c *crashes) each(t *testing.T, wanted *clean, ways []proxy.Fault, try func(context.Context, *clean, *point) error) {
	var points []*point
	for _, w := range wanted.writes {
		for _, way := range ways {
			points = append(points, &point{key: w.Key(), occurrence: w.Occurrence, fault: way})
		}
	}
	c.random.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
	var group errgroup.Group
	group.SetLimit(parallel)
	for _, p := range points[:min(c.most, len(points))] {
		group.Go(func() error {
			if err := try(t.Context(), wanted, p); err != nil {
				c.differing.Add(1)
				t.Errorf("%s at %s #%d: %v", p.fault, p.key, p.occurrence, err)
			}
			return nil // the others go on: each point is a finding of its own
		})
	}
	_ = group.Wait()
}

// at runs a scenario with a fault at one point.
func (c *crashes) at(ctx context.Context, wanted *clean, at *point) error {
	ns, err := c.Namespace(ctx)
	if err != nil {
		return err
	}
	p := person{c.Rig, ns}
	if err := wanted.scenario.before(ctx, p); err != nil {
		return err
	}
	if _, err := c.Reach(ctx, ns, wanted.before); err != nil {
		return fmt.Errorf("before the fault: %w", err)
	}
	c.plan.arm(ns, at)
	if err := wanted.then(ctx, p); err != nil {
		return err
	}
	_, err = c.Reach(ctx, ns, wanted.after)
	c.points.Add(1)
	if !c.plan.disarm(ns) {
		c.missed.Add(1)
	}
	if err != nil {
		return err
	}
	return c.Clear(ctx, ns)
}
