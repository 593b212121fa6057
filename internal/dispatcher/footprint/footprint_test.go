// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package footprint

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestMemoryIsGivenBackOnceNothingIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var freed atomic.Int32
		var busy atomic.Bool
		trimmer := New(func() bool { return !busy.Load() }, slog.New(slog.DiscardHandler))
		trimmer.free = func() { freed.Add(1) }
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go trimmer.Run(ctx)
		at := func(d time.Duration, want int32, when string) {
			t.Helper()
			<-time.After(d)
			synctest.Wait()
			if got := freed.Load(); got != want {
				t.Errorf("%s: %d times, want %d", when, got, want)
			}
		}
		at(time.Hour, 0, "before anything was read")
		trimmer.Due()
		synctest.Wait()
		trimmer.Due()
		at(settle/2, 0, "at once")
		at(settle, 1, "after two readings")
		busy.Store(true)
		trimmer.Due()
		at(time.Minute, 1, "with a call under way")
		busy.Store(false)
		at(again, 2, "after the call")
		at(time.Hour, 2, "with nothing more to read")
	})
}

// The program runs on without the pages that were taken out.
func TestTheProgramOutlivesItsPages(t *testing.T) {
	if err := releaseProgram(); err != nil {
		t.Fatal(err)
	}
}
