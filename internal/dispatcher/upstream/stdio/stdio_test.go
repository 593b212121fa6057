// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

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
	"go.uber.org/goleak"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/upstreamtest"
	"toolgate.dev/toolgate/internal/registry"
)

func TestMain(m *testing.M) { os.Exit(upstreamtest.Main(m, os.Getenv(upstreamtest.MoodVariable))) }

// recorder is a Handler that keeps what comes.
type recorder struct {
	answer  func(ctx context.Context, event upstream.Event) upstream.Reply
	notices chan upstream.Event
}

func newRecorder() *recorder {
	return &recorder{notices: make(chan upstream.Event, 1000)}
}

func (r *recorder) HandleRequest(ctx context.Context, event upstream.Event) upstream.Reply {
	return r.answer(ctx, event)
}

func (r *recorder) HandleNotification(event upstream.Event) { r.notices <- event }

type fixture struct {
	spawner  *upstreamtest.Spawner
	counters upstream.Counters
	opts     upstream.Options
	handler  upstream.Handler
}

// dial connects to a child in a mood. Everything has ended when the test has.
func dial(t *testing.T, mood upstreamtest.Mood, change func(*fixture)) (upstream.Conn, *fixture) {
	t.Helper()
	conn, f, err := tryDial(t, mood, change)
	if err != nil {
		t.Fatalf("Dial: %v", err)
	}
	return conn, f
}

func tryDial(t *testing.T, mood upstreamtest.Mood, change func(*fixture)) (upstream.Conn, *fixture, error) {
	t.Helper()
	leaks := goleak.IgnoreCurrent()
	f := &fixture{spawner: &upstreamtest.Spawner{Mood: mood}, handler: newRecorder()}
	f.opts.Counters = &f.counters
	if change != nil {
		change(f)
	}
	dialer := New(f.spawner, f.opts, slog.New(slog.DiscardHandler))
	conn, err := dialer.Dial(t.Context(), upstream.Hello{}, f.handler)
	t.Cleanup(func() {
		if conn != nil {
			if err := conn.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		}
		f.spawner.Wait()
		goleak.VerifyNone(t, leaks)
	})
	return conn, f, err
}

func call(t *testing.T, conn upstream.Conn, name, args string) (upstream.Reply, error) {
	t.Helper()
	return conn.Call(t.Context(), upstream.Call{Method: "tools/call", Params: []byte(`{"name":"` + name + `","arguments":` + args + `}`)})
}

func mustCall(t *testing.T, conn upstream.Conn, name, args string) string {
	t.Helper()
	reply, err := call(t, conn, name, args)
	if err != nil {
		t.Fatalf("calling %s: %v", name, err)
	}
	if reply.Error != nil {
		t.Fatalf("calling %s: %v", name, reply.Error)
	}
	return string(reply.Result)
}

// failureOf holds that err is a failure of this reason.
func failureOf(t *testing.T, err error, reason registry.FailureReason) *upstream.Error {
	t.Helper()
	var e *upstream.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v (%T), want an *upstream.Error", err, err)
	}
	if e.Reason != reason {
		t.Fatalf("reason %s (%s), want %s", e.Reason, e.Message, reason)
	}
	return e
}

func wantFailure(t *testing.T, err error, reason registry.FailureReason) {
	t.Helper()
	_ = failureOf(t, err, reason)
}

func TestDialSaysWhoTheServerIs(t *testing.T) {
	conn, _ := dial(t, upstreamtest.Good, nil)
	want := upstream.Info{
		Era: upstream.Legacy, ProtocolVersion: "2025-11-25", ServerInfo: []byte(`{"name":"child","version":"1.2.3"}`),
		Capabilities: []byte(`{"tools":{"listChanged":true}}`), Instructions: []byte(`"be \"good\""`), Meta: []byte(`{"x":1}`),
	}
	if diff := cmp.Diff(want, conn.Info()); diff != "" {
		t.Errorf("info (-want +got):\n%s", diff)
	}
}

func TestDialFails(t *testing.T) {
	short := func(f *fixture) { f.opts.StartTimeout = 300 * time.Millisecond }
	for name, tc := range map[string]struct {
		mood   upstreamtest.Mood
		change func(*fixture)
		want   registry.FailureReason
		stderr string
		says   string
	}{
		"the command is not found (G-75)": {mood: upstreamtest.Good, change: func(f *fixture) { f.spawner.Err = errors.New("no such file") },
			want: registry.FailStart, says: "could not be started: no such file"},
		"nobody is there to start the command": {mood: upstreamtest.Good, want: registry.FailStart, says: "The container of the server is not there",
			change: func(f *fixture) { f.spawner.Err = &net.OpError{Op: "dial", Err: errors.New("no such file")} }},
		"the child exits before its first byte (G-61)": {mood: upstreamtest.Exit, want: registry.FailExited, stderr: "cannot find the database", says: "exit status 3"},
		"the child exits in initialize (G-61)":         {mood: upstreamtest.ExitOnInit, want: registry.FailExited, stderr: "no token in the environment", says: "exit status 1"},
		"the child is silent (G-75)":                   {mood: upstreamtest.Silent, change: short, want: registry.FailTimeout, says: "within 300ms"},
		"the child reads to the end first (G-77)":      {mood: upstreamtest.ToEnd, change: short, want: registry.FailTimeout, says: "does not flush"},
		"the child prints text and speaks no MCP":      {mood: upstreamtest.Text, change: func(f *fixture) { f.opts.StartTimeout = 3 * time.Second }, want: registry.FailNotMCP, says: "not JSON-RPC"},
		"the child sends back what it reads":           {mood: upstreamtest.Echo, want: registry.FailNotMCP, says: "sends back"},
		"the server refuses initialize":                {mood: upstreamtest.RefuseInit, want: registry.FailStart, says: "-32603"},
		"the server speaks an unknown version":         {mood: upstreamtest.OldVersion, want: registry.FailProtocol, says: `"1999-01-01"; known are 2025-11-25`},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := tryDial(t, tc.mood, tc.change)
			e := failureOf(t, err, tc.want)
			if !strings.Contains(e.Message, tc.says) {
				t.Errorf("message %q, want %q in it", e.Message, tc.says)
			}
			if !strings.Contains(strings.Join(e.Stderr, "\n"), tc.stderr) {
				t.Errorf("stderr %q, want %q in it", e.Stderr, tc.stderr)
			}
		})
	}
}

func TestDialEndsWithItsCaller(t *testing.T) {
	gone := errors.New("gone")
	leaks := goleak.IgnoreCurrent()
	ctx, cancel := context.WithCancelCause(t.Context())
	slow := &slowHandler{recorder: newRecorder(), slow: func(*upstream.Error) { cancel(gone) }}
	spawner := &upstreamtest.Spawner{Mood: upstreamtest.Silent}
	_, err := New(spawner, upstream.Options{SlowAfter: time.Nanosecond}, slog.New(slog.DiscardHandler)).Dial(ctx, upstream.Hello{}, slow)
	if !errors.Is(err, gone) {
		t.Errorf("error %v, want the caller's cause", err)
	}
	spawner.Wait()
	goleak.VerifyNone(t, leaks)
}

type slowHandler struct {
	*recorder
	slow func(*upstream.Error)
}

func (s *slowHandler) StartIsSlow(e *upstream.Error) { s.slow(e) }

func TestDialSaysThatTheStartIsSlow(t *testing.T) {
	told := make(chan *upstream.Error, 1)
	_, _, err := tryDial(t, upstreamtest.Silent, func(f *fixture) {
		f.opts.SlowAfter, f.opts.StartTimeout = time.Nanosecond, 300*time.Millisecond
		f.handler = &slowHandler{recorder: newRecorder(), slow: func(e *upstream.Error) { told <- e }}
	})
	wantFailure(t, <-told, registry.FailTimeout)
	wantFailure(t, err, registry.FailTimeout)
}
