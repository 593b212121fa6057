// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"context"
	"strings"
	"sync"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/tracing"
	"toolgate.dev/toolgate/internal/registry"
)

// lastWords bounds the sending of what is queued when a tracer or a sender ends.
const lastWords = 3 * time.Second

// endLater ends what has been replaced while others go on; group waits for it.
func endLater(group *sync.WaitGroup, replaced interface{ Shutdown(ctx context.Context) }) {
	group.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), lastWords)
		defer cancel()
		replaced.Shutdown(ctx)
	})
}

// Telemetry is where spans, audit records and metrics go unless the document names a collector.
type Telemetry struct {
	// TracesURL takes spans over OTLP/HTTP, LogsURL audit records and MetricsURL metrics; each may be empty for none.
	TracesURL, LogsURL, MetricsURL string
	// Headers go with every request to a collector.
	Headers map[string]string
}

// tracers hold the tracer in use, and those that still send their last spans.
type tracers struct {
	dispatcher *Dispatcher
	counters   tracing.Counters

	mu      sync.Mutex
	url     string
	current *tracing.Tracer
	closed  bool
	ending  sync.WaitGroup
}

// use traces to the collector of the document, or to the one of the options, from the next request on.
func (t *tracers) use(doc *registry.Document) {
	o := t.dispatcher.opts
	url := signal(doc, "traces", o.Telemetry.TracesURL)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || url == t.url {
		return
	}
	var next *tracing.Tracer
	if url != "" {
		var err error
		next, err = tracing.New(tracing.Options{URL: url, Headers: o.Telemetry.Headers, Source: source(o, doc), Counters: &t.counters, Log: o.Log.With("part", "tracing")})
		if err != nil {
			o.Log.Error("no spans are made", "err", err)
		}
	}
	t.replace(url, next)
}

// signal is where one kind of telemetry goes: to the collector of the document, else to where the options say.
func signal(doc *registry.Document, kind, otherwise string) string {
	if endpoint := doc.Telemetry.OTLPEndpoint; endpoint != "" {
		return strings.TrimSuffix(endpoint, "/") + "/v1/" + kind
	}
	return otherwise
}

// replace puts a tracer in use and ends the one before. mu is held.
func (t *tracers) replace(url string, next *tracing.Tracer) {
	old := t.current
	t.url, t.current = url, next
	t.dispatcher.pipeline.UseTracer(next)
	if old != nil {
		endLater(&t.ending, old)
	}
}

// close ends tracing, and waits for the last spans.
func (t *tracers) close() {
	t.mu.Lock()
	t.closed = true
	t.replace("", nil)
	t.mu.Unlock()
	t.ending.Wait()
}
