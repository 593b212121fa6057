// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"strings"
	"testing"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/upstreamtest"
	"toolgate.dev/toolgate/internal/registry"
)

// A server that answers at first and ends soon after, each time, is not healthy because it answers at first.
func TestAServerThatCrashesAgainAndAgainIsUnhealthyUntilItLasts(t *testing.T) {
	f := run(t, upstreamtest.Good, nil)
	for range 6 {
		f.until(t, "the server is connected", inPhase(registry.UpstreamConnected))
		f.clock.Pending()
		f.clock.Advance(10 * time.Second)
		f.spawner.Last().Kill()
		f.until(t, "it has failed", inPhase(registry.UpstreamFailed))
		f.clock.Step()
	}
	s := f.until(t, "the server is connected", inPhase(registry.UpstreamConnected))
	if s.Health.State != Unhealthy || s.Health.Message == "" {
		t.Errorf("after six crashes it is %+v", s.Health)
	}
	interval := registry.Usual().Health.IntervalSeconds
	if d := f.clock.Step(); d != time.Duration(interval)*time.Second {
		t.Fatalf("probed after %s", d)
	}
	f.clock.Pending()
	if s := f.State(); s.Health.State != Unhealthy {
		t.Errorf("after %d s it is %+v", interval, s.Health)
	}
	f.clock.Step()
	f.until(t, "it has lasted", func(s State) bool {
		return s.Health == registry.HealthState{State: Healthy, ResponseTimeMs: s.Health.ResponseTimeMs}
	})
}

// One that hangs soon after it has listed its tools is not healthy for the moment in which another process takes its place.
func TestAServerThatHangsAgainAndAgainIsUnhealthy(t *testing.T) {
	f := run(t, upstreamtest.NoPing, func(_ *fixture, _ *upstream.Options, s *Settings) {
		s.Timeout, s.FailureThreshold = 20*time.Millisecond, 2
	})
	for round := range 4 {
		s := f.until(t, "the server is connected", inPhase(registry.UpstreamConnected))
		if round >= most && s.Health.State != Unhealthy {
			t.Errorf("the %d. time it is %+v", round+1, s.Health)
		}
		f.clock.Step()
		f.until(t, "one probe is missed", inPhase(registry.UpstreamFailed))
		started := f.spawner.Started()
		f.clock.Step() // the other one is missed
		f.clock.Step() // the child is replaced
		f.until(t, "another child is connected", func(s State) bool {
			return f.spawner.Started() > started && s.Upstream.Phase == registry.UpstreamConnected
		})
	}
}

// One whose list can't be read any more is of no use, whatever it answers to a ping.
func TestAServerWhoseListFailsForGoodIsUnhealthy(t *testing.T) {
	f := run(t, upstreamtest.ListsOnce, func(_ *fixture, _ *upstream.Options, s *Settings) { s.TTL, s.Interval = 20*time.Second, 15*time.Second })
	f.until(t, "the server is connected", inPhase(registry.UpstreamConnected))
	for range 20 {
		f.clock.Step()
	}
	s := f.until(t, "it is unhealthy", func(s State) bool { return s.Health.State == Unhealthy })
	if s.Catalogue == nil || s.Upstream.Phase != registry.UpstreamFailed || !strings.Contains(s.Health.Message, "refused tools/list") {
		t.Errorf("state %+v", s)
	}
	f.clock.Pending()
	before := f.State()
	for range 6 {
		f.clock.Step()
	}
	f.clock.Pending()
	if after := f.State(); after.Version != before.Version {
		t.Errorf("the state changes from version %d to %d, though nothing does", before.Version, after.Version)
	}
}
