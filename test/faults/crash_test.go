// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

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

	namespace string
	// hit and reached are when the fault happened and when the namespace was in the state that is wanted; zero for never.
	hit, reached time.Time
}

func (p *point) String() string { return fmt.Sprintf("%s at %s #%d", p.fault, p.key, p.occurrence) }

func (o *once) arm(namespace string, p *point) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.points == nil {
		o.points = map[string]*point{}
	}
	o.points[namespace] = p
}

func (o *once) disarm(namespace string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.points, namespace)
}

// Fault implements proxy.Plan.
func (o *once) Fault(c proxy.Call) proxy.Fault {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.points[c.Namespace]
	if p == nil || !p.hit.IsZero() || p.key != c.Key() {
		return proxy.None
	}
	if p.seen++; p.seen < p.occurrence {
		return proxy.None
	}
	p.hit = time.Now()
	return p.fault
}

// clean is what a scenario does without a fault.
type clean struct {
	scenario
	namespace     string
	before, after rig.State
	// writes are those of its second half.
	writes []proxy.Call
	// remade are the Deployments that the second half makes a second time, with their server.
	remade map[string]bool
}

// parallel is how many points are tried at one time; PARALLEL in the environment says another number. The time that it takes to converge
// depends on it.
var parallel = 16

// quiet is how long nothing may change before a clean run counts as at its end. The state is compared again when all points
// of the scenario are through.
const quiet = 2 * time.Second

// rehearse runs a scenario without a fault.
func rehearse(ctx context.Context, r *rig.Rig, m *rig.Manager, s scenario) (*clean, error) {
	ns, err := r.Namespace(ctx)
	if err != nil {
		return nil, err
	}
	c := &clean{scenario: s, namespace: ns}
	p := person{Rig: r, namespace: ns}
	if err := s.before(ctx, p); err != nil {
		return nil, err
	}
	if c.before, err = r.Rest(ctx, ns, quiet); err != nil {
		return nil, err
	}
	n := len(m.WritesIn(ns))
	first, err := deployments(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := s.then(ctx, p); err != nil {
		return nil, err
	}
	if c.after, err = r.Rest(ctx, ns, quiet); err != nil {
		return nil, err
	}
	second, err := deployments(ctx, p)
	if err != nil {
		return nil, err
	}
	c.remade = map[string]bool{}
	for name, uid := range second {
		c.remade[name] = first[name] != "" && first[name] != uid
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
	// slots bound what runs at one time, beside listening to silence.
	slots chan struct{}
	calm  calm
	// report tells of a difference; the others go on: each point is a finding of its own.
	report func(format string, args ...any)

	mu sync.Mutex
	// rehearsed are the clean runs so far.
	rehearsed []*clean

	// differing are the points after which the state was another than that of the clean run, or could not be reached; refused
	// are scenarios that admission does not let happen.
	points, missed, differing, refused atomic.Int64
}

func TestCrashPoints(t *testing.T) {
	r, began := need(t), time.Now()
	scenarios := chosen(t, r)
	c := &crashes{Rig: r, slots: make(chan struct{}, parallel), report: t.Errorf}
	c.calm.window = sized(t, 2*time.Second, 5*time.Second, time.Minute)
	var err error
	if c.manager, err = r.StartManager(rig.ManagerOptions{Options: proxy.Options{Plan: &c.plan}}); err != nil {
		t.Fatal(err)
	}
	progress(t, &c.points, "points")
	each(scenarios, func(s scenario) {
		if err := c.run(t.Context(), s); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
	})
	if unknown := rig.Unknown(c.manager.Writes()); len(unknown) > 0 {
		t.Errorf("the manager writes %v, which rig.State does not compare", unknown)
	}
	if err := c.manager.Stop(); err != nil {
		t.Fatal(err)
	}
	each(c.rehearsed, func(wanted *clean) {
		if err := c.kills(t.Context(), wanted); err != nil {
			t.Errorf("killed while %s: %v", wanted.name, err)
		}
	})
	c.calm.figures(t, began)
	figures(t, began, "%d scenarios (%d more refused by admission), %d points (%d not reached by the time), %d differences",
		len(c.rehearsed), c.refused.Load(), c.points.Load(), c.missed.Load(), c.differing.Load())
}

// each does something with each of many, some of them at one time.
func each[T any](all []T, do func(T)) {
	var group errgroup.Group
	group.SetLimit(2 * parallel)
	for _, one := range all {
		group.Go(func() error { do(one); return nil })
	}
	_ = group.Wait()
}

// slot runs a function when there is room for it.
func (c *crashes) slot(do func() error) error {
	c.slots <- struct{}{}
	defer func() { <-c.slots }()
	return do()
}

// run runs a scenario once for every write of it and every way.
func (c *crashes) run(ctx context.Context, s scenario) error {
	var wanted *clean
	err := c.slot(func() (err error) {
		wanted, err = rehearse(ctx, c.Rig, c.manager, s)
		return err
	})
	if apierrors.IsInvalid(err) {
		c.refused.Add(1)
		return nil
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.rehearsed = append(c.rehearsed, wanted)
	c.mu.Unlock()
	points := c.each(wanted, ways, s.most, func(p *point) error {
		return c.slot(func() error { return c.at(ctx, wanted, p) })
	})
	if _, err := c.Reach(ctx, wanted.namespace, wanted.after); err != nil {
		return fmt.Errorf("the clean run itself had not come to rest: %w", err)
	}
	if err := c.calm.rest(ctx, c.manager, wanted.name, points); err != nil {
		return err
	}
	return clearAll(ctx, c.Rig, append(points, &point{namespace: wanted.namespace}))
}

// each tries points of a scenario: every write in every way, or as many as are asked for, and gives those.
func (c *crashes) each(wanted *clean, ways []proxy.Fault, most int, try func(*point) error) []*point {
	var points []*point
	for _, w := range wanted.writes {
		for _, way := range ways {
			points = append(points, &point{key: w.Key(), occurrence: w.Occurrence, fault: way})
		}
	}
	points = pick(diceOf(wanted.name), points, min(most, len(points)))
	var group sync.WaitGroup
	for _, p := range points {
		group.Go(func() {
			err := try(p)
			c.points.Add(1)
			if p.hit.IsZero() {
				c.missed.Add(1)
			}
			if err != nil {
				c.differing.Add(1)
				c.report("%s: %v: %v", wanted.name, p, err)
			}
		})
	}
	group.Wait()
	return points
}

// at runs a scenario with a fault at one point.
func (c *crashes) at(ctx context.Context, wanted *clean, at *point) error {
	var err error
	if at.namespace, err = c.Namespace(ctx); err != nil {
		return err
	}
	p := person{Rig: c.Rig, namespace: at.namespace}
	if err := wanted.scenario.before(ctx, p); err != nil {
		return err
	}
	if _, err := c.Reach(ctx, at.namespace, wanted.before); err != nil {
		return fmt.Errorf("before the fault: %w", err)
	}
	c.plan.arm(at.namespace, at)
	defer c.plan.disarm(at.namespace)
	if err := wanted.then(ctx, p); err != nil {
		return err
	}
	_, err = c.Reach(ctx, at.namespace, wanted.after)
	if err == nil {
		at.reached = time.Now()
	}
	return err
}
