// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"context"
	"errors"
	"log/slog"
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
			e := failureOf(t, err, registry.FailExited)
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
		says    string
		most    int
	}{
		"three pages (G-88)":            {mood: upstreamtest.Paged, want: []string{"tool", "tooltwo", "toolthree"}},
		"no tools":                      {mood: upstreamtest.NoTools},
		"no capability and no list":     {mood: upstreamtest.Undeclared},
		"a tool without a schema":       {mood: upstreamtest.NoSchema, want: []string{"bare", "echo"}, bad: "bare"},
		"a cursor that leads to itself": {mood: upstreamtest.CursorLoop, wantErr: registry.FailCatalogue},
		"a page without tools":          {mood: upstreamtest.BadPage, wantErr: registry.FailCatalogue},
		"no answer":                     {mood: upstreamtest.HangList, wantErr: registry.FailTimeout, says: "waiting for the index"},
		"a page over 16 MiB":            {mood: upstreamtest.HugePage, most: 32 << 20, wantErr: registry.FailCatalogue, says: "at most 16777216 are read"},
		"a page over the limit":         {mood: upstreamtest.HugePage, most: 16 << 20, wantErr: registry.FailCatalogue, says: "limits.maxResponseBytes"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, _ := dial(t, tc.mood, func(f *fixture) {
				f.opts.MaxMessageBytes = tc.most
				if tc.mood == upstreamtest.HangList {
					f.opts.ListTimeout = 100 * time.Millisecond
				}
			})
			cat, err := conn.Catalogue(t.Context())
			if tc.wantErr != "" {
				e := failureOf(t, err, tc.wantErr)
				if told := e.Message + strings.Join(e.Stderr, "\n"); !strings.Contains(told, tc.says) {
					t.Errorf("told %q, want %q", told, tc.says)
				}
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
