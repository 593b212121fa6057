// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/upstreamtest"
	"toolgate.dev/toolgate/internal/registry"
)

func TestMain(m *testing.M) { os.Exit(upstreamtest.Main(m)) }

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

func wantFailure(t *testing.T, err error, reason registry.FailureReason) *upstream.Error {
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
		"the child exits before its first byte (G-61)": {mood: upstreamtest.Exit, want: registry.FailExited, stderr: "cannot find the database", says: "exit status 3"},
		"the child exits in initialize (G-61)":         {mood: upstreamtest.ExitOnInit, want: registry.FailExited, stderr: "no token in the environment", says: "exit status 1"},
		"the child is silent (G-75)":                   {mood: upstreamtest.Silent, change: short, want: registry.FailTimeout, says: "within 300ms"},
		"the child prints text and speaks no MCP":      {mood: upstreamtest.Text, change: func(f *fixture) { f.opts.StartTimeout = 3 * time.Second }, want: registry.FailNotMCP, says: "not JSON-RPC"},
		"the child sends back what it reads":           {mood: upstreamtest.Echo, want: registry.FailNotMCP, says: "sends back"},
		"the server refuses initialize":                {mood: upstreamtest.RefuseInit, want: registry.FailStart, says: "-32603"},
		"the server speaks an unknown version":         {mood: upstreamtest.OldVersion, want: registry.FailProtocol, says: `"1999-01-01"; known are 2025-11-25`},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := tryDial(t, tc.mood, tc.change)
			e := wantFailure(t, err, tc.want)
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

func TestCallKeepsBytes(t *testing.T) {
	conn, _ := dial(t, upstreamtest.Good, nil)
	for name, args := range map[string]string{
		"numbers (G-24, G-25)":     `{"a":9007199254740993,"b":-0,"c":1E400,"d":1.0,"e":12345678901234567890}`,
		"odd text (G-27)":          "{\"a\":\"\u00a0\u3000\u200d\U0001F469\u200d\U0001F680\ufffd\u202e\"}",
		"escapes":                  `{"a":"\u0041\/\ud83d\ude00\u0000"}`,
		"null and absent members":  `{"a":null,"b":{}}`,
		"white space":              "{ \"a\" :\t[ 1 , 2 ] }",
		"an array (G-26)":          `{"a":[1,"x",null]}`,
		"a large argument (G-64)":  `{"a":"` + strings.Repeat("y", 1<<20) + `"}`,
		"a key with a line break":  `{"a\nb":"c\r\nd"}`,
		"vendor keys of the field": `{"_meta":{"progressToken":7}}`,
	} {
		t.Run(name, func(t *testing.T) {
			want := `{"content":[],"structuredContent":{"name":"echo","arguments":` + args + `}}`
			if diff := cmp.Diff(want, mustCall(t, conn, "echo", args)); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCallReplacesLineBreaksBetweenTokens(t *testing.T) {
	conn, _ := dial(t, upstreamtest.Good, nil)
	want := `{"content":[],"structuredContent":{"name":"echo","arguments":{  "a": 1 }}}`
	if diff := cmp.Diff(want, mustCall(t, conn, "echo", "{\r\n\"a\":\n1\r}")); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

func TestCallSetsTheMetaThatIsTheConnections(t *testing.T) {
	conn, _ := dial(t, upstreamtest.Good, nil)
	nothing := func([]byte) {}
	for name, tc := range map[string]struct {
		params   string
		progress func([]byte)
		want     string
	}{
		"the client's token goes": {params: `{"name":"echo","_meta":{"progressToken":"t","x":1}}`, want: `{"name":"echo","_meta":{"x":1}}`},
		"the connection's token comes": {params: `{"name":"echo","_meta":{"progressToken":"t","x":1}}`, progress: nothing,
			want: `{"name":"echo","_meta":{"progressToken":ID,"x":1}}`},
		"_meta is made where it is missing": {params: `{"name":"echo"}`, progress: nothing, want: `{"name":"echo","_meta":{"progressToken":ID}}`},
		"keys of 2026-07-28 go": {
			params: `{"name":"echo","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"traceparent":"00"}}`,
			want:   `{"name":"echo","_meta":{"traceparent":"00"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			reply, err := conn.Call(t.Context(), upstream.Call{Method: "tools/call", Params: []byte(tc.params), Progress: tc.progress})
			if err != nil {
				t.Fatal(err)
			}
			got := strings.TrimSuffix(strings.TrimPrefix(string(reply.Result), `{"content":[],"structuredContent":`), "}")
			if _, after, ok := strings.Cut(tc.want, "ID"); ok {
				before, _, _ := strings.Cut(tc.want, "ID")
				id := strings.TrimSuffix(strings.TrimPrefix(got, before), after)
				if _, err := strconv.Atoi(id); err != nil {
					t.Fatalf("params %s, want %s", got, tc.want)
				}
				return
			}
			if got != tc.want {
				t.Errorf("params %s, want %s", got, tc.want)
			}
		})
	}
}

func TestCallsAreMatched(t *testing.T) {
	conn, _ := dial(t, upstreamtest.Good, nil)
	var group sync.WaitGroup
	for i := range 200 { // G-21, G-22, G-23
		group.Go(func() {
			want := fmt.Sprintf(`{"i":%d}`, i)
			reply, err := call(t, conn, "echo", want)
			if err != nil || !strings.Contains(string(reply.Result), want) {
				t.Errorf("call %d got %s, %v", i, reply.Result, err)
			}
		})
	}
	group.Wait()
}

func TestCallReturnsTheServersError(t *testing.T) {
	for name, mood := range map[string]upstreamtest.Mood{"with its id": upstreamtest.Good, "with the id null": upstreamtest.NullIDError} {
		t.Run(name, func(t *testing.T) {
			conn, _ := dial(t, mood, nil)
			reply, err := call(t, conn, "nope", `{}`)
			if err != nil || reply.Error == nil {
				t.Errorf("got %+v, %v, want the server's error", reply, err)
			}
		})
	}
}

func TestNoiseOnStdoutIsSkipped(t *testing.T) {
	conn, f := dial(t, upstreamtest.Noisy, nil)
	mustCall(t, conn, "echo", `{}`)
	if n := f.counters.StdoutNoise.Load(); n < 8 {
		t.Errorf("%d lines of noise were counted, want at least 8", n)
	}
	if n := f.counters.DroppedMessages.Load(); n != 0 {
		t.Errorf("%d messages were dropped, want none", n)
	}
}

func TestLargeAnswers(t *testing.T) {
	conn, _ := dial(t, upstreamtest.Good, nil)
	for _, n := range []int{1<<16 - 100, 1<<16 - 1, 1 << 16, 1<<16 + 1, 1 << 20, 5 << 20, 20 << 20} { // G-66, G-67
		if got := len(mustCall(t, conn, "big", fmt.Sprintf(`{"n":%d}`, n))); got != n+len(`{"text":""}`) {
			t.Errorf("%d bytes came for %d", got, n)
		}
	}
}

func TestTooLargeAnswersFailTheirCallAlone(t *testing.T) {
	for name, args := range map[string]string{
		"the id stands before the result": `{"n":3000000}`,
		"the id stands behind the result": `{"n":3000000,"tail":1}`,
		"far over the bound":              `{"n":12000000}`,
	} {
		t.Run(name, func(t *testing.T) {
			conn, f := dial(t, upstreamtest.Good, func(f *fixture) { f.opts.MaxMessageBytes = 1 << 20 })
			_, err := call(t, conn, "big", args)
			if wantFailure(t, err, registry.FailNotMCP); !errors.Is(err, upstream.ErrTooLarge) {
				t.Errorf("error %v, want ErrTooLarge", err)
			}
			mustCall(t, conn, "echo", `{}`)
			if n := f.counters.DroppedMessages.Load(); n != 1 {
				t.Errorf("%d dropped messages, want 1", n)
			}
		})
	}
}

func TestBrokenAnswersFailTheirCallAtOnce(t *testing.T) {
	conn, _ := dial(t, upstreamtest.Good, nil)
	for _, tool := range []string{"broken", "half"} {
		_, err := call(t, conn, tool, `{}`)
		if wantFailure(t, err, registry.FailNotMCP); !errors.Is(err, upstream.ErrNotStrict) {
			t.Errorf("%s: error %v, want ErrNotStrict", tool, err)
		}
	}
	mustCall(t, conn, "echo", `{}`)
}

func TestDeathFailsEveryCall(t *testing.T) {
	for name, tc := range map[string]struct {
		mood   upstreamtest.Mood
		tool   string
		says   string
		stderr string
	}{
		"kill -9 (G-71, G-73)":              {mood: upstreamtest.Good, tool: "die", says: "signal: killed", stderr: "out of memory"},
		"stdout is closed":                  {mood: upstreamtest.StdoutShut, tool: "echo", says: "closed its standard output"},
		"a descendant holds the pipes open": {mood: upstreamtest.Orphan, tool: "echo", says: "exit status 7"},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := newRecorder()
			conn, f := dial(t, tc.mood, func(f *fixture) { f.handler = recorder })
			var group sync.WaitGroup
			if tc.mood == upstreamtest.Good {
				for range 10 {
					group.Go(func() {
						_, err := call(t, conn, "hang", `{}`)
						wantFailure(t, err, registry.FailExited)
					})
					<-recorder.notices // it is in flight
				}
			}
			_, err := call(t, conn, tc.tool, `{}`)
			group.Wait()
			e := wantFailure(t, err, registry.FailExited)
			if !strings.Contains(e.Message, tc.says) || !strings.Contains(strings.Join(e.Stderr, "\n"), tc.stderr) {
				t.Errorf("message %q and stderr %q, want %q and %q", e.Message, e.Stderr, tc.says, tc.stderr)
			}
			<-conn.Done()
			wantFailure(t, conn.Err(), registry.FailExited)
			_, err = call(t, conn, "echo", `{}`)
			wantFailure(t, err, registry.FailExited)
			if n := f.counters.ChildDeaths.Load(); tc.mood == upstreamtest.Good && n != 1 {
				t.Errorf("%d deaths, want 1", n)
			}
		})
	}
}

func TestCancellationCarriesTheConnectionsID(t *testing.T) {
	recorder := newRecorder()
	conn, _ := dial(t, upstreamtest.Good, func(f *fixture) { f.handler = recorder })
	gone := errors.New("the client has gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	result := make(chan error)
	go func() {
		_, err := conn.Call(ctx, upstream.Call{Method: "tools/call", Params: []byte(`{"name":"hang"}`)})
		result <- err
	}()
	id := strings.TrimSuffix(strings.TrimPrefix(string((<-recorder.notices).Params), `{"id":`), "}")
	cancel(gone)
	if err := <-result; !errors.Is(err, gone) {
		t.Errorf("error %v, want the caller's cause", err)
	}
	for { // the cancellation is on its way (G-80, G-81)
		if got := mustCall(t, conn, "cancelled", `{}`); got == `{"ids":[`+id+`]}` {
			return
		} else if got != `{"ids":[]}` {
			t.Fatalf("cancelled: %s, want %s", got, id)
		}
	}
}

func TestAChildThatDoesNotReadHoldsUpNobodyElse(t *testing.T) {
	conn, _ := dial(t, upstreamtest.Deaf, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	late := errors.New("too late")
	var group sync.WaitGroup
	started := make(chan struct{}, 200)
	for range 200 { // more than pipe and queue can hold
		group.Go(func() {
			started <- struct{}{}
			_, err := conn.Call(ctx, upstream.Call{Method: "tools/call", Params: []byte(`{"name":"` + strings.Repeat("x", 4096) + `"}`)})
			if !errors.Is(err, late) {
				t.Errorf("error %v, want the caller's cause", err)
			}
		})
	}
	for range 200 {
		<-started
	}
	cancel(late)
	group.Wait()
	if err := conn.Err(); err != nil {
		t.Errorf("the connection ended: %v", err)
	}
}

func TestRequestsOfTheServer(t *testing.T) {
	t.Run("under an id that is in use by the client (G-22)", func(t *testing.T) {
		recorder := newRecorder()
		recorder.answer = func(_ context.Context, event upstream.Event) upstream.Reply {
			if event.Owner != "owner" || event.Exact || event.Method != "sampling/createMessage" {
				t.Errorf("event %+v", event)
			}
			return upstream.Reply{Result: []byte(`{"role":"assistant"}`)}
		}
		conn, _ := dial(t, upstreamtest.Good, func(f *fixture) { f.handler = recorder })
		reply, err := conn.Call(t.Context(), upstream.Call{Method: "tools/call", Params: []byte(`{"name":"ask"}`), Owner: "owner"})
		if err != nil || string(reply.Result) != `{"answer":{"role":"assistant"}}` {
			t.Errorf("got %s, %v", reply.Result, err)
		}
	})
	t.Run("without a handler", func(t *testing.T) {
		conn, f := dial(t, upstreamtest.Good, func(f *fixture) { f.handler = nil })
		if got := mustCall(t, conn, "ask", `{}`); got != `{"answer":{"error":-32601}}` {
			t.Errorf("got %s", got)
		}
		if n := f.counters.DroppedMessages.Load(); n != 1 {
			t.Errorf("%d dropped, want 1", n)
		}
	})
	t.Run("cancelled by the server", func(t *testing.T) {
		ended := make(chan struct{})
		recorder := newRecorder()
		recorder.answer = func(ctx context.Context, _ upstream.Event) upstream.Reply {
			<-ctx.Done()
			close(ended)
			return upstream.Reply{}
		}
		conn, _ := dial(t, upstreamtest.Good, func(f *fixture) { f.handler = recorder })
		mustCall(t, conn, "ask-cancel", `{}`)
		<-ended
	})
}

func TestProgressReachesItsCall(t *testing.T) {
	conn, f := dial(t, upstreamtest.Good, nil)
	var got []string
	reply, err := conn.Call(t.Context(), upstream.Call{Method: "tools/call", Params: []byte(`{"name":"progress"}`),
		Progress: func(params []byte) { got = append(got, string(params)) }})
	if err != nil || reply.Error != nil || len(got) != 100 || !strings.HasSuffix(got[99], `"progress":99}`) {
		t.Fatalf("got %d notifications, %v, %v", len(got), reply.Error, err)
	}
	mustCall(t, conn, "echo", `{}`) // so that the late one has come
	if n := f.counters.DroppedMessages.Load(); n != 1 {
		t.Errorf("%d dropped, want the one that came after the answer", n)
	}
}

func TestCatalogue(t *testing.T) {
	for name, tc := range map[string]struct {
		mood    upstreamtest.Mood
		want    []string
		wantErr registry.FailureReason
		bad     string
	}{
		"three pages (G-88)":            {mood: upstreamtest.Paged, want: []string{"tool", "tooltwo", "toolthree"}},
		"no tools":                      {mood: upstreamtest.NoTools},
		"no capability and no list":     {mood: upstreamtest.Undeclared},
		"a tool without a schema":       {mood: upstreamtest.NoSchema, want: []string{"bare", "echo"}, bad: "bare"},
		"a cursor that leads to itself": {mood: upstreamtest.CursorLoop, wantErr: registry.FailCatalogue},
		"a page without tools":          {mood: upstreamtest.BadPage, wantErr: registry.FailCatalogue},
		"no answer":                     {mood: upstreamtest.HangList, wantErr: registry.FailTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			conn, _ := dial(t, tc.mood, func(f *fixture) {
				if tc.mood == upstreamtest.HangList {
					f.opts.ListTimeout = 100 * time.Millisecond
				}
			})
			cat, err := conn.Catalogue(t.Context())
			if tc.wantErr != "" {
				wantFailure(t, err, tc.wantErr)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, tool := range cat.Tools {
				got = append(got, tool.Name)
				if (tool.Err != nil) != (tool.Name == tc.bad) || tool.Digest == "" {
					t.Errorf("%s: digest %q, error %v", tool.Name, tool.Digest, tool.Err)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || cat.Digest == "" {
				t.Errorf("digest %q, tools (-want +got):\n%s", cat.Digest, diff)
			}
		})
	}
}

func TestCatalogueIsReadAgain(t *testing.T) {
	clock := upstreamtest.NewClock()
	recorder := newRecorder()
	conn, _ := dial(t, upstreamtest.Good, func(f *fixture) {
		f.opts.Now, f.opts.CatalogueTTL, f.handler = clock.Now, time.Minute, recorder
	})
	read := func() *upstream.Catalogue {
		cat, err := conn.Catalogue(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return cat
	}
	first := read()
	if read() != first {
		t.Error("a fresh catalogue was read again")
	}
	clock.Advance(time.Minute)
	aged := read()
	if aged == first || aged.Digest != first.Digest {
		t.Error("an aged catalogue was not read again, or differs")
	}
	mustCall(t, conn, "grow", `{}`) // G-82
	if e := <-recorder.notices; e.Method != "notifications/tools/list_changed" {
		t.Errorf("notification %s", e.Method)
	}
	if grown := read(); len(grown.Tools) != len(first.Tools)+1 {
		t.Errorf("%d tools after list_changed, want %d", len(grown.Tools), len(first.Tools)+1)
	}
	var group sync.WaitGroup
	clock.Advance(time.Minute)
	for range 20 {
		group.Go(func() {
			if _, err := conn.Catalogue(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func TestModernServer(t *testing.T) {
	conn, f := dial(t, upstreamtest.Modern, nil)
	if info := conn.Info(); info.Era != upstream.Modern || info.ProtocolVersion != "2026-07-28" || string(info.ServerInfo) != `{"name":"m","version":"2"}` {
		t.Errorf("info %+v", info)
	}
	if _, err := conn.Catalogue(t.Context()); err != nil {
		t.Error(err)
	}
	reply, err := conn.Call(t.Context(), upstream.Call{Method: "tools/call", Params: []byte(`{"name":"echo","_meta":{"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}}}`)})
	want := `{"content":[],"structuredContent":{"name":"echo","_meta":{"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	if diff := cmp.Diff(want, string(reply.Result)); diff != "" || err != nil {
		t.Errorf("%v, params (-want +got):\n%s", err, diff)
	}
	if f.spawner.Started() != 1 {
		t.Errorf("%d children, want 1", f.spawner.Started())
	}
}

func TestOneShotConnectionsLeaveNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts 30 processes")
	}
	leaks := goleak.IgnoreCurrent()
	spawner := &upstreamtest.Spawner{Mood: upstreamtest.Good}
	dialer := New(spawner, upstream.Options{}, slog.New(slog.DiscardHandler))
	for range 30 { // G-60
		conn, err := dialer.Dial(t.Context(), upstream.Hello{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		mustCall(t, conn, "echo", `{}`)
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
	spawner.Wait()
	goleak.VerifyNone(t, leaks)
}

func BenchmarkCall(b *testing.B) {
	spawner := &upstreamtest.Spawner{Mood: upstreamtest.Good}
	conn, err := New(spawner, upstream.Options{}, slog.New(slog.DiscardHandler)).Dial(b.Context(), upstream.Hello{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	params := []byte(`{"name":"echo","arguments":{"path":"/tmp/x","n":12345}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := conn.Call(b.Context(), upstream.Call{Method: "tools/call", Params: params}); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	if err := conn.Close(); err != nil {
		b.Fatal(err)
	}
	spawner.Wait()
}
