// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

// accounts reads audit records as they are written, and keeps no more of them than the calls that have no end yet.
type accounts struct {
	mu      sync.Mutex
	rest    []byte // of a line that is not whole yet
	last    uint64
	started map[string]bool
	ended   int64
	faults  []string
	by      map[string]int64
}

func newAccounts() *accounts { return &accounts{started: map[string]bool{}, by: map[string]int64{}} }

// Write takes a part of the records.
func (a *accounts) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rest = append(a.rest, p...)
	for {
		line, after, found := bytes.Cut(a.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		a.take(line)
		a.rest = append(a.rest[:0], after...)
	}
}

func (a *accounts) take(line []byte) {
	var r struct {
		Seq     uint64
		TraceID string `json:"trace_id"`
		Method  string
		Outcome string
	}
	if err := json.Unmarshal(line, &r); err != nil || r.Seq != a.last+1 || r.Outcome == "gap" {
		a.fault("after record %d comes %.300s", a.last, line)
	}
	a.last = r.Seq
	if r.Method != "tools/call" {
		return
	}
	if r.Outcome == "started" {
		if a.started[r.TraceID] {
			a.fault("the call %s was started twice", r.TraceID)
		}
		a.started[r.TraceID] = true
		return
	}
	delete(a.started, r.TraceID)
	a.ended++
	a.by[r.Outcome]++
}

func (a *accounts) fault(format string, args ...any) {
	if len(a.faults) < 10 {
		a.faults = append(a.faults, fmt.Sprintf(format, args...))
	}
}

// check wants a record of the end of every call that was answered, and no more starts without an end.
func (a *accounts) check(t *testing.T, answered *atomic.Int64) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, fault := range a.faults {
		t.Error(fault)
	}
	t.Logf("%d calls answered, %d recorded: %v; %d without an end", answered.Load(), a.ended, a.by, len(a.started))
	if a.ended != answered.Load() || len(a.started) > 0 || len(a.rest) > 0 || a.ended == 0 {
		t.Errorf("%d calls were answered, %d are recorded, %d have no end, %d bytes of a record are left", answered.Load(), a.ended, len(a.started), len(a.rest))
	}
}
