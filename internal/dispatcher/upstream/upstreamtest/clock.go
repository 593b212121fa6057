// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package upstreamtest

import (
	"sync"
	"time"
)

// Clock moves only when it is told to.
type Clock struct {
	mu     sync.Mutex
	now    time.Time
	timers map[*timer]bool
	set    chan struct{} // closed and renewed when a timer is set
}

type timer struct {
	at   time.Time
	ring chan time.Time
}

// NewClock returns a clock at a fixed time.
func NewClock() *Clock {
	return &Clock{now: time.Unix(1_800_000_000, 0), timers: map[*timer]bool{}, set: make(chan struct{})}
}

// Now is the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// After sets a timer.
func (c *Clock) After(d time.Duration) (<-chan time.Time, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{at: c.now.Add(d), ring: make(chan time.Time, 1)}
	c.timers[t] = true
	c.ring()
	close(c.set)
	c.set = make(chan struct{})
	return t.ring, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.timers, t)
	}
}

// Advance moves the clock, and rings the timers that are due.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.ring()
}

// ring rings what is due. c.mu is held.
func (c *Clock) ring() {
	for t := range c.timers {
		if !t.at.After(c.now) {
			delete(c.timers, t)
			t.ring <- c.now
		}
	}
}

// Pending waits until a timer is set, and returns how long it still runs; of several the shortest.
func (c *Clock) Pending() time.Duration {
	var least time.Duration
	c.await(func(d time.Duration) bool {
		least = d
		return true
	})
	return least
}

// Await waits until the timer that rings next still runs for d.
func (c *Clock) Await(d time.Duration) {
	c.await(func(least time.Duration) bool { return least == d })
}

// await waits until the time to the next ring fits.
func (c *Clock) await(fits func(time.Duration) bool) {
	for {
		c.mu.Lock()
		least, found := time.Duration(0), false
		for t := range c.timers {
			if d := t.at.Sub(c.now); !found || d < least {
				least, found = d, true
			}
		}
		set := c.set
		c.mu.Unlock()
		if found && fits(least) {
			return
		}
		<-set
	}
}

// Step waits until a timer is set, and moves the clock to where it rings. It returns by how much.
func (c *Clock) Step() time.Duration {
	d := c.Pending()
	c.Advance(d)
	return d
}
