// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tracing makes spans by OpenTelemetry's conventions for MCP and sends them to a collector over OTLP/HTTP.
//
// It owns the spans' names and attributes, the queue and what is dropped from it. A nil Tracer or Span does nothing and costs
// nothing, so callers need not ask whether tracing is on. It must not import Kubernetes, the API, or the packages that move
// messages.
package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"toolgate.dev/toolgate/internal/dispatcher/otlp"
)

// maxAttribute bounds the value of an attribute, in bytes: some of them are a client's own words.
const maxAttribute = 1024

// Counters count what became of spans. The zero value is ready; it outlives tracers.
type Counters struct {
	// Exported reached the collector, Dropped did not: the queue was full or the collector did not take them.
	Exported, Dropped atomic.Int64
}

// Options say where spans go, and in whose name.
type Options struct {
	// URL takes the spans: that of the collector with its path, such as http://collector:4318/v1/traces.
	URL string
	// Headers go with every request to it.
	Headers map[string]string
	// Source says who sends.
	Source   otlp.Source
	Counters *Counters
	Log      *slog.Logger
}

// Tracer makes spans. It is safe for concurrent use.
type Tracer struct {
	queue  *queue
	tracer trace.Tracer
}

// New begins to trace. The error says what is wrong with the options; that a collector cannot be reached is no error.
func New(o Options) (*Tracer, error) {
	exporter, err := otlptrace.New(context.Background(), uploader{otlp.NewClient(o.URL, o.Headers)})
	if err != nil {
		return nil, fmt.Errorf("tracing to %s: %w", o.URL, err)
	}
	var attributes []attribute.KeyValue
	for _, a := range o.Source.Attributes() {
		attributes = append(attributes, attribute.String(a[0], a[1]))
	}
	limits := sdktrace.NewSpanLimits()
	limits.AttributeValueLengthLimit = maxAttribute
	queue := newQueue(exporter, o.Counters, o.Log)
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(queue),
		sdktrace.WithResource(resource.NewSchemaless(attributes...)),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.AlwaysSample())),
		sdktrace.WithRawSpanLimits(limits),
	)
	return &Tracer{queue: queue, tracer: provider.Tracer("toolgate.dev/toolgate/internal/dispatcher")}, nil
}

// Shutdown sends what is queued, no longer than ctx allows. Spans that end later are dropped.
func (t *Tracer) Shutdown(ctx context.Context) {
	if t == nil {
		return
	}
	_ = t.queue.Shutdown(ctx) // what could not be sent is counted and has been logged
}
