// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/upstreamtest"
	"toolgate.dev/toolgate/internal/registry"
)

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
	conn, _ := dial(t, upstreamtest.Good, func(f *fixture) { f.opts.MaxMessageBytes = 32 << 20 })
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

// TestALineWithoutEndEndsTheConnection is G-65: neither memory nor the caller's patience is used up.
func TestALineWithoutEndEndsTheConnection(t *testing.T) {
	conn, _ := dial(t, upstreamtest.Endless, func(f *fixture) { f.opts.MaxMessageBytes = 1 << 20 })
	_, err := call(t, conn, "echo", `{}`)
	if wantFailure(t, err, registry.FailNotMCP); !errors.Is(err, upstream.ErrTooLarge) {
		t.Errorf("error %v, want ErrTooLarge", err)
	}
	<-conn.Done()
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

// What a call takes beside its result and the child, which is part of the same process here. The bound leaves room for pools
// that forget, as they do under the race detector.
func TestACallTakesLittleMemory(t *testing.T) {
	conn, _ := dial(t, upstreamtest.Good, nil)
	params := []byte(`{"name":"echo","arguments":{"path":"/tmp/x","n":12345}}`)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := conn.Call(t.Context(), upstream.Call{Method: "tools/call", Params: params}); err != nil {
			t.Fatal(err)
		}
	}); n > 20 {
		t.Errorf("%v allocations", n)
	}
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
