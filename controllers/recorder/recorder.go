// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recorder bounds what is remembered of events.
//
// client-go's broadcaster keeps every event for six minutes and more, more than a kilobyte each, so that one that is told again is
// counted up and not made anew. While thousands of servers come up, with some ten events each, that would be most of a manager's
// memory. So after a number of events a new broadcaster takes over, which remembers none: what is told again just then is made anew.
//
// It owns when that happens, and must not import controllers.
package recorder

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

// Most is how many events are remembered together.
const Most = 500

// grace is how long a broadcaster that has been taken over from may go on with what it was told: it tries again for a while
// where the API server does not take an event.
const grace = 30 * time.Second

// Recorder implements events.EventRecorder. It is safe for concurrent use.
type Recorder struct {
	sink     events.EventSink
	scheme   *runtime.Scheme
	reporter string

	stopped chan struct{}
	stop    func()

	mu   sync.Mutex
	now  events.EventRecorder
	told int
	// over is closed when another broadcaster takes over.
	over chan struct{}
}

// New makes a recorder that writes to a sink under the name of a reporter.
func New(sink events.EventSink, scheme *runtime.Scheme, reporter string) *Recorder {
	stopped := make(chan struct{})
	return &Recorder{sink: sink, scheme: scheme, reporter: reporter, stopped: stopped, stop: sync.OnceFunc(func() { close(stopped) })}
}

// Eventf implements events.EventRecorder. It does not wait for the API server.
//
//nolint:revive // the interface has as many arguments
func (r *Recorder) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	r.current().Eventf(regarding, related, kind, reason, action, note, args...)
}

// Stop ends what is under way. What is told later is lost.
func (r *Recorder) Stop() { r.stop() }

func (r *Recorder) current() events.EventRecorder {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now == nil || r.told == Most {
		if r.over != nil {
			close(r.over)
		}
		r.over, r.told = make(chan struct{}), 0
		r.now = r.start(r.over)
	}
	r.told++
	return r.now
}

// start gives what records until it is over.
func (r *Recorder) start(over <-chan struct{}) events.EventRecorder {
	ctx, cancel := context.WithCancel(context.Background()) // as long as events are told, however short what tells of one
	b := events.NewBroadcaster(r.sink)
	_ = b.StartRecordingToSinkWithContext(ctx) // one that is new takes whoever listens
	go func() {
		defer cancel()
		defer b.Shutdown()
		select {
		case <-r.stopped:
			return
		case <-over:
		}
		select {
		case <-r.stopped:
		case <-time.After(grace):
		}
	}()
	return b.NewRecorder(r.scheme, r.reporter)
}
