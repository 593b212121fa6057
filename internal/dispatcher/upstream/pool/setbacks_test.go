// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/upstreamtest"
	"toolgate.dev/toolgate/internal/registry"
)

// fails wants a session to fail because the server ended, and returns what is said about it.
func (f *fixture) fails(t *testing.T) (message string) {
	t.Helper()
	_, _, err := f.Session(t.Context(), upstream.Hello{}, nil)
	var e *upstream.Error
	if !errors.As(err, &e) || e.Reason != registry.FailExited {
		t.Fatalf("error %v, want %s", err, registry.FailExited)
	}
	return e.Message
}

// TestAServerThatEndsWhileItStartsIsHeldBack wants many callers to cost few processes (G-60, G-61, G-69).
func TestAServerThatEndsWhileItStartsIsHeldBack(t *testing.T) {
	f := newFixture(t, upstreamtest.ExitOnInit, Options{Spares: -1})
	for range freeStarts + 1 {
		f.fails(t)
	}
	started := f.spawner.Started()
	for range 50 {
		if said := f.fails(t); !strings.Contains(said, "failed 4 times in a row, and is tried again in 200ms") {
			t.Fatal(said)
		}
		if _, _, err := f.Once(t.Context()); err == nil {
			t.Fatal("a call without a session was let through")
		}
	}
	if n := f.spawner.Started() - started; n != 0 {
		t.Errorf("%d children were started during the hold", n)
	}
	if n := f.counters.HeldBack.Load(); n != 100 {
		t.Errorf("%d were held back, want 100", n)
	}
	var holds []time.Duration
	for wait := firstHold; len(holds) < 8; {
		f.clock.Advance(wait)
		f.fails(t) // tries, and fails
		before := f.spawner.Started()
		f.fails(t) // is held back
		if f.spawner.Started() != before {
			t.Fatal("there was no hold")
		}
		wait = f.setbacks.until.Sub(f.clock.Now())
		holds = append(holds, wait)
	}
	if holds[0] != 2*firstHold || holds[len(holds)-1] != mostHold {
		t.Errorf("holds %v", holds)
	}
	f.spawner.SetMood(upstreamtest.Good)
	f.clock.Advance(mostHold)
	_, release := f.session(t, nil)
	release()
	f.spawner.SetMood(upstreamtest.ExitOnInit)
	for range freeStarts { // it begins anew
		if said := f.fails(t); strings.Contains(said, "in a row") {
			t.Errorf("held back at once: %s", said)
		}
	}
}

func TestForgive(t *testing.T) {
	f := newFixture(t, upstreamtest.ExitOnInit, Options{Spares: -1})
	for range freeStarts + 1 {
		f.fails(t)
	}
	f.spawner.SetMood(upstreamtest.Good)
	f.Forgive()
	_, release := f.session(t, nil)
	release()
}

func TestWhatIsNoSetback(t *testing.T) {
	var s setbacks
	now := time.Now()
	for range 20 {
		s.failed(now, context.Canceled)
		s.failed(now, errClosed())
	}
	if err := s.held(now); err != nil {
		t.Errorf("held back by callers who left: %v", err)
	}
	for range 20 {
		s.failed(now, upstream.Fail(registry.FailStart, nil, "Nothing answers."))
		now = now.Add(time.Minute)
	}
	s.failed(now, upstream.Fail(registry.FailStart, nil, "Nothing answers."))
	if wait := s.until.Sub(now); wait != mostListener {
		t.Errorf("a server that does not listen yet is held back for %s, want %s", wait, mostListener)
	}
}

// TestDeathsDoNotHoldUpOthers lets one caller crash its server again and again.
func TestDeathsDoNotHoldUpOthers(t *testing.T) {
	f := newFixture(t, upstreamtest.Good, Options{Spares: -1})
	for range 3 * freeStarts {
		conn, release := f.session(t, nil)
		if _, err := conn.Call(t.Context(), upstream.Call{Method: "tools/call", Params: []byte(`{"name":"die"}`)}); err == nil {
			t.Fatal("the call survived its server")
		}
		<-conn.Done()
		release()
	}
}

// TestASharedServerThatKeepsDyingIsHeldBack gives the first death a new process at once (G-73), and the next ones later.
func TestASharedServerThatKeepsDyingIsHeldBack(t *testing.T) {
	f := newFixture(t, upstreamtest.Good, Options{Isolation: registry.IsolationShared})
	conn, release := f.session(t, nil)
	defer release()
	die := func() error {
		_, err := conn.Call(t.Context(), upstream.Call{Method: "tools/call", Params: []byte(`{"name":"die"}`)})
		return err
	}
	dead := func() {
		t.Helper()
		if err := die(); err == nil {
			t.Fatal("the call survived its server")
		}
		<-f.shared.conn.Done()
	}
	dead()
	dead()
	if _, err := conn.Call(t.Context(), upstream.Call{Method: "ping"}); err == nil || f.spawner.Started() != 2 {
		t.Errorf("%d children, %v; want the third to be held back", f.spawner.Started(), err)
	}
	f.clock.Advance(firstBackoff)
	call(t, conn, "echo")
	f.clock.Advance(settled)
	dead() // after a long life
	call(t, conn, "echo")
	if f.spawner.Started() != 4 {
		t.Errorf("%d children, want 4", f.spawner.Started())
	}
}
