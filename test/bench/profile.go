// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The profiles that a dispatcher writes (`dispatcher serve --profile`).
const (
	cpuProfile  = "cpu.pprof"
	heapProfile = "heap.pprof"
)

// profileOf is the folder in which a dispatcher writes its profiles.
func (w *world) profileOf(t *target) (string, error) {
	name := strings.NewReplacer(" ", "-", ",", "", "(", "", ")", "").Replace(t.full())
	folder := filepath.Join(w.options.out, "profiles", name)
	return folder, os.MkdirAll(folder, 0o700)
}

// views are what is printed of a profile, by file.
var views = []struct {
	title, file string
	flags       []string
}{
	{"processor time, by function", cpuProfile, []string{"-nodecount=25"}},
	{"processor time, with what is called", cpuProfile, []string{"-cum", "-nodecount=60"}},
	{"objects, by function", heapProfile, []string{"-sample_index=alloc_objects", "-nodecount=25"}},
	{"memory held", heapProfile, []string{"-sample_index=inuse_space", "-nodecount=20"}},
}

// profiles prints where time and memory of the dispatchers went; they have ended.
func (w *world) profiles(ctx context.Context) error {
	if !w.options.profile {
		return nil
	}
	folders, err := filepath.Glob(filepath.Join(w.options.out, "profiles", "*"))
	if err != nil {
		return err
	}
	for _, folder := range folders {
		for _, v := range views {
			args := append([]string{"tool", "pprof", "-top"}, v.flags...)
			cmd := exec.CommandContext(ctx, "go", append(args, filepath.Join(folder, v.file))...)
			top, err := cmd.Output()
			if err != nil {
				return fmt.Errorf("pprof of %s: %w", folder, err)
			}
			fmt.Printf("\n%s: %s\n%s", filepath.Base(folder), v.title, top)
		}
	}
	return nil
}
