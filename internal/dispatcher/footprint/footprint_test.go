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
		var underWay atomic.Int32
		var begun atomic.Uint64
		trimmer := New(func() (int, uint64) { return int(underWay.Load()), begun.Load() }, slog.New(slog.DiscardHandler))
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
		at(settle+quiet/2, 0, "at once")
		at(quiet, 1, "after two readings")
		underWay.Store(1)
		trimmer.Due()
		at(time.Minute, 1, "with a call under way")
		underWay.Store(0)
		at(again+quiet+1, 2, "after the call")
		trimmer.Due()
		at(settle+quiet/2, 2, "before it was quiet")
		begun.Add(1)
		at(quiet, 2, "with short calls one after the other")
		at(again+quiet, 3, "after those")
		at(time.Hour, 3, "with nothing more to read")
	})
}

// The program runs on without the pages that were taken out.
func TestTheProgramOutlivesItsPages(t *testing.T) {
	if err := releaseProgram(); err != nil {
		t.Fatal(err)
	}
}
