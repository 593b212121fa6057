// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/upstreamtest"
	"toolgate.dev/toolgate/internal/registry"
)

// What stays as it is changes no state, or all who follow it would be woken by each probe of a dead server.
func TestAServerThatStaysAwayChangesNothing(t *testing.T) {
	f := run(t, upstreamtest.Good, func(f *fixture, _ *upstream.Options, s *Settings) {
		f.spawner.Err = errors.New("no such file")
		s.Interval = time.Millisecond // each attempt counts
	})
	for range registry.Usual().Health.FailureThreshold {
		f.clock.Step()
	}
	f.clock.Pending()
	before := f.until(t, "it is unhealthy", func(s State) bool { return s.Health.State == Unhealthy })
	for range 20 {
		f.clock.Step()
	}
	f.clock.Pending() // the last attempt is over
	s := f.State()
	if s.Version != before.Version || s.Health.ConsecutiveFailures != registry.Usual().Health.FailureThreshold {
		t.Errorf("version %d with %+v, want %d", s.Version, s.Health, before.Version)
	}
	if !s.ProbedAt.After(before.ProbedAt) {
		t.Error("it was not tried again")
	}
}

func TestWhatCountsAsANewFailure(t *testing.T) {
	crash := func(message string, stderr ...string) *upstream.Error {
		return &upstream.Error{Reason: registry.FailExited, Message: message, Stderr: stderr}
	}
	for name, tc := range map[string]struct {
		next      *upstream.Error
		wantNew   bool
		threshold int // 0 for the default
	}{
		"the same again":                    {next: crash("exit code 1", "10:00:01 pid 17: no database")},
		"the same at another time":          {next: crash("exit code 1", "10:00:31 pid 1723: no database")},
		"another line":                      {next: crash("exit code 1", "10:00:31 pid 17: wrong password"), wantNew: true},
		"one line more":                     {next: crash("exit code 1", "10:00:01 pid 17: no database", "bye"), wantNew: true},
		"another exit code":                 {next: crash("exit code 137", "10:00:01 pid 17: no database"), wantNew: true},
		"another reason":                    {next: &upstream.Error{Reason: registry.FailStart, Message: "exit code 1", Stderr: []string{"10:00:01 pid 17: no database"}}, wantNew: true},
		"the same, with a higher threshold": {next: crash("exit code 1", "10:00:01 pid 17: no database"), threshold: 9, wantNew: true},
	} {
		t.Run(name, func(t *testing.T) {
			now, settings := time.Unix(1_000_000, 0), Settings{}
			p := New(nil, Options{Settings: func() Settings { return settings }, Now: func() time.Time { return now }}, slog.New(slog.DiscardHandler))
			fail := func(e *upstream.Error) State {
				now = now.Add(time.Minute)
				p.failed(e)
				return p.State()
			}
			var before State
			for range 5 {
				before = fail(crash("exit code 1", "10:00:01 pid 17: no database"))
			}
			settings.FailureThreshold = tc.threshold
			after := fail(tc.next)
			if (after.Version != before.Version) != tc.wantNew {
				t.Errorf("version %d after %d: %+v", after.Version, before.Version, after.Upstream)
			}
			if tc.wantNew && tc.threshold == 0 && (after.Upstream.Message != tc.next.Message || after.Upstream.Stderr[len(after.Upstream.Stderr)-1] != tc.next.Stderr[len(tc.next.Stderr)-1]) {
				t.Errorf("the old failure is told: %+v", after.Upstream)
			}
		})
	}
}
