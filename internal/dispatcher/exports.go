// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"io"
	"sync"
	"sync/atomic"

	"toolgate.dev/toolgate/internal/dispatcher/otlp"
	"toolgate.dev/toolgate/internal/registry"
)

// exports hold the sender of audit records and metrics in use, and those that still send their last.
type exports struct {
	dispatcher *Dispatcher
	counters   otlp.Counters
	current    atomic.Pointer[otlp.Sender]

	mu            sync.Mutex
	logs, metrics string
	closed        bool
	ending        sync.WaitGroup
}

// use sends to the collector of the document, or to where the options say, from now on.
func (e *exports) use(doc *registry.Document) {
	o := e.dispatcher.opts
	logs, metrics := signal(doc, "logs", o.Telemetry.LogsURL), signal(doc, "metrics", o.Telemetry.MetricsURL)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || logs == e.logs && metrics == e.metrics {
		return
	}
	var next *otlp.Sender
	if logs != "" || metrics != "" {
		next = otlp.New(otlp.Options{LogsURL: logs, MetricsURL: metrics, Headers: o.Telemetry.Headers, Source: source(o, doc),
			Metrics: e.dispatcher.metrics.Registry(), Counters: &e.counters, Now: o.Now, Log: o.Log.With("part", "otlp")})
	}
	e.logs, e.metrics = logs, metrics
	e.replace(next)
}

// replace puts a sender in use and ends the one before. mu is held.
func (e *exports) replace(next *otlp.Sender) {
	if old := e.current.Swap(next); old != nil {
		endLater(&e.ending, old)
	}
}

// close ends sending, and waits for the last of it.
func (e *exports) close() {
	e.mu.Lock()
	e.closed = true
	e.replace(nil)
	e.mu.Unlock()
	e.ending.Wait()
}

// source says who sends.
func source(o Options, doc *registry.Document) otlp.Source {
	return otlp.Source{Service: "toolgate-dispatcher", Namespace: doc.Server.Namespace, Version: o.Version, Instance: o.PodUID, Server: doc.Server.Name}
}

// recorded hands on to the collector what has been written. A record that can't be written is none, wherever else it would go.
type recorded struct {
	out     io.Writer
	exports *exports
}

func (r recorded) Write(line []byte) (int, error) {
	n, err := r.out.Write(line)
	if err == nil && len(line) > 1 { // a newline alone ends a line that was written in part
		r.exports.current.Load().Record(line)
	}
	return n, err
}
