// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package collector takes what is sent over OTLP/HTTP: logs, metrics and spans. It is for tests alone, and imports nothing of
// this project.
package collector

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Collector is a collector on loopback. What it has taken may be looked at once whoever sends has ended.
type Collector struct {
	*httptest.Server
	// Status is what it answers. Where Hold is set, answers wait for it. Both are set before anything is sent.
	Status int
	Hold   chan struct{}
	// Measured is closed with the first reading of metrics.
	Measured chan struct{}

	// Header and Resource are those of the last request.
	Header   http.Header
	Resource map[string]string
	Records  []*logspb.LogRecord
	Readings [][]*metricspb.Metric
	Spans    []*tracepb.Span

	mu sync.Mutex
}

// New starts one, which ends with the test.
func New(t testing.TB) *Collector {
	t.Helper()
	c := &Collector{Status: http.StatusOK, Measured: make(chan struct{})}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // whoever sent it has given up
		}
		if c.Hold != nil {
			<-c.Hold
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.Header = r.Header
		if err := c.take(r.URL.Path, body); err != nil {
			t.Error(err)
		}
		w.WriteHeader(c.Status)
	}))
	t.Cleanup(c.Close)
	return c
}

// take takes one message, which its path names (OTLP/HTTP, section "OTLP/HTTP Request").
func (c *Collector) take(path string, body []byte) error {
	switch path {
	case "/v1/logs":
		var data logspb.LogsData
		if err := proto.Unmarshal(body, &data); err != nil {
			return err
		}
		for _, resource := range data.ResourceLogs {
			c.from(resource.Resource)
			for _, scope := range resource.ScopeLogs {
				c.Records = append(c.Records, scope.LogRecords...)
			}
		}
	case "/v1/metrics":
		var data metricspb.MetricsData
		if err := proto.Unmarshal(body, &data); err != nil {
			return err
		}
		for _, resource := range data.ResourceMetrics {
			c.from(resource.Resource)
			for _, scope := range resource.ScopeMetrics {
				if c.Readings = append(c.Readings, scope.Metrics); len(c.Readings) == 1 {
					close(c.Measured)
				}
			}
		}
	case "/v1/traces":
		var data tracepb.TracesData
		if err := proto.Unmarshal(body, &data); err != nil {
			return err
		}
		for _, resource := range data.ResourceSpans {
			c.from(resource.Resource)
			for _, scope := range resource.ScopeSpans {
				c.Spans = append(c.Spans, scope.Spans...)
			}
		}
	default:
		return fmt.Errorf("sent to %s, which is no path of OTLP", path)
	}
	return nil
}

func (c *Collector) from(r *resourcepb.Resource) { c.Resource = Attributes(r.Attributes) }

// Attributes gives strings and integers by their keys.
func Attributes(all []*commonpb.KeyValue) map[string]string {
	out := map[string]string{}
	for _, a := range all {
		switch v := a.Value.Value.(type) {
		case *commonpb.AnyValue_StringValue:
			out[a.Key] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			out[a.Key] = strconv.FormatInt(v.IntValue, 10)
		default:
			out[a.Key] = a.Value.String()
		}
	}
	return out
}
