// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package footprint gives memory back to the system that only the start of the process, or the reading of a document or a
// catalogue, has needed. A dispatcher stands in every server's pod, and most are idle most of the time.
//
// It knows nothing of what was read, and imports nothing of this project.
package footprint

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"
)

const (
	// settle is how long it is waited for more to be read.
	settle = time.Second
	// quiet is how long nothing may have been under way: collecting for it would make calls slower.
	quiet = time.Second
	// again is how long calls put it off.
	again = 10 * time.Second
)

// Trimmer gives memory back once something large has been read, when nothing else is under way.
type Trimmer struct {
	busy func() (underWay int, begun uint64)
	free func()
	due  chan struct{}
}

// New gives a Trimmer that does nothing until Run. busy says how much is under way, and how much has ever begun.
func New(busy func() (underWay int, begun uint64), log *slog.Logger) *Trimmer {
	t := &Trimmer{busy: busy, due: make(chan struct{}, 1)}
	started := false
	t.free = func() {
		debug.FreeOSMemory()
		if started {
			return
		}
		started = true
		if err := releaseProgram(); err != nil {
			log.Debug("the program's own pages stay in memory", "err", err)
		}
	}
	return t
}

// Due says that something large was read. It does not wait.
func (t *Trimmer) Due() {
	select {
	case t.due <- struct{}{}:
	default:
	}
}

// Run gives memory back until ctx ends.
func (t *Trimmer) Run(ctx context.Context) {
	timer := time.NewTimer(settle)
	defer timer.Stop()
	timer.Stop()
	since := uint64(0)
	looked := false // since holds what had begun a moment ago
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.due:
			timer.Reset(settle)
			looked = false
		case <-timer.C:
			underWay, begun := t.busy()
			switch {
			case underWay > 0, looked && begun != since:
				timer.Reset(again)
				looked = false
			case !looked:
				timer.Reset(quiet)
				since, looked = begun, true
			default:
				t.free()
				looked = false
			}
		}
	}
}
