// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestRateRefills(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	callers := NewCallers(func() time.Time { return now })
	for range 60 {
		if callers.Admit("10.0.0.1", 60) != nil {
			t.Fatal("refused within the limit")
		}
	}
	if callers.Admit("10.0.0.1", 60) == nil {
		t.Error("let in over the limit")
	}
	if callers.Admit("10.0.0.2", 60) != nil {
		t.Error("another caller pays for the first")
	}
	now = now.Add(time.Second)
	if callers.Admit("10.0.0.1", 60) != nil {
		t.Error("refused after a second, in which one message more is due")
	}
}

func TestCallersAreForgotten(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	callers := NewCallers(func() time.Time { return now })
	place, _ := callers.BeginSession("keeps a session", 20)
	for i := range sweepAt * 3 {
		now = now.Add(2 * sweepEvery)
		if callers.Admit(fmt.Sprint(i), 60) != nil {
			t.Fatal("a new caller was refused")
		}
	}
	if n := len(callers.callers); n > sweepAt+1 {
		t.Errorf("%d callers are remembered", n)
	}
	if c := callers.callers["keeps a session"]; c == nil || c.sessions != 1 {
		t.Error("a caller with a session was forgotten")
	}
	place.End()
}

func TestFlight(t *testing.T) {
	var f Flight
	if !f.Begin() {
		t.Fatal("nothing may begin")
	}
	landed := f.Close()
	if !f.Begin() {
		t.Error("refused while another is in flight")
	}
	f.End()
	select {
	case <-landed:
		t.Error("landed with one in flight")
	default:
	}
	f.End()
	<-landed
	if f.Begin() {
		t.Error("let in after landing")
	}
}

func TestDeadlineStandsStillWhileHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Deadline
		start := time.Now()
		over := make(chan time.Duration, 1)
		d.Start(30*time.Second, func() { over <- time.Since(start) })
		defer d.Stop()
		time.AfterFunc(10*time.Second, func() {
			first, second := d.Hold(), d.Hold()
			time.AfterFunc(time.Minute, first)
			time.AfterFunc(2*time.Minute, second)
		})
		if got, want := <-over, 2*time.Minute+30*time.Second; got != want {
			t.Errorf("over after %v, want %v", got, want)
		}
	})
}

// A hold that began before the call did counts from the call's beginning.
func TestDeadlineThatIsHeldBeforeItStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Deadline
		release := d.Hold()
		start := time.Now()
		over := make(chan time.Duration, 1)
		d.Start(30*time.Second, func() { over <- time.Since(start) })
		defer d.Stop()
		time.AfterFunc(time.Minute, release)
		if got, want := <-over, 90*time.Second; got != want {
			t.Errorf("over after %v, want %v", got, want)
		}
	})
}
