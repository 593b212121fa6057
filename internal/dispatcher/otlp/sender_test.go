// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"go.uber.org/goleak"

	"toolgate.dev/toolgate/internal/testutil/collector"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func options(c *collector.Collector, counters *Counters) Options {
	return Options{
		LogsURL: c.URL + "/v1/logs", Headers: map[string]string{"X-Key": "k"}, Counters: counters, Log: slog.New(slog.DiscardHandler), Now: time.Now,
		Source: Source{Service: "toolgate-dispatcher", Namespace: "ns", Version: "v1", Instance: "uid", Server: "files"},
	}
}

const line = `{"time":"2026-01-02T03:04:05.006Z","run":"r","seq":1,"trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"b7ad6b7169203331","caller":"anonymous@10.0.0.1","server":"files","method":"tools/call","tool":"echo","outcome":"success"}`

func TestRecordsAsTheyStand(t *testing.T) {
	c := collector.New(t)
	var counters Counters
	s := New(options(c, &counters))
	buffer := []byte(line + "\n")
	s.Record(buffer)
	copy(buffer, "overwritten") // its owner uses the memory again
	s.Record([]byte("no JSON\n"))
	s.Shutdown(t.Context())
	if len(c.Records) != 2 || counters.Records.Load() != 2 || counters.RecordsDropped.Load() != 0 {
		t.Fatalf("%d records, counted %d", len(c.Records), counters.Records.Load())
	}
	r := c.Records[0]
	if r.Body.GetStringValue() != line || hex.EncodeToString(r.TraceId) != "0af7651916cd43dd8448eb211c80319c" || hex.EncodeToString(r.SpanId) != "b7ad6b7169203331" ||
		!time.Unix(0, int64(r.TimeUnixNano)).UTC().Equal(time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)) || r.EventName != "toolgate.audit" {
		t.Errorf("record %v", r)
	}
	if diff := cmp.Diff(map[string]string{"mcp.method.name": "tools/call", "gen_ai.tool.name": "echo", "toolgate.outcome": "success", "toolgate.audit.run": "r"}, collector.Attributes(r.Attributes)); diff != "" {
		t.Error(diff)
	}
	if got := c.Records[1].Body.GetStringValue(); got != "no JSON" {
		t.Errorf("a line that can't be read was sent as %q", got)
	}
	want := map[string]string{"service.name": "toolgate-dispatcher", "service.namespace": "ns", "service.version": "v1", "service.instance.id": "uid", "toolgate.server": "files"}
	if diff := cmp.Diff(want, c.Resource); diff != "" || c.Header.Get("X-Key") != "k" || c.Header.Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("headers %v\n%s", c.Header, diff)
	}
}

// TestNoProxyOfTheEnvironment: a variable that somebody injects leads no record elsewhere.
func TestNoProxyOfTheEnvironment(t *testing.T) {
	c := NewClient("https://collector.example/v1/logs", nil)
	defer c.Close()
	if transport, ok := c.client.Transport.(*http.Transport); !ok || transport.Proxy != nil {
		t.Errorf("the transport asks for a proxy: %v", c.client.Transport)
	}
}

// TestMetricsAsOTLPHasThem: names of the conventions, buckets by themselves, empty labels left out.
func TestMetricsAsOTLPHasThem(t *testing.T) {
	c := collector.New(t)
	registry := prometheus.NewRegistry()
	duration := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "mcp_server_operation_duration_seconds", Buckets: []float64{1, 2}}, []string{"mcp_method_name", "error_type"})
	count := prometheus.NewCounter(prometheus.CounterOpts{Name: "toolgate_things_total"})
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{Name: "toolgate_sessions"})
	pause := prometheus.NewSummary(prometheus.SummaryOpts{Name: "go_pause", Objectives: map[float64]float64{0.5: 0.1}})
	registry.MustRegister(duration, count, gauge, pause)
	for _, seconds := range []float64{0.5, 0.6, 1.5, 9} {
		duration.WithLabelValues("tools/call", "").Observe(seconds)
	}
	count.Add(3)
	gauge.Set(4)
	pause.Observe(2)
	var counters Counters
	o := options(c, &counters)
	o.LogsURL, o.MetricsURL, o.Metrics, o.Interval = "", c.URL+"/v1/metrics", registry, time.Millisecond
	s := New(o)
	<-c.Measured
	s.Record([]byte(line)) // goes nowhere, and is no loss
	s.Shutdown(t.Context())
	got := map[string]*metricspb.Metric{}
	for _, m := range c.Readings[0] {
		got[m.Name] = m
	}
	h := got["mcp.server.operation.duration"]
	if h == nil || h.Unit != "s" || h.GetHistogram().AggregationTemporality != metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE {
		t.Fatalf("metrics %v", got)
	}
	p := h.GetHistogram().DataPoints[0]
	if diff := cmp.Diff([]uint64{2, 1, 1}, p.BucketCounts); diff != "" || p.Count != 4 || p.GetSum() != 11.6 || len(p.ExplicitBounds) != 2 || p.StartTimeUnixNano == 0 {
		t.Errorf("%v", p)
	}
	if diff := cmp.Diff(map[string]string{"mcp.method.name": "tools/call"}, collector.Attributes(p.Attributes)); diff != "" {
		t.Error(diff)
	}
	if sum := got["toolgate_things_total"].GetSum(); !sum.IsMonotonic || sum.DataPoints[0].GetAsDouble() != 3 {
		t.Errorf("%v", sum)
	}
	if got["toolgate_sessions"].GetGauge().DataPoints[0].GetAsDouble() != 4 || got["go_pause"].GetSummary().DataPoints[0].Count != 1 {
		t.Errorf("metrics %v", got)
	}
	if counters.Readings.Load() != int64(len(c.Readings)) || counters.RecordsDropped.Load() != 0 {
		t.Errorf("%d readings counted of %d", counters.Readings.Load(), len(c.Readings))
	}
}

// A collector that hangs holds nothing up: what does not fit the queue is dropped and counted, and the end is bounded.
func TestACollectorThatHangs(t *testing.T) {
	c := collector.New(t)
	c.Hold = make(chan struct{})
	defer close(c.Hold)
	var counters Counters
	o := options(c, &counters)
	o.MetricsURL, o.Metrics, o.Interval = c.URL+"/v1/metrics", prometheus.NewRegistry(), time.Hour
	s := New(o)
	const records = maxQueue + 2*maxBatch + 100
	for i := range records {
		s.Record(fmt.Append(nil, i))
	}
	if counters.RecordsDropped.Load() == 0 {
		t.Error("nothing was dropped")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	s.Shutdown(ended)
	if counters.Records.Load() != 0 || counters.RecordsDropped.Load() != records || counters.ReadingsDropped.Load() != 1 {
		t.Errorf("%d sent and %d dropped of %d", counters.Records.Load(), counters.RecordsDropped.Load(), records)
	}
	s.Record([]byte(line))
	if counters.RecordsDropped.Load() != records+1 {
		t.Error("a record after the end is not counted")
	}
}

func TestACollectorThatRefuses(t *testing.T) {
	c := collector.New(t)
	c.Status = http.StatusServiceUnavailable
	var counters Counters
	var logged strings.Builder
	o := options(c, &counters)
	o.Log = slog.New(slog.NewTextHandler(&logged, nil))
	s := New(o)
	for range 2 * maxBatch {
		s.Record([]byte(line))
	}
	s.Shutdown(t.Context())
	if counters.Records.Load() != 0 || counters.RecordsDropped.Load() != 2*maxBatch {
		t.Errorf("%d sent, %d dropped", counters.Records.Load(), counters.RecordsDropped.Load())
	}
	if n := strings.Count(logged.String(), `what was to be sent is dropped" signal="audit records"`); n != 1 || strings.Contains(logged.String(), "echo") {
		t.Errorf("logged %d times: %s", n, &logged)
	}
}

func TestWithoutACollectorNothingIsKept(t *testing.T) {
	var off *Sender
	record := []byte(line)
	if n := testing.AllocsPerRun(100, func() { off.Record(record) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	off.Shutdown(t.Context())
}
