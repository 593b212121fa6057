// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"sync"
	"time"
)

// Deadline is the time-out of one call. It stands still while the server waits for a person: their time is not the
// server's. The zero value is ready, and does nothing until the call is forwarded.
type Deadline struct {
	mu    sync.Mutex
	timer *time.Timer
	left  time.Duration
	since time.Time
	holds int
}

// Start begins the time-out. over is called at its end, unless Stop is called before.
func (d *Deadline) Start(timeout time.Duration, over func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left, d.since = timeout, time.Now()
	d.timer = time.AfterFunc(timeout, over)
	if d.holds > 0 { // the server asked before it was called
		d.timer.Stop()
	}
}

// Stop ends the time-out that Start began.
func (d *Deadline) Stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timer.Stop()
	d.timer = nil
}

// Hold stops the clock until the function that it gives is called.
func (d *Deadline) Hold() (release func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.holds++; d.holds == 1 && d.timer != nil && d.timer.Stop() {
		d.left -= time.Since(d.since)
	}
	return d.release
}

func (d *Deadline) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.holds--; d.holds == 0 && d.timer != nil {
		d.since = time.Now()
		d.timer.Reset(max(d.left, 0))
	}
}
