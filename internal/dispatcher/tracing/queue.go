// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"
	"log/slog"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

const (
	// maxQueue bounds the spans that wait; what comes when it is full is dropped.
	maxQueue = 2048
	maxBatch = 512
	// batchDelay is how long a span may wait for others to go with it.
	batchDelay = time.Second
	// exportTimeout bounds one request to the collector.
	exportTimeout = 10 * time.Second
)

// queue hands ended spans to the exporter. Ending a span never waits: OpenTelemetry's own batching does not say what it drops.
type queue struct {
	exporter sdktrace.SpanExporter
	counters *Counters
	log      *slog.Logger
	spans    chan sdktrace.ReadOnlySpan

	stop    chan struct{}
	stopped sync.Once
	done    chan struct{}
	ctx     context.Context // the life of the goroutine that exports
	cancel  context.CancelFunc
	failing bool // of that goroutine alone
}

func newQueue(exporter sdktrace.SpanExporter, counters *Counters, log *slog.Logger) *queue {
	q := &queue{exporter: exporter, counters: counters, log: log, spans: make(chan sdktrace.ReadOnlySpan, maxQueue),
		stop: make(chan struct{}), done: make(chan struct{})}
	q.ctx, q.cancel = context.WithCancel(context.Background())
	go q.run()
	return q
}

// OnStart does nothing.
func (q *queue) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd queues a span that is sampled, or drops it.
func (q *queue) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	select {
	case <-q.stop:
		q.counters.Dropped.Add(1)
		return
	default:
	}
	select {
	case q.spans <- s:
	default:
		q.counters.Dropped.Add(1)
	}
}

// ForceFlush is not needed: batches go by themselves.
func (q *queue) ForceFlush(context.Context) error { return nil }

// Shutdown sends what is queued, no longer than ctx allows.
func (q *queue) Shutdown(ctx context.Context) error {
	q.stopped.Do(func() { close(q.stop) })
	select {
	case <-q.done:
	case <-ctx.Done():
		q.cancel()
		<-q.done
	}
	return q.exporter.Shutdown(context.WithoutCancel(ctx))
}

func (q *queue) run() {
	defer close(q.done)
	defer q.cancel()
	for {
		select {
		case first := <-q.spans:
			q.export(q.fill([]sdktrace.ReadOnlySpan{first}))
		case <-q.stop:
			for len(q.spans) > 0 {
				q.export(q.fill(nil))
			}
			return
		}
	}
}

// fill waits for more spans, up to a whole batch, for some time; at the end it takes what is there.
func (q *queue) fill(batch []sdktrace.ReadOnlySpan) []sdktrace.ReadOnlySpan {
	timer := time.NewTimer(batchDelay)
	defer timer.Stop()
	stopped := false
	for len(batch) < maxBatch {
		if stopped && len(q.spans) == 0 {
			break
		}
		select {
		case s := <-q.spans:
			batch = append(batch, s)
		case <-timer.C:
			return batch
		case <-q.stop:
			if stopped = true; len(q.spans) > 0 {
				batch = append(batch, <-q.spans)
			}
		}
	}
	return batch
}

func (q *queue) export(batch []sdktrace.ReadOnlySpan) {
	ctx, cancel := context.WithTimeout(q.ctx, exportTimeout)
	defer cancel()
	err := q.exporter.ExportSpans(ctx, batch)
	if err == nil {
		q.counters.Exported.Add(int64(len(batch)))
		if q.failing {
			q.log.Info("spans reach the collector again")
		}
		q.failing = false
		return
	}
	q.counters.Dropped.Add(int64(len(batch)))
	if !q.failing {
		q.log.Warn("spans do not reach the collector and are dropped", "err", err)
	}
	q.failing = true
}
