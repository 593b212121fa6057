// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/upstreamtest"
)

// asked is what a client says of itself that can be asked.
func asked(name string) upstream.Hello {
	return upstream.Hello{Prefers: upstream.Modern, Capabilities: []byte(`{"sampling":{}}`), ClientInfo: fmt.Appendf(nil, `{"name":%q,"version":"1"}`, name)}
}

// askable makes one call of a client that can be asked.
func (f *fixture) askable(t *testing.T, name string) {
	t.Helper()
	conn, release, err := f.Session(t.Context(), asked(name), newRecorder())
	if err != nil {
		t.Fatalf("Session: %v", err)
	}
	defer release()
	if got := call(t, conn, "ask"); got != `{"answer":{"from":"session"}}` {
		t.Errorf("got %s", got)
	}
}

// stocked waits until a kind of client has a spare, or has none and gets none.
func (f *fixture) stocked(name string, want bool) {
	for {
		f.kinds.mu.Lock()
		one := f.kinds.of(asked(name))
		is, moving := one != nil && one.conn != nil, one != nil && one.filling
		f.kinds.mu.Unlock()
		if is == want && !moving {
			return
		}
		runtime.Gosched()
	}
}

// taken waits until so many slots are taken: those of calls that are over come back in the background.
func (f *fixture) taken(n int) {
	for {
		f.slots.mu.Lock()
		taken := f.slots.taken
		f.slots.mu.Unlock()
		if taken == n {
			return
		}
		runtime.Gosched()
	}
}

func TestClientsThatCanBeAskedTakeSparesOfTheirKind(t *testing.T) {
	f := newFixture(t, upstreamtest.Good, Options{})
	f.askable(t, "a")
	f.stocked("a", false) // nobody knows yet whether it calls again
	f.askable(t, "a")
	f.stocked("a", true)
	started := f.spawner.Started()
	f.askable(t, "a")
	f.stocked("a", true)
	if got := f.spawner.Started(); got != started+1 {
		t.Errorf("%d children for the third call and the next spare, want 1", got-started)
	}
	f.askable(t, "b") // is another client, so that the server is told of it at its start
	f.askable(t, "b")
	f.stocked("b", true)
	f.stocked("a", true)
}

func TestKindsAreBounded(t *testing.T) {
	f := newFixture(t, upstreamtest.Good, Options{})
	for i := range maxKinds + 1 {
		name := fmt.Sprint("client-", i)
		f.askable(t, name)
		f.askable(t, name)
		f.stocked(name, true)
		f.clock.Advance(time.Second)
	}
	f.stocked("client-0", false)
	f.stocked("client-1", true)
}

func TestSparesOfKindsMakeRoomAndAreEnded(t *testing.T) {
	f := newFixture(t, upstreamtest.Good, Options{MaxConns: atMost(2)})
	f.askable(t, "a")
	f.taken(0)
	f.askable(t, "a")
	f.stocked("a", true)
	f.taken(1)
	_, one := f.session(t, newRecorder())
	defer one()
	_, two := f.session(t, newRecorder())
	defer two()
	f.stocked("a", false)
}

func TestACallTakesTheRoomOfASpareOfAKind(t *testing.T) {
	f := newFixture(t, upstreamtest.Good, Options{MaxConns: atMost(3), Spares: 1})
	f.askable(t, "a")
	f.taken(0)
	f.askable(t, "a")
	f.stocked("a", true)
	f.taken(1)
	for range 2 {
		_, release := f.session(t, newRecorder())
		defer release()
	}
	f.stocked("a", true)
	conn, release := f.anonymous(t)
	defer release()
	call(t, conn, "echo")
	f.stocked("a", false)
}

// A server that asks its client at once needs it to be there: nothing is started ahead.
func TestServersThatAskAtOnceHaveNoSparesOfKinds(t *testing.T) {
	f := newFixture(t, upstreamtest.AskAtStart, Options{})
	for range 4 {
		conn, release, err := f.Session(t.Context(), asked("a"), newRecorder())
		if err != nil {
			t.Fatalf("Session: %v", err)
		}
		call(t, conn, "echo")
		release()
	}
	for early := false; !early; runtime.Gosched() {
		f.kinds.mu.Lock()
		early = f.kinds.early
		f.kinds.mu.Unlock()
	}
	f.stocked("a", false)
}
