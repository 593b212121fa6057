// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/requests"
	"toolgate.dev/toolgate/internal/dispatcher/tracing"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
)

const (
	sentTrace  = "0af7651916cd43dd8448eb211c80319c"
	sentParent = "00-" + sentTrace + "-b7ad6b7169203331-01"
)

func (f *fixture) traced(params, parent string) (*requests.Request, requests.Answer) {
	r := &requests.Request{
		Call:   policy.Call{Method: "tools/call", Tool: "echo", Arguments: []byte(`{"text":"x"}`), ProtocolVersion: "2025-11-25"},
		Params: []byte(params), ID: []byte("1"), Trace: requests.NewTrace(parent), Source: f, Caller: requests.Caller{Address: "10.0.0.1"},
	}
	return r, f.Do(context.Background(), r)
}

// Without a collector the client's trace context passes as it is, and none is made up.
func TestTraceContextPassesWhereNoSpansAreMade(t *testing.T) {
	for name, params := range map[string]string{
		"with a trace":    `{"name":"echo","arguments":{"text":"x"},"_meta":{"traceparent":"` + sentParent + `","tracestate":"a=b","baggage":"c=d"}}`,
		"without a trace": `{"name":"echo","arguments":{"text":"x"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, nil)
			f.traced(params, sentParent)
			if got, want := f.server.Received(), "tools/call"+params+"\n"; got != want {
				t.Errorf("the server received %s", got)
			}
			if r := f.written(t)[0]; r.TraceID != sentTrace || r.Parent != "b7ad6b7169203331" || r.Span != "" {
				t.Errorf("recorded as %+v", r)
			}
		})
	}
}

func TestSpansAreTheParentsOfWhatIsForwarded(t *testing.T) {
	var posts atomic.Int64
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // a test of what spans hold is beside the package that makes them
		posts.Add(1)
	}))
	defer collector.Close()
	var counters tracing.Counters
	tracer, err := tracing.New(tracing.Options{URL: collector.URL, Counters: &counters, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, nil)
	f.UseTracer(tracer)

	request, _ := f.traced(`{"name":"echo","arguments":{"text":"x"},"_meta":{"traceparent":"`+sentParent+`","tracestate":"a=b","baggage":"c=d","k":1.0}}`, sentParent)
	got := f.server.Received()
	prefix := `tools/call{"name":"echo","arguments":{"text":"x"},"_meta":{"traceparent":"00-` + sentTrace + "-"
	rest, ok := strings.CutPrefix(got, prefix)
	if !ok || !strings.HasSuffix(got, `-01","tracestate":"a=b","baggage":"c=d","k":1.0}}`+"\n") || strings.HasPrefix(rest, "b7ad6b7169203331") {
		t.Errorf("the server received %s", got)
	}
	record := f.written(t)[0]
	if record.TraceID != sentTrace || len(record.Span) != 16 || record.Parent != "b7ad6b7169203331" || strings.HasPrefix(rest, record.Span) {
		t.Errorf("recorded as %+v", record)
	}
	if request.Trace.ID != sentTrace {
		t.Errorf("the client is told of trace %s", request.Trace.ID)
	}

	f.traced(`{"name":"echo","arguments":{"text":"x"}}`, "")
	second := f.written(t)[1]
	if !strings.Contains(f.server.Received(), `"_meta":{"traceparent":"00-`+second.TraceID+"-") || second.TraceID == sentTrace {
		t.Errorf("the server received %s, recorded is trace %s", f.server.Received(), second.TraceID)
	}
	f.call("remove", `{"path":"/"}`) // refused: a span of its own, and none to the server
	f.RecordAsk(requests.Caller{}, &request.Trace, upstream.Event{Method: "roots/list"}, upstream.Reply{Result: []byte("{}")}, f.now)
	if asked := f.written(t)[len(f.written(t))-1]; asked.TraceID != sentTrace || asked.Parent != record.Span || len(asked.Span) != 16 {
		t.Errorf("what a server asks is recorded as %+v", asked)
	}
	f.UseTracer(nil)
	tracer.Shutdown(t.Context())
	if counters.Exported.Load() != 6 || counters.Dropped.Load() != 0 || posts.Load() == 0 {
		t.Errorf("%d spans exported, %d dropped, want 6", counters.Exported.Load(), counters.Dropped.Load())
	}
}
