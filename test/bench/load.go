// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// load is one combination of what is asked for.
type load struct {
	Bytes       int `json:"bytes"`
	Concurrency int `json:"concurrency"`
}

func (l load) String() string { return fmt.Sprintf("%s x%d", sizeName(l.Bytes), l.Concurrency) }

func sizeName(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%d MB", n>>20)
	default:
		return fmt.Sprintf("%d KB", n>>10)
	}
}

// sample is what one load on one target gave, over all rounds.
type sample struct {
	latencies []time.Duration
	elapsed   time.Duration
	cpu       time.Duration // of the proxy alone
	mallocs   float64       // of the dispatcher
	allocated float64       // bytes of the dispatcher
	server    float64       // seconds that the dispatcher itself measured
}

// drive lets n callers call for a while, after a little warming up, and adds what that gave.
func (s *sample) drive(t *target, l load, warm, long time.Duration) error {
	callers := make([]caller, 0, l.Concurrency)
	defer func() {
		for _, c := range callers {
			c.close()
		}
	}()
	for i := range l.Concurrency {
		c, err := t.caller(l.Bytes, &ids{next: i, step: l.Concurrency})
		if err != nil {
			return err
		}
		callers = append(callers, c)
	}
	if _, err := together(callers, warm); err != nil {
		return err
	}
	before := t.usage()
	start := time.Now()
	latencies, err := together(callers, long)
	s.elapsed += time.Since(start)
	if err != nil {
		return err
	}
	after := t.usage()
	s.latencies = append(s.latencies, latencies...)
	s.cpu += after.cpu - before.cpu
	s.mallocs += after.mallocs - before.mallocs
	s.allocated += after.allocated - before.allocated
	s.server += after.served - before.served
	return nil
}

// together runs all callers until the time is over; each makes one call at least.
func together(callers []caller, long time.Duration) ([]time.Duration, error) {
	all := make([][]time.Duration, len(callers))
	errs := make([]error, len(callers))
	end := time.Now().Add(long)
	var group sync.WaitGroup
	for i, c := range callers {
		group.Go(func() {
			mine := make([]time.Duration, 0, 1<<14)
			for at := time.Now(); at.Before(end) || len(mine) == 0; {
				if errs[i] = c.call(); errs[i] != nil {
					break
				}
				now := time.Now()
				mine = append(mine, now.Sub(at))
				at = now
			}
			all[i] = mine
		})
	}
	group.Wait()
	return slices.Concat(all...), errors.Join(errs...)
}

// Figures are what is reported of one load on one target. Times are in microseconds.
type Figures struct {
	Target string `json:"target"`
	load
	Calls       int     `json:"calls"`
	P50         float64 `json:"p50_us"`
	P99         float64 `json:"p99_us"`
	AddedP50    float64 `json:"added_p50_us"`
	AddedP99    float64 `json:"added_p99_us"`
	PerSecond   float64 `json:"calls_per_second"`
	CPUPer1000  float64 `json:"cpu_ms_per_1000_calls,omitempty"`
	Allocations float64 `json:"allocations_per_call,omitempty"`
	Allocated   float64 `json:"allocated_bytes_per_call,omitempty"`
	// Inside is the dispatcher's own measurement, from the last byte read to the answer, the server's time included.
	Inside float64 `json:"inside_mean_us,omitempty"`
	Error  string  `json:"error,omitempty"`
}

func (s *sample) figures(target string, l load) Figures {
	slices.Sort(s.latencies)
	n := len(s.latencies)
	f := Figures{Target: target, load: l, Calls: n}
	if n == 0 {
		return f
	}
	calls := float64(n)
	f.P50, f.P99 = micro(s.latencies[n/2]), micro(s.latencies[n*99/100])
	f.PerSecond = calls / s.elapsed.Seconds()
	f.CPUPer1000 = s.cpu.Seconds() * 1e6 / calls
	f.Allocations, f.Allocated = s.mallocs/calls, s.allocated/calls
	f.Inside = s.server * 1e6 / calls
	return f
}

func micro(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
