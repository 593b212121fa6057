// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/stdio"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/upstreamtest"
	"toolgate.dev/toolgate/internal/registry"
)

func TestMain(m *testing.M) { os.Exit(upstreamtest.Main(m, os.Getenv(upstreamtest.MoodVariable))) }

type fixture struct {
	*Prober
	spawner *upstreamtest.Spawner
	clock   *upstreamtest.Clock
}

// run starts a Prober over children in a mood, for the time of the test.
func run(t *testing.T, mood upstreamtest.Mood, change func(*fixture, *upstream.Options, *Settings)) *fixture {
	t.Helper()
	leaks := goleak.IgnoreCurrent()
	f := &fixture{spawner: &upstreamtest.Spawner{Mood: mood}, clock: upstreamtest.NewClock()}
	counters := new(upstream.Counters)
	opts, settings := upstream.Options{Counters: counters, Now: f.clock.Now}, Settings{}
	if change != nil {
		change(f, &opts, &settings)
	}
	log := slog.New(slog.DiscardHandler)
	f.Prober = New(stdio.New(f.spawner, opts, log), Options{
		Settings: func() Settings { return settings }, Counters: counters, Now: f.clock.Now, After: f.clock.After,
	}, log)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		f.spawner.Wait()
		goleak.VerifyNone(t, leaks)
	})
	return f
}

// until waits for a state that fits.
func (f *fixture) until(t *testing.T, what string, fits func(State) bool) State {
	t.Helper()
	for {
		s := f.State()
		if fits(s) {
			return s
		}
		select {
		case <-s.Changed:
		case <-t.Context().Done():
			t.Fatalf("no state where %s; the last is %+v", what, s)
		}
	}
}

func inPhase(phase registry.UpstreamPhase) func(State) bool {
	return func(s State) bool { return s.Upstream.Phase == phase }
}

func TestGoodServer(t *testing.T) {
	f := run(t, upstreamtest.ListsOnly, nil)
	s := f.until(t, "the server is connected", inPhase(registry.UpstreamConnected))
	want := State{
		Upstream: registry.UpstreamState{
			Phase: registry.UpstreamConnected, ProtocolVersion: "2025-11-25", ServerName: "child", ServerVersion: "1.2.3",
			Capabilities: []string{"prompts", "resources", "tools"},
		},
		Health: registry.HealthState{State: Healthy},
	}
	if diff := cmp.Diff(want, s, cmpopts.IgnoreFields(State{}, "Version", "Info", "Catalogue", "Observed", "ProbedAt", "ReadAt", "Changed")); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	if s.Observed.Resources != 3 || s.Observed.Prompts != 3 || len(s.Observed.Tools) == 0 || s.Observed.Digest != s.Catalogue.Digest || s.Catalogue.Resources != 3 {
		t.Errorf("catalogue %+v", s.Observed)
	}
	if s.Info.Era != upstream.Legacy {
		t.Errorf("info %+v", s.Info)
	}
}

func TestFailuresAreTold(t *testing.T) {
	for name, tc := range map[string]struct {
		mood   upstreamtest.Mood
		change func(*fixture, *upstream.Options, *Settings)
		want   registry.FailureReason
		stderr string
	}{
		"never starts": {mood: upstreamtest.Good, want: registry.FailStart,
			change: func(f *fixture, _ *upstream.Options, _ *Settings) { f.spawner.Err = errors.New("no such file") }},
		"exits at once":                    {mood: upstreamtest.Exit, want: registry.FailExited, stderr: "cannot find the database"},
		"speaks no MCP":                    {mood: upstreamtest.Echo, want: registry.FailNotMCP},
		"speaks an unknown version":        {mood: upstreamtest.OldVersion, want: registry.FailProtocol},
		"lists for ever":                   {mood: upstreamtest.CursorLoop, want: registry.FailCatalogue},
		"answers tools/list with nonsense": {mood: upstreamtest.BadPage, want: registry.FailCatalogue},
		"hangs in initialize": {mood: upstreamtest.Silent, want: registry.FailTimeout,
			change: func(_ *fixture, o *upstream.Options, _ *Settings) { o.StartTimeout = 3 * time.Second }},
		"hangs in tools/list": {mood: upstreamtest.HangList, want: registry.FailTimeout, stderr: "waiting for the index",
			change: func(_ *fixture, o *upstream.Options, _ *Settings) { o.ListTimeout = 3 * time.Second }},
	} {
		t.Run(name, func(t *testing.T) {
			f := run(t, tc.mood, tc.change)
			s := f.until(t, "the server has failed", inPhase(registry.UpstreamFailed))
			if s.Upstream.Reason != tc.want || s.Upstream.Message == "" || s.Catalogue != nil {
				t.Errorf("state %+v, want %s", s.Upstream, tc.want)
			}
			if !strings.Contains(strings.Join(s.Upstream.Stderr, "\n"), tc.stderr) {
				t.Errorf("stderr %q, want %q", s.Upstream.Stderr, tc.stderr)
			}
			if s.Health.State != Unknown || s.Health.ConsecutiveFailures != 1 {
				t.Errorf("health %+v", s.Health)
			}
			f.spawner.SetErr(nil)
			f.spawner.SetMood(upstreamtest.Good)
			f.clock.Step() // the delay before the next attempt
			s = f.until(t, "the server is back", inPhase(registry.UpstreamConnected))
			if s.Upstream.Reason != "" || s.Upstream.Message != "" || s.Upstream.Stderr != nil || s.Health.State != Healthy {
				t.Errorf("state %+v", s)
			}
		})
	}
}

func TestOddServersAreConnected(t *testing.T) {
	for name, tc := range map[string]struct {
		mood       upstreamtest.Mood
		wantTools  int
		wantErrors int
		wantNoise  bool
	}{
		"lists nothing":               {mood: upstreamtest.NoTools},
		"lists a tool without schema": {mood: upstreamtest.NoSchema, wantTools: 2, wantErrors: 1},
		"prints log lines on stdout":  {mood: upstreamtest.Noisy, wantTools: 12, wantNoise: true},
		"asks the client at once":     {mood: upstreamtest.AskAtStart, wantTools: 12},
	} {
		t.Run(name, func(t *testing.T) {
			f := run(t, tc.mood, nil)
			s := f.until(t, "the server is connected", inPhase(registry.UpstreamConnected))
			broken := 0
			for _, tool := range s.Observed.Tools {
				if tool.Error != "" {
					broken++
				}
			}
			if len(s.Observed.Tools) != tc.wantTools || broken != tc.wantErrors || (s.Upstream.StdoutNoise > 0) != tc.wantNoise {
				t.Errorf("%d tools, %d broken, %d lines of noise", len(s.Observed.Tools), broken, s.Upstream.StdoutNoise)
			}
		})
	}
}

func TestASlowStartIsTold(t *testing.T) {
	f := run(t, upstreamtest.Silent, func(_ *fixture, o *upstream.Options, _ *Settings) { o.SlowAfter = time.Nanosecond })
	s := f.until(t, "it says why", func(s State) bool { return s.Upstream.Reason != "" })
	if s.Upstream.Phase != registry.UpstreamConnecting || s.Upstream.Reason != registry.FailTimeout {
		t.Errorf("state %+v", s.Upstream)
	}
}

// TestAServerThatComesUpHasNotFailed: the container of a server starts beside ours, and may start later.
func TestAServerThatComesUpHasNotFailed(t *testing.T) {
	nobody := &net.OpError{Op: "dial", Net: "unixpacket", Err: errors.New("no such file or directory")}
	f := run(t, upstreamtest.Good, func(f *fixture, _ *upstream.Options, _ *Settings) { f.spawner.Err = nobody })
	s := f.until(t, "it says why", func(s State) bool { return s.Upstream.Reason != "" })
	if s.Upstream.Phase != registry.UpstreamConnecting || s.Upstream.Reason != registry.FailStart || s.Health != (registry.HealthState{State: Unknown}) {
		t.Errorf("at first: state %+v, health %+v", s.Upstream, s.Health)
	}
	f.clock.Pending() // the next attempt is waited for
	f.clock.Advance(upstream.DefaultStartTimeout)
	s = f.until(t, "it has failed, since no start may take so long", inPhase(registry.UpstreamFailed))
	if s.Upstream.Reason != registry.FailStart || s.Health.ConsecutiveFailures != 1 {
		t.Errorf("in the end: state %+v, health %+v", s.Upstream, s.Health)
	}
	f.spawner.SetErr(nil)
	f.clock.Step()
	f.until(t, "it is there", inPhase(registry.UpstreamConnected))
	f.spawner.SetErr(nobody)
	f.spawner.Last().Kill()
	f.until(t, "it was there and has gone", inPhase(registry.UpstreamFailed))
	f.clock.Step()
	s = f.until(t, "nothing is there any more", func(s State) bool { return s.Upstream.Reason == registry.FailStart })
	if s.Upstream.Phase != registry.UpstreamFailed {
		t.Errorf("once it has served: state %+v", s.Upstream)
	}
}

func TestDeathIsSeenAtOnceAndHealed(t *testing.T) {
	f := run(t, upstreamtest.Good, nil)
	before := f.until(t, "the server is connected", inPhase(registry.UpstreamConnected))
	f.spawner.Last().Kill()
	s := f.until(t, "it has failed", inPhase(registry.UpstreamFailed))
	if s.Upstream.Reason != registry.FailExited || s.Catalogue != before.Catalogue || s.Health.State != Healthy {
		t.Errorf("state %+v", s)
	}
	if d := f.clock.Step(); d != firstBackoff {
		t.Errorf("tried again after %s, want %s", d, firstBackoff)
	}
	s = f.until(t, "the server is back", inPhase(registry.UpstreamConnected))
	if s.Catalogue != before.Catalogue || s.Health.ConsecutiveFailures != 0 {
		t.Errorf("state %+v", s)
	}
}

func TestBackoffGrowsAndForgets(t *testing.T) {
	f := run(t, upstreamtest.Exit, nil)
	var got []time.Duration
	for range 8 {
		got = append(got, f.clock.Step())
	}
	want := []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second, 30 * time.Second}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("delays (-want +got):\n%s", diff)
	}
	f.until(t, "it is unhealthy", func(s State) bool { return s.Health.State == Unhealthy })
}

func TestAChangedCatalogueIsReadAgain(t *testing.T) {
	f := run(t, upstreamtest.Chatty, nil) // each reading reports a change (G-59)
	f.until(t, "the server is connected", inPhase(registry.UpstreamConnected))
	for range 3 {
		f.clock.Await(readGap) // no sooner
		f.clock.Advance(readGap)
	}
}

func TestTheCatalogueAges(t *testing.T) {
	f := run(t, upstreamtest.Good, func(_ *fixture, _ *upstream.Options, s *Settings) { s.TTL, s.Interval = time.Minute, time.Hour })
	before := f.until(t, "the server is connected", inPhase(registry.UpstreamConnected))
	if d := f.clock.Step(); d != time.Minute {
		t.Errorf("read again after %s, want a minute", d)
	}
	f.clock.Pending() // it has been
	if s := f.State(); s.Version != before.Version || !s.ProbedAt.After(before.ProbedAt) {
		t.Errorf("version %d at %s, want %d later than %s", s.Version, s.ProbedAt, before.Version, before.ProbedAt)
	}
}

func TestAServerThatDoesNotAnswerItsProbes(t *testing.T) {
	f := run(t, upstreamtest.NoPing, func(_ *fixture, _ *upstream.Options, s *Settings) {
		s.Timeout, s.FailureThreshold = 20*time.Millisecond, 2
	})
	f.until(t, "the server is connected", inPhase(registry.UpstreamConnected))
	if d, want := f.clock.Step(), (Settings{}).withDefaults().Interval; d != want {
		t.Errorf("probed after %s, want %s", d, want)
	}
	s := f.until(t, "one probe is missed", inPhase(registry.UpstreamFailed))
	if s.Upstream.Reason != registry.FailTimeout || s.Health.State != Healthy || s.Health.ConsecutiveFailures != 1 {
		t.Errorf("state %+v", s)
	}
	f.spawner.SetMood(upstreamtest.Good)
	f.clock.Step()
	f.until(t, "it is unhealthy", func(s State) bool { return s.Health.State == Unhealthy })
	f.clock.Step() // the child is replaced
	f.until(t, "another child answers", func(s State) bool { return s.Health.State == Healthy })
	if f.spawner.Started() != 2 {
		t.Errorf("%d children, want 2", f.spawner.Started())
	}
}

// TestTheServersOwnTimeToLiveCounts reads the catalogue again when the server says that it is old, if that is sooner.
func TestTheServersOwnTimeToLiveCounts(t *testing.T) {
	f := run(t, upstreamtest.Modern, func(_ *fixture, _ *upstream.Options, s *Settings) { s.TTL, s.Interval = time.Minute, time.Hour })
	f.until(t, "the server is connected", inPhase(registry.UpstreamConnected))
	f.clock.Await(20 * time.Second)
}

func TestModernServerIsProbed(t *testing.T) {
	f := run(t, upstreamtest.Modern, nil)
	f.until(t, "the server is connected", inPhase(registry.UpstreamConnected))
	before := f.State().ProbedAt
	f.clock.Step()
	f.clock.Pending()
	if s := f.State(); s.Health.State != Healthy || !s.ProbedAt.After(before) || s.Upstream.ProtocolVersion != "2026-07-28" {
		t.Errorf("state %+v", s)
	}
}
