// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build profile

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
)

// heapRate is how often the heap is looked at while profiles are made, in bytes: by the default of the runtime most of what
// a dispatcher holds would be missed.
const heapRate = 16 << 10

// A build for measurements has a flag more.
func init() {
	profiling = func(flags *flag.FlagSet) runner {
		folder := flags.String("profile", "", "`folder` for profiles of the processor's time and of memory, in the form of pprof, written at the end")
		return func(ctx context.Context, serve func(context.Context) error) error {
			return profiled(ctx, *folder, serve)
		}
	}
}

// profiled runs serve, and writes profiles into a folder, if one is named, in the form of pprof: where the processor's time
// went into cpu.pprof, and what memory it held when ctx ended, beside all that it ever took, into heap.pprof.
func profiled(ctx context.Context, folder string, serve func(context.Context) error) error {
	if folder == "" {
		return serve(ctx)
	}
	runtime.MemProfileRate = heapRate
	cpu, err := os.Create(filepath.Join(folder, "cpu.pprof"))
	if err != nil {
		return fmt.Errorf("--profile: %w", err)
	}
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return errors.Join(fmt.Errorf("--profile: %w", err), cpu.Close())
	}
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	heap := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		defer end()
		pprof.StopCPUProfile()
		heap <- writeHeap(filepath.Join(folder, "heap.pprof"))
	})
	err = serve(serving)
	if !stop() {
		err = errors.Join(err, <-heap)
	}
	pprof.StopCPUProfile()
	return errors.Join(err, cpu.Close())
}

func writeHeap(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("--profile: %w", err)
	}
	runtime.GC() // what nobody holds any more is not counted as held
	return errors.Join(pprof.WriteHeapProfile(file), file.Close())
}
