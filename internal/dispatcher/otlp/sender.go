// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	dto "github.com/prometheus/client_model/go"
)

const (
	// maxQueue bounds the records that wait, of 8 KiB at most each; what comes when it is full is dropped.
	maxQueue = 1024
	maxBatch = 256
	// batchDelay is how long a record may wait for others to go with it.
	batchDelay = time.Second
	// usualInterval is between two readings of the metrics.
	usualInterval = 15 * time.Second
	// postTimeout bounds one request to the collector.
	postTimeout = 10 * time.Second
)

// Counters count what became of what was to be sent. The zero value is ready; it outlives senders.
type Counters struct {
	// Records reached the collector; RecordsDropped did not: the queue was full or the collector did not take them.
	Records, RecordsDropped atomic.Int64
	// Readings of the metrics reached the collector; ReadingsDropped did not.
	Readings, ReadingsDropped atomic.Int64
}

// Gatherer gives the series as they are now (prometheus.Gatherer).
type Gatherer interface {
	Gather() ([]*dto.MetricFamily, error)
}

// Options say what is sent, and where.
type Options struct {
	// LogsURL and MetricsURL take records and metrics: those of the collector with their paths, such as
	// http://collector:4318/v1/logs; empty for none.
	LogsURL, MetricsURL string
	// Headers go with every request.
	Headers  map[string]string
	Source   Source
	Metrics  Gatherer
	Counters *Counters
	Log      *slog.Logger
	// Now tells the time of a reading; Interval is between two, 0 for the usual.
	Now      func() time.Time
	Interval time.Duration
}

// Sender sends until it is shut down. A nil Sender takes what comes and drops it. It is safe for concurrent use.
type Sender struct {
	opts    Options
	records chan []byte
	start   time.Time

	stop    chan struct{}
	stopped sync.Once
	tasks   sync.WaitGroup
	ctx     context.Context // the life of the goroutines that send
	cancel  context.CancelFunc
}

// New begins to send. That the collector can't be reached is no error: it is logged, and counted.
func New(o Options) *Sender {
	if o.Interval == 0 {
		o.Interval = usualInterval
	}
	s := &Sender{opts: o, records: make(chan []byte, maxQueue), start: o.Now(), stop: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if o.LogsURL != "" {
		s.tasks.Go(func() { s.sendRecords(s.link(o.LogsURL, "audit records")) })
	}
	if o.MetricsURL != "" {
		s.tasks.Go(func() { s.sendMetrics(s.link(o.MetricsURL, "metrics")) })
	}
	return s
}

// Record queues an audit record, or drops it. It never waits, and keeps nothing of the line's memory.
func (s *Sender) Record(line []byte) {
	if s == nil || s.opts.LogsURL == "" {
		return
	}
	select {
	case <-s.stop:
		s.opts.Counters.RecordsDropped.Add(1)
		return
	default:
	}
	select {
	case s.records <- bytes.Clone(line):
	default:
		s.opts.Counters.RecordsDropped.Add(1)
	}
}

// Shutdown sends what is queued and a last reading, no longer than ctx allows.
func (s *Sender) Shutdown(ctx context.Context) {
	if s == nil {
		return
	}
	s.stopped.Do(func() { close(s.stop) })
	done := make(chan struct{})
	go func() {
		s.tasks.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		s.cancel()
		<-done
	}
	s.cancel()
}

func (s *Sender) sendRecords(to *link) {
	defer to.client.Close()
	for {
		select {
		case first := <-s.records:
			s.sendBatch(to, s.fill([][]byte{first}))
		case <-s.stop:
			for len(s.records) > 0 {
				s.sendBatch(to, s.fill(nil))
			}
			return
		}
	}
}

// fill waits for more records, up to a whole batch, for some time; at the end it takes what is there.
func (s *Sender) fill(batch [][]byte) [][]byte {
	timer := time.NewTimer(batchDelay)
	defer timer.Stop()
	ending := s.stop
	for len(batch) < maxBatch {
		if ending == nil && len(s.records) == 0 {
			break
		}
		select {
		case line := <-s.records:
			batch = append(batch, line)
		case <-timer.C:
			return batch
		case <-ending:
			ending = nil
		}
	}
	return batch
}

func (s *Sender) sendBatch(to *link, batch [][]byte) {
	if to.post(s.ctx, s.opts.Source.records(batch)) {
		s.opts.Counters.Records.Add(int64(len(batch)))
	} else {
		s.opts.Counters.RecordsDropped.Add(int64(len(batch)))
	}
}

func (s *Sender) sendMetrics(to *link) {
	defer to.client.Close()
	ticker := time.NewTicker(s.opts.Interval)
	defer ticker.Stop()
	for {
		ending := false
		select {
		case <-ticker.C:
		case <-s.stop:
			ending = true
		}
		// Of what can't be gathered the rest is still told (prometheus.Gatherer).
		families, err := s.opts.Metrics.Gather()
		if err != nil {
			s.opts.Log.Warn("not all metrics could be read", "err", err)
		}
		if to.post(s.ctx, s.opts.Source.series(families, between(s.start, s.opts.Now()))) {
			s.opts.Counters.Readings.Add(1)
		} else {
			s.opts.Counters.ReadingsDropped.Add(1)
		}
		if ending {
			return
		}
	}
}
