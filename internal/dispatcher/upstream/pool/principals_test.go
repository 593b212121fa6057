// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"testing"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/upstreamtest"
	"toolgate.dev/toolgate/internal/registry"
)

func (f *fixture) of(t *testing.T, principal string) (session, once upstream.Conn, leave func()) {
	t.Helper()
	session, end, err := f.Session(t.Context(), upstream.Hello{Principal: principal}, nil)
	if err != nil {
		t.Fatal(err)
	}
	once, release, err := f.Once(t.Context(), principal)
	if err != nil {
		t.Fatal(err)
	}
	return session, once, func() { release(); end() }
}

func TestAPrincipalHasOneConnection(t *testing.T) {
	f := newFixture(t, upstreamtest.Good, Options{Isolation: registry.IsolationCaller, Spares: -1})
	annSession, annOnce, annLeaves := f.of(t, "ann")
	_, _, annLeavesAgain := f.of(t, "ann")
	bobSession, _, bobLeaves := f.of(t, "bob")
	for _, conn := range []upstream.Conn{annSession, annOnce, bobSession} {
		call(t, conn, "echo")
	}
	if f.spawner.Started() != 2 {
		t.Errorf("%d children, want one each", f.spawner.Started())
	}
	annLeaves()
	annLeavesAgain()
	bobLeaves()
	_, once, leave := f.of(t, "ann") // it is still there
	defer leave()
	call(t, once, "echo")
	if f.spawner.Started() != 2 {
		t.Errorf("%d children after all had left, want those from before", f.spawner.Started())
	}
}

// TestNobodyIsNoPrincipal keeps callers apart whom nobody has verified, also from each other.
func TestNobodyIsNoPrincipal(t *testing.T) {
	f := newFixture(t, upstreamtest.Good, Options{Isolation: registry.IsolationCaller, Spares: -1})
	_, _, leave := f.of(t, "")
	defer leave()
	_, _, leaveToo := f.of(t, "")
	defer leaveToo()
	if f.spawner.Started() != 4 {
		t.Errorf("%d children, want one for each session and each call", f.spawner.Started())
	}
}

func TestAPrincipalIsNoKeyWithOtherIsolation(t *testing.T) {
	f := newFixture(t, upstreamtest.Good, Options{Spares: -1})
	_, _, leave := f.of(t, "ann")
	defer leave()
	if f.spawner.Started() != 2 {
		t.Errorf("%d children, want one for the session and one for the call", f.spawner.Started())
	}
}

func TestPrincipalsAreForgotten(t *testing.T) {
	f := newFixture(t, upstreamtest.Good, Options{Isolation: registry.IsolationCaller, Spares: -1, IdleTimeout: time.Minute})
	_, _, annLeaves := f.of(t, "ann")
	ann := f.spawner.Last()
	_, _, bobLeaves := f.of(t, "bob")
	annLeaves()
	f.clock.Pending()
	f.clock.Advance(time.Minute)
	<-ann.Exited()
	f.clock.Pending() // bob's is still in use
	f.clock.Advance(time.Minute)
	bobLeaves()
	_, _, leave := f.of(t, "bob")
	defer leave()
	if f.spawner.Started() != 2 {
		t.Errorf("%d children, want bob's to be kept while it is used", f.spawner.Started())
	}
}

func TestPrincipalsShareTheRoom(t *testing.T) { // G-69
	f := newFixture(t, upstreamtest.Good, Options{Isolation: registry.IsolationCaller, Spares: -1, MaxConns: atMost(1)})
	_, _, annLeaves := f.of(t, "ann")
	ann := f.spawner.Last()
	if _, _, err := f.Session(t.Context(), upstream.Hello{Principal: "bob"}, nil); !errors.Is(err, ErrNoCapacity) {
		t.Errorf("error %v, want ErrNoCapacity", err)
	}
	annLeaves()
	_, once, bobLeaves := f.of(t, "bob") // in the place of who has left
	call(t, once, "echo")
	<-ann.Exited()
	bobLeaves()
}

func TestAPrincipalWhoseServerFailsTriesAgain(t *testing.T) {
	f := newFixture(t, upstreamtest.ExitOnInit, Options{Isolation: registry.IsolationCaller, Spares: -1})
	if _, _, err := f.Once(context.Background(), "ann"); err == nil {
		t.Fatal("a server that ends was served")
	}
	f.spawner.SetMood(upstreamtest.Good)
	f.clock.Advance(firstBackoff)
	_, once, leave := f.of(t, "ann")
	call(t, once, "echo")
	leave()
}
