// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/stdio"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/upstreamtest"
	"toolgate.dev/toolgate/internal/registry"
)

func TestMain(m *testing.M) { os.Exit(upstreamtest.Main(m, os.Getenv(upstreamtest.MoodVariable))) }

type fixture struct {
	*Pool
	spawner  *upstreamtest.Spawner
	counters upstream.Counters
	clock    *upstreamtest.Clock
}

func newFixture(t *testing.T, mood upstreamtest.Mood, opts Options) *fixture {
	t.Helper()
	leaks := goleak.IgnoreCurrent()
	f := &fixture{spawner: &upstreamtest.Spawner{Mood: mood}, clock: upstreamtest.NewClock()}
	opts.Counters, opts.Now, opts.After = &f.counters, f.clock.Now, f.clock.After
	log := slog.New(slog.DiscardHandler)
	f.Pool = New(stdio.New(f.spawner, upstream.Options{Counters: &f.counters}, log), opts, log)
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		f.spawner.Wait() // Close has ended every child
		goleak.VerifyNone(t, leaks)
	})
	return f
}

func atMost(n int) func() int { return func() int { return n } }

type recorder struct{ notices chan upstream.Event }

func newRecorder() *recorder { return &recorder{make(chan upstream.Event, 100)} }

func (r *recorder) HandleRequest(context.Context, upstream.Event) upstream.Reply {
	return upstream.Reply{Result: []byte(`{"from":"session"}`)}
}

func (r *recorder) HandleNotification(event upstream.Event) { r.notices <- event }

func (f *fixture) session(t *testing.T, handler upstream.Handler) (upstream.Conn, func()) {
	t.Helper()
	conn, release, err := f.Session(t.Context(), upstream.Hello{}, handler)
	if err != nil {
		t.Fatalf("Session: %v", err)
	}
	return conn, release
}

func (f *fixture) anonymous(t *testing.T) (upstream.Conn, func()) {
	t.Helper()
	conn, release, err := f.Once(t.Context())
	if err != nil {
		t.Fatalf("Once: %v", err)
	}
	return conn, release
}

func call(t *testing.T, conn upstream.Conn, tool string) string {
	t.Helper()
	reply, err := conn.Call(t.Context(), upstream.Call{Method: "tools/call", Params: []byte(`{"name":"` + tool + `"}`)})
	if err != nil || reply.Error != nil {
		t.Fatalf("calling %s: %v, %v", tool, reply.Error, err)
	}
	return string(reply.Result)
}

// spares waits until n are ready.
func (f *fixture) spares(n int) {
	waiting := make([]upstream.Conn, 0, n)
	for range n {
		waiting = append(waiting, <-f.ready)
	}
	for _, conn := range waiting {
		f.ready <- conn
	}
}

func TestSessionsHaveTheirOwnChildren(t *testing.T) {
	f := newFixture(t, upstreamtest.Good, Options{})
	first, firstRecorder := newRecorder(), newRecorder()
	a, releaseA := f.session(t, first)
	b, releaseB := f.session(t, firstRecorder)
	if f.spawner.Started() != 2 {
		t.Errorf("%d children, want 2", f.spawner.Started())
	}
	call(t, a, "grow")
	if e := <-first.notices; e.Method != "notifications/tools/list_changed" {
		t.Errorf("event %+v", e)
	}
	if len(firstRecorder.notices) != 0 {
		t.Error("the other session was told too")
	}
	if got := call(t, b, "ask"); got != `{"answer":{"from":"session"}}` {
		t.Errorf("got %s", got)
	}
	releaseA()
	<-a.Done()
	call(t, b, "echo")
	releaseB()
}

func TestConnectionsAreBounded(t *testing.T) { // G-69
	f := newFixture(t, upstreamtest.Good, Options{MaxConns: atMost(1), Spares: -1})
	conn, release := f.session(t, nil)
	if _, _, err := f.Session(t.Context(), upstream.Hello{}, nil); !errors.Is(err, ErrNoCapacity) {
		t.Errorf("error %v, want ErrNoCapacity", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := f.Once(ctx); !errors.Is(err, ErrNoCapacity) || !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want ErrNoCapacity and the cause", err)
	}
	release()
	<-conn.Done()
	_, release = f.anonymous(t) // it waits until there is room
	release()
}

func TestTheBoundMayChange(t *testing.T) {
	most := 1
	f := newFixture(t, upstreamtest.Good, Options{MaxConns: func() int { return most }, Spares: -1})
	f.session(t, nil)
	if _, _, err := f.Session(t.Context(), upstream.Hello{}, nil); !errors.Is(err, ErrNoCapacity) {
		t.Errorf("error %v, want ErrNoCapacity", err)
	}
	most = 2
	f.session(t, nil)
	most = 1 // nothing is taken away
	if _, _, err := f.Session(t.Context(), upstream.Hello{}, nil); !errors.Is(err, ErrNoCapacity) {
		t.Errorf("error %v, want ErrNoCapacity", err)
	}
}

func TestSlotsComeBack(t *testing.T) {
	f := newFixture(t, upstreamtest.ExitOnInit, Options{MaxConns: atMost(1), Spares: -1})
	for range 3 {
		if _, _, err := f.Session(t.Context(), upstream.Hello{}, nil); errors.Is(err, ErrNoCapacity) || err == nil {
			t.Errorf("error %v, want that of the child", err)
		}
	}
	f.spawner.SetMood(upstreamtest.Good)
	conn, _ := f.session(t, nil)
	f.spawner.Last().Kill()
	<-conn.Done()
	_, release := f.anonymous(t)
	release()
}

func TestCallsWithoutSessionTakeSpares(t *testing.T) {
	f := newFixture(t, upstreamtest.Good, Options{Spares: 2})
	if f.spawner.Started() != 0 {
		t.Error("children were started before anybody called")
	}
	conn, release := f.anonymous(t)
	call(t, conn, "echo")
	release()
	<-conn.Done()
	f.spares(2)
	if f.spawner.Started() != 3 {
		t.Errorf("%d children, want the first and two spares", f.spawner.Started())
	}
	spare, release := f.anonymous(t)
	if got := call(t, spare, "ask"); got != `{"answer":{"error":-32601}}` {
		t.Errorf("a spare answered a request of the server with %s", got)
	}
	release()
	f.spares(2) // it has been replaced
}

func TestDeadSparesAreNotGivenOut(t *testing.T) {
	f := newFixture(t, upstreamtest.Good, Options{Spares: 1})
	_, release := f.anonymous(t)
	f.spares(1)
	spare := <-f.ready
	f.spawner.Last().Kill()
	<-spare.Done()
	f.ready <- spare
	conn, releaseConn := f.anonymous(t)
	call(t, conn, "echo")
	releaseConn()
	release()
}

func TestIdleSparesAreEnded(t *testing.T) {
	f := newFixture(t, upstreamtest.Good, Options{Spares: 1, IdleTimeout: time.Minute})
	_, release := f.anonymous(t)
	release()
	f.spares(1)
	f.clock.Pending()
	f.clock.Advance(30 * time.Second)
	_, release = f.anonymous(t)
	release()
	f.spares(1)
	f.clock.Advance(30 * time.Second) // the timer rings, but the last call is younger
	if d := f.clock.Pending(); d != time.Minute {
		t.Errorf("the next look is in %s, want a minute", d)
	}
	spare := <-f.ready
	f.ready <- spare
	f.clock.Advance(time.Minute)
	<-spare.Done()
}

func TestASessionTakesTheRoomOfASpare(t *testing.T) {
	f := newFixture(t, upstreamtest.Good, Options{Spares: 1, MaxConns: atMost(2)})
	_, release := f.anonymous(t)
	f.spares(1)
	_, releaseSession := f.session(t, nil)
	release()
	releaseSession()
}

func TestManyCallsAtOnce(t *testing.T) { // G-63
	f := newFixture(t, upstreamtest.Good, Options{MaxConns: atMost(4), Spares: 2})
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			conn, release, err := f.Once(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			defer release()
			if reply, err := conn.Call(t.Context(), upstream.Call{Method: "tools/call", Params: []byte(`{"name":"echo"}`)}); err != nil || reply.Error != nil {
				t.Errorf("%v, %v", reply.Error, err)
			}
		})
	}
	group.Wait()
}

func TestSharedConnection(t *testing.T) {
	f := newFixture(t, upstreamtest.Good, Options{Isolation: registry.IsolationShared})
	first, second := newRecorder(), newRecorder()
	a, releaseA := f.session(t, first)
	b, releaseB := f.session(t, second)
	c, releaseC := f.anonymous(t)
	if f.spawner.Started() != 1 { // G-72
		t.Errorf("%d children, want 1", f.spawner.Started())
	}
	if got := call(t, a, "ask"); got != `{"answer":{"error":-32601}}` {
		t.Errorf("a request of the server was answered with %s", got)
	}
	call(t, b, "log") // nobody knows whose it is
	dropped := f.counters.DroppedMessages.Load()
	if dropped != 2 || len(first.notices)+len(second.notices) != 0 {
		t.Errorf("%d dropped, want the request and the log message", dropped)
	}
	progress := 0
	reply, err := b.Call(t.Context(), upstream.Call{Method: "tools/call", Params: []byte(`{"name":"progress"}`), Progress: func([]byte) { progress++ }})
	if err != nil || reply.Error != nil || progress != 100 {
		t.Errorf("%d of progress, %v, %v", progress, reply.Error, err)
	}
	call(t, c, "grow")
	<-first.notices
	<-second.notices
	if cat, err := a.Catalogue(t.Context()); err != nil || cat.Tools[len(cat.Tools)-1].Name != "grown" {
		t.Errorf("catalogue %+v, %v", cat, err)
	}
	releaseA()
	<-a.Done()
	if _, err := a.Call(t.Context(), upstream.Call{Method: "ping"}); err == nil {
		t.Error("a released connection was used")
	}
	call(t, b, "echo")
	releaseB()
	releaseC()
}

func TestSharedConnectionComesBack(t *testing.T) {
	f := newFixture(t, upstreamtest.Good, Options{Isolation: registry.IsolationShared})
	conn, release := f.session(t, nil)
	defer release()
	if _, err := conn.Call(t.Context(), upstream.Call{Method: "tools/call", Params: []byte(`{"name":"die"}`)}); err == nil {
		t.Fatal("the call survived its server")
	}
	broken := errors.New("no such file")
	f.spawner.SetErr(broken)
	for range 3 { // the last failure holds while it is fresh
		if _, err := conn.Call(t.Context(), upstream.Call{Method: "ping"}); !errors.Is(err, broken) {
			t.Fatalf("error %v, want %v", err, broken)
		}
	}
	f.spawner.SetErr(nil)
	if _, err := conn.Call(t.Context(), upstream.Call{Method: "ping"}); !errors.Is(err, broken) {
		t.Errorf("error %v: it was tried again before its time", err)
	}
	f.clock.Advance(firstBackoff)
	call(t, conn, "echo")
	if f.spawner.Started() != 2 {
		t.Errorf("%d children, want 2", f.spawner.Started())
	}
	select {
	case <-conn.Done():
		t.Error("the session ended with the child")
	default:
	}
}

func TestAModernServerIsShared(t *testing.T) {
	f := newFixture(t, upstreamtest.Modern, Options{})
	a, releaseA := f.session(t, newRecorder())
	b, releaseB := f.anonymous(t)
	for _, conn := range []upstream.Conn{a, b} {
		if got := call(t, conn, "echo"); !strings.Contains(got, "2026-07-28") || conn.Info().Era != upstream.Modern {
			t.Errorf("got %s", got)
		}
	}
	if f.spawner.Started() != 2 {
		t.Errorf("%d children, want the one that showed its era and the shared one", f.spawner.Started())
	}
	releaseA()
	call(t, b, "echo")
	releaseB()
}

func TestEachCallerOfAServerOfBothErasHasItsOwn(t *testing.T) {
	f := newFixture(t, upstreamtest.BothEras, Options{})
	legacy, releaseLegacy := f.session(t, newRecorder())
	defer releaseLegacy()
	a, releaseA := f.anonymous(t)
	defer releaseA()
	again, releaseAgain := f.session(t, newRecorder())
	defer releaseAgain()
	b, releaseB := f.anonymous(t)
	defer releaseB()
	for _, conn := range []upstream.Conn{legacy, again} {
		if conn.Info().Era != upstream.Legacy {
			t.Errorf("a session is %s, want it to keep its own era", conn.Info().Era)
		}
	}
	for _, conn := range []upstream.Conn{a, b} {
		if conn.Info().Era != upstream.Modern {
			t.Errorf("a call without a session is %s, though the server is modern as well", conn.Info().Era)
		}
	}
	if f.spawner.Started() != 4 {
		t.Errorf("%d children, want two of sessions, the one that showed its era and the shared one", f.spawner.Started())
	}
}

func TestCloseEndsWhatIsWaiting(t *testing.T) {
	f := newFixture(t, upstreamtest.Good, Options{MaxConns: atMost(1), Spares: -1})
	conn, _ := f.session(t, nil)
	result := make(chan error)
	go func() {
		_, _, err := f.Once(t.Context())
		result <- err
	}()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	<-conn.Done()
	if err := <-result; err == nil {
		t.Error("a closed pool gave a connection out")
	}
	if _, _, err := f.Session(t.Context(), upstream.Hello{}, nil); err == nil {
		t.Error("a closed pool gave a connection out")
	}
}

func TestTellsWhatConnectionsOfClientsList(t *testing.T) {
	for name, tc := range map[string]struct {
		isolation registry.Isolation
		use       func(f *fixture) (upstream.Conn, func())
	}{
		"that of a session":                {registry.IsolationSession, func(f *fixture) (upstream.Conn, func()) { return f.session(t, nil) }},
		"that of a call without a session": {registry.IsolationSession, func(f *fixture) (upstream.Conn, func()) { return f.anonymous(t) }},
		"the shared one":                   {registry.IsolationShared, func(f *fixture) (upstream.Conn, func()) { return f.session(t, nil) }},
	} {
		t.Run(name, func(t *testing.T) {
			told := make(chan *upstream.Catalogue, 10)
			f := newFixture(t, upstreamtest.Good, Options{Isolation: tc.isolation, Spares: -1, Listed: func(c *upstream.Catalogue) { told <- c }})
			conn, release := tc.use(f)
			defer release()
			want, err := conn.Catalogue(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Catalogue(t.Context()); err != nil || len(told) != 1 || <-told != want {
				t.Errorf("not told once of what was read: %v", err)
			}
		})
	}
}
