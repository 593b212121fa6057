// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"
	"encoding/hex"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"

	"toolgate.dev/toolgate/internal/dispatcher/otlp"
	"toolgate.dev/toolgate/internal/testutil/collector"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func tracer(t *testing.T, c *collector.Collector, counters *Counters) *Tracer {
	t.Helper()
	tr, err := New(Options{URL: c.URL + "/v1/traces", Headers: map[string]string{"X-Key": "k"}, Source: otlp.Source{Service: "toolgate-dispatcher", Namespace: "ns",
		Version: "v1", Instance: "uid", Server: "files"}, Counters: counters, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

const (
	traceID = "0af7651916cd43dd8448eb211c80319c"
	parent  = "00-" + traceID + "-b7ad6b7169203331-01"
	ambient = "00-11111111111111111111111111111111-2222222222222222-01"
)

func TestSpansAsTheConventionsHaveThem(t *testing.T) {
	c := collector.New(t)
	var counters Counters
	tr := tracer(t, c, &counters)
	at := time.Unix(1000, 0)
	server := tr.Serve(Request{Name: "tools/call echo", Method: "tools/call", Tool: "echo", ProtocolVersion: "2025-11-25", ID: []byte(`"a\u0041"`),
		Client: "10.0.0.7", Parent: parent, State: "vendor=1", Ambient: ambient, Start: at})
	client := server.Call(Upstream{ProtocolVersion: "2025-06-18", Transport: "pipe", Start: at.Add(time.Second)})
	params := client.Inject([]byte(`{"name":"echo","_meta":{"baggage":"a=b","tracestate":"old","x":1},"arguments":{"n":1.0}}`))
	client.End(Ending{At: at.Add(2 * time.Second)})
	server.End(Ending{ErrorType: "-31010", Code: "-31010", Message: "no", Stage: "gate", Reason: "Untrusted", At: at.Add(3 * time.Second)})
	gotTrace, serverID := server.IDs()
	_, clientID := client.IDs()
	tr.Shutdown(t.Context())

	want := `{"name":"echo","_meta":{"baggage":"a=b","tracestate":"vendor=1","x":1,"traceparent":"00-` + traceID + "-" + clientID + `-01"},"arguments":{"n":1.0}}`
	if string(params) != want || gotTrace != traceID {
		t.Errorf("forwarded %s\nwant %s", params, want)
	}
	if c.Header.Get("Content-Type") != "application/x-protobuf" || c.Header.Get("X-Key") != "k" {
		t.Errorf("sent with %v", c.Header)
	}
	if diff := cmp.Diff(map[string]string{"service.name": "toolgate-dispatcher", "service.namespace": "ns", "service.version": "v1",
		"service.instance.id": "uid", "toolgate.server": "files"}, c.Resource); diff != "" {
		t.Error(diff)
	}
	if len(c.Spans) != 2 || counters.Exported.Load() != 2 || counters.Dropped.Load() != 0 {
		t.Fatalf("%d spans, %d counted", len(c.Spans), counters.Exported.Load())
	}
	call, serve := c.Spans[0], c.Spans[1]
	if call.Kind != tracepb.Span_SPAN_KIND_CLIENT || hex.EncodeToString(call.ParentSpanId) != serverID || call.Name != "tools/call echo" ||
		call.Status.GetCode() != tracepb.Status_STATUS_CODE_UNSET || call.EndTimeUnixNano-call.StartTimeUnixNano != 1e9 {
		t.Errorf("client span %v", call)
	}
	if serve.Kind != tracepb.Span_SPAN_KIND_SERVER || hex.EncodeToString(serve.ParentSpanId) != "b7ad6b7169203331" || serve.TraceState != "vendor=1" ||
		serve.Status.Code != tracepb.Status_STATUS_CODE_ERROR || serve.Status.Message != "no" {
		t.Errorf("server span %v", serve)
	}
	if len(serve.Links) != 1 || hex.EncodeToString(serve.Links[0].SpanId) != "2222222222222222" {
		t.Errorf("links %v", serve.Links)
	}
	if diff := cmp.Diff(map[string]string{
		"mcp.method.name": "tools/call", "gen_ai.tool.name": "echo", "gen_ai.operation.name": "execute_tool", "mcp.protocol.version": "2025-11-25",
		"jsonrpc.request.id": "aA", "client.address": "10.0.0.7", "network.transport": "tcp", "network.protocol.name": "http",
		"error.type": "-31010", "rpc.response.status_code": "-31010", "toolgate.stage": "gate", "toolgate.reason": "Untrusted",
	}, collector.Attributes(serve.Attributes)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"mcp.method.name": "tools/call", "gen_ai.tool.name": "echo", "gen_ai.operation.name": "execute_tool",
		"mcp.protocol.version": "2025-06-18", "network.transport": "pipe"}, collector.Attributes(call.Attributes)); diff != "" {
		t.Error(diff)
	}
}

func TestContextsThatAreNone(t *testing.T) {
	c := collector.New(t)
	tr := tracer(t, c, new(Counters))
	for name, tc := range map[string]struct {
		parent, state string
		wantSampled   bool
	}{
		"none":                         {"", "", true},
		"an invalid one":               {"00-xyz", "vendor=1", true},
		"an invalid state":             {parent, "=,=;", true},
		"one that nobody wants to see": {"00-" + traceID + "-b7ad6b7169203331-00", "", false},
	} {
		s := tr.Serve(Request{Name: "ping", Method: "ping", Parent: tc.parent, State: tc.state, Start: time.Unix(1, 0)})
		params := string(s.Call(Upstream{Start: time.Unix(1, 0)}).Inject(nil))
		flags := map[bool]string{true: `-01"}}`, false: `-00"}}`}[tc.wantSampled]
		if !strings.HasPrefix(params, `{"_meta":{"traceparent":"00-`) || !strings.HasSuffix(params, flags) {
			t.Errorf("%s: forwarded %s", name, params)
		}
		if sameTrace := strings.Contains(params, traceID); sameTrace != strings.HasPrefix(tc.parent, "00-"+traceID) {
			t.Errorf("%s: forwarded %s", name, params)
		}
		s.End(Ending{At: time.Unix(2, 0)})
	}
	tr.Shutdown(t.Context())
	if len(c.Spans) != 3 {
		t.Errorf("%d spans, want those of the three that are sampled", len(c.Spans))
	}
}

// TestWhatAServerAsks has a span below that of the request that it belongs to, and goes with it.
func TestWhatAServerAsks(t *testing.T) {
	c := collector.New(t)
	tr := tracer(t, c, new(Counters))
	at := time.Unix(1000, 0)
	server := tr.Serve(Request{Name: "tools/call echo", Method: "tools/call", Start: at})
	traceOf, spanOf := server.IDs()
	question := Question{Method: "elicitation/create", Client: "10.0.0.7", TraceID: traceOf, Parent: spanOf, Sampled: server.Sampled(), Start: at,
		End: Ending{At: at.Add(time.Second)}}
	if id, span := tr.Asked(question); id != traceOf || len(span) != 16 || span == spanOf {
		t.Errorf("trace %s, span %s", id, span)
	}
	refused := Question{Method: "sampling/createMessage", Start: at, End: Ending{ErrorType: "-1", Code: "-1", Message: "no", At: at}}
	if id, _ := tr.Asked(refused); id == traceOf || len(id) != 32 {
		t.Errorf("a question of its own has trace %s", id)
	}
	unseen := tr.Serve(Request{Name: "ping", Method: "ping", Parent: "00-" + traceID + "-b7ad6b7169203331-00", Start: at})
	hidden := Question{Method: "roots/list", Sampled: unseen.Sampled(), Start: at}
	hidden.TraceID, hidden.Parent = unseen.IDs()
	tr.Asked(hidden)
	tr.Shutdown(t.Context())
	if len(c.Spans) != 2 {
		t.Fatalf("%d spans, want those of the two questions that are sampled", len(c.Spans))
	}
	first, second := c.Spans[0], c.Spans[1]
	if first.Name != "elicitation/create" || first.Kind != tracepb.Span_SPAN_KIND_CLIENT || hex.EncodeToString(first.ParentSpanId) != spanOf ||
		first.EndTimeUnixNano-first.StartTimeUnixNano != uint64(time.Second) {
		t.Errorf("span %v", first)
	}
	if diff := cmp.Diff(map[string]string{"mcp.method.name": "elicitation/create", "client.address": "10.0.0.7"}, collector.Attributes(first.Attributes)); diff != "" {
		t.Error(diff)
	}
	if len(second.ParentSpanId) != 0 || collector.Attributes(second.Attributes)["error.type"] != "-1" || second.Status.Code != tracepb.Status_STATUS_CODE_ERROR {
		t.Errorf("span %v", second)
	}
	var off *Tracer
	if id, span := off.Asked(question); id+span != "" {
		t.Errorf("without a collector: %s %s", id, span)
	}
}

// A collector that hangs holds nothing up: what does not fit the queue is dropped and counted, and the end is bounded.
func TestACollectorThatHangs(t *testing.T) {
	c := collector.New(t)
	c.Hold = make(chan struct{})
	defer close(c.Hold)
	var counters Counters
	tr := tracer(t, c, &counters)
	const spans = maxQueue + 2*maxBatch + 100
	for range spans {
		tr.Serve(Request{Name: "ping", Method: "ping", Start: time.Unix(1, 0)}).End(Ending{At: time.Unix(1, 0)})
	}
	if counters.Dropped.Load() == 0 {
		t.Error("nothing was dropped")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	tr.Shutdown(ended)
	if counters.Exported.Load() != 0 || counters.Dropped.Load() != spans {
		t.Errorf("%d exported and %d dropped of %d", counters.Exported.Load(), counters.Dropped.Load(), spans)
	}
	tr.Serve(Request{Name: "ping", Method: "ping"}).End(Ending{})
	if counters.Dropped.Load() != spans+1 {
		t.Error("a span after the end is not counted")
	}
}

func TestACollectorThatRefuses(t *testing.T) {
	c := collector.New(t)
	c.Status = http.StatusServiceUnavailable
	var counters Counters
	tr := tracer(t, c, &counters)
	tr.Serve(Request{Name: "ping", Method: "ping"}).End(Ending{})
	tr.Shutdown(t.Context())
	if counters.Exported.Load() != 0 || counters.Dropped.Load() != 1 {
		t.Errorf("%d exported, %d dropped", counters.Exported.Load(), counters.Dropped.Load())
	}
}

func TestAttributesAreBounded(t *testing.T) {
	c := collector.New(t)
	tr := tracer(t, c, new(Counters))
	tr.Serve(Request{Name: "x", Method: strings.Repeat("m", 1<<20), URI: strings.Repeat("u", 1<<20)}).End(Ending{})
	tr.Shutdown(t.Context())
	for key, value := range collector.Attributes(c.Spans[0].Attributes) {
		if len(value) > maxAttribute {
			t.Errorf("%s has %d bytes", key, len(value))
		}
	}
}

func TestOffCostsNothing(t *testing.T) {
	params := []byte(`{"name":"echo"}`)
	var off *Tracer
	if n := testing.AllocsPerRun(100, func() {
		s := off.Serve(Request{Name: "ping", Method: "ping", ID: params})
		call := s.Call(Upstream{Transport: "pipe"})
		params = call.Inject(params)
		call.End(Ending{})
		s.End(Ending{})
	}); n != 0 {
		t.Errorf("%v allocations for no span", n)
	}
	off.Shutdown(t.Context())
}

func BenchmarkCall(b *testing.B) {
	q := newQueue(discard{}, new(Counters), slog.New(slog.DiscardHandler))
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(q))
	tr := &Tracer{queue: q, tracer: provider.Tracer("b")}
	params := []byte(`{"name":"echo","arguments":{"text":"x"}}`)
	b.ReportAllocs()
	for b.Loop() {
		s := tr.Serve(Request{Name: "tools/call echo", Method: "tools/call", Tool: "echo", ProtocolVersion: "2025-11-25", ID: []byte("1"), Client: "10.0.0.7"})
		call := s.Call(Upstream{Transport: "pipe"})
		_ = call.Inject(params)
		call.End(Ending{})
		s.End(Ending{})
	}
	tr.Shutdown(b.Context())
}

// discard takes spans and does nothing.
type discard struct{}

func (discard) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (discard) Shutdown(context.Context) error                             { return nil }
