// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"toolgate.dev/toolgate/controllers/leadership"
	"toolgate.dev/toolgate/test/faults/proxy"
	"toolgate.dev/toolgate/test/faults/rig"
)

// ending is how a leader stops leading.
type ending string

// The endings. A zombie is paused until another one leads and its own lease is over, and goes on then.
const (
	handOver ending = "hand-over"
	crash    ending = "crash"
	zombie   ending = "zombie"
)

var endings = []ending{zombie, handOver, crash}

// reign is one round: how it ends, after how many more writes, and whether people change specs meanwhile.
type reign struct {
	ending ending
	writes int
	pause  time.Duration
	atRest bool
}

// succession is the sweep.
type succession struct {
	*rig.Rig
	times leadership.Times
	// before and after are the states of a clean run.
	before, after rig.State

	mu     sync.Mutex
	rounds map[ending]int
	// vacant is how long nobody led, from the signal to the next lease.
	vacant map[ending][]time.Duration
	done   atomic.Int64
	// late are writes of a manager whose lease was over; twice what was done a second time.
	late, twice, differing atomic.Int64
}

// TestLeader ends leaders in each way while specs change, and wants the state that a manager alone comes to.
func TestLeader(t *testing.T) {
	r, began := need(t), time.Now()
	times := sized(t, leadership.Times{Lease: 6 * time.Second, Renew: 4 * time.Second, Retry: time.Second}, leadership.Usual(), leadership.Usual())
	rounds, lanes := sized(t, 3, 12, 50), sized(t, 1, 2, 3)
	s := &succession{Rig: r, times: times, rounds: map[ending]int{}, vacant: map[ending][]time.Duration{}}
	s.rehearse(t)
	progress(t, &s.done, "rounds")
	reigns := make(chan reign, rounds)
	random := dice(5)
	for i := range rounds {
		next := reign{
			ending: endings[i%len(endings)], writes: random.IntN(12), pause: time.Duration(random.Int64N(int64(times.Retry))), atRest: i%5 == 1,
		}
		if inPart(t, i) {
			reigns <- next
		}
	}
	close(reigns)
	var group errgroup.Group
	for range lanes {
		group.Go(func() error { return s.lane(t, reigns) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	figures(t, began, "%d rounds (%d hand-overs, %d crashes, %d zombies), lease %v, renew deadline %v: %d writes after the end of a lease, %d Deployments or events twice, %d differences; without a leader p50/max: hand-over %s, crash %s, zombie %s",
		s.done.Load(), s.rounds[handOver], s.rounds[crash], s.rounds[zombie], times.Lease, times.Renew, s.late.Load(), s.twice.Load(), s.differing.Load(),
		middle(s.vacant[handOver]), middle(s.vacant[crash]), middle(s.vacant[zombie]))
}

// middle gives median and maximum.
func middle(all []time.Duration) string {
	if len(all) == 0 {
		return "-"
	}
	slices.Sort(all)
	return fmt.Sprintf("%.1f/%.1f s", all[len(all)/2].Seconds(), all[len(all)-1].Seconds())
}

// rehearse runs the changes under a manager that nothing happens to.
func (s *succession) rehearse(t *testing.T) {
	t.Helper()
	ctx, ns := t.Context(), namespace(t, s.Rig)
	m := manager(t, s.Rig, rig.ManagerOptions{Namespaces: []string{ns}})
	c := &changes{person: person{Rig: s.Rig, namespace: ns}}
	err := c.begin(ctx)
	if err == nil {
		s.before, err = c.rest(ctx, 1)
	}
	for i := 0; i < 2*kindsOfChange && err == nil; i++ {
		err = c.step(ctx, i)
	}
	if err == nil {
		err = c.finish(ctx)
	}
	if err == nil {
		s.after, err = c.rest(ctx, 1+newServers)
	}
	if err != nil {
		t.Fatal("the clean run failed: ", err)
	}
	if unknown := rig.Unknown(m.Writes()); len(unknown) > 0 {
		t.Errorf("the manager writes %v, which rig.State does not compare", unknown)
	}
}

// lane lets pairs of managers follow each other in a namespace of its own.
func (s *succession) lane(t *testing.T, reigns <-chan reign) error {
	ctx := t.Context()
	var namespaces [2]string
	for i := range namespaces {
		var err error
		if namespaces[i], err = s.Namespace(ctx); err != nil {
			return err
		}
	}
	p := &pair{succession: s, person: person{Rig: s.Rig, namespace: namespaces[0]}, leases: namespaces[1]}
	defer func() {
		for _, process := range []*rig.Process{p.leader, p.standby} {
			if process != nil {
				if err := process.Stop(); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	var err error
	if p.leader, err = p.enlist(ctx); err != nil {
		return err
	}
	if _, err := p.elected(ctx, p.leader); err != nil {
		return err
	}
	for reign := range reigns {
		if p.standby, err = p.enlist(ctx); err != nil {
			return err
		}
		faults, err := p.round(ctx, reign)
		if err != nil {
			return fmt.Errorf("%+v: %w", reign, err)
		}
		for _, fault := range faults {
			t.Errorf("%+v: %s", reign, fault)
		}
		s.done.Add(1)
	}
	return nil
}

// note keeps what came of a round.
func (s *succession) note(e ending, vacant time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rounds[e]++
	s.vacant[e] = append(s.vacant[e], vacant)
}

// until waits until something is so.
func until(ctx context.Context, what string, is func() bool) error {
	began := time.Now()
	for !is() {
		if time.Since(began) > rig.Patience {
			return fmt.Errorf("%s: not within %v", what, rig.Patience)
		}
		if err := rig.Wait(ctx, 2*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// lastRenewal is the last one by which a manager leads.
func lastRenewal(p *rig.Process) time.Time {
	var at time.Time
	for _, r := range p.Renewals() {
		if r.Holder != "" {
			at = r.At
		}
	}
	return at
}

// after are the writes that came later than a moment.
func after(sent []proxy.Sent, at time.Time) []proxy.Sent {
	return slices.DeleteFunc(sent, func(s proxy.Sent) bool { return !s.At.After(at) })
}
