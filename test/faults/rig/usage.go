// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Usage is what a process has used so far, as the kernel counts it.
type Usage struct {
	// CPU is user and system time.
	CPU time.Duration
	// Resident and MostResident are bytes of memory, now and at most.
	Resident, MostResident int64
}

// ticksPerSecond is the unit of /proc/<pid>/stat, the same on all that Linux runs on today (man 5 proc).
const ticksPerSecond = 100

// Usage reads /proc, which is on Linux alone.
func (p *Process) Usage() (Usage, error) {
	var u Usage
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
	if err != nil {
		return u, fmt.Errorf("reading the manager's use of CPU: %w", err)
	}
	// The second field is a name in brackets and may have blanks in it. utime and stime are fields 14 and 15.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return u, fmt.Errorf("the manager's stat has %d fields", len(fields))
	}
	for _, field := range fields[11:13] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return u, fmt.Errorf("reading the manager's use of CPU: %w", err)
		}
		u.CPU += time.Duration(ticks) * time.Second / ticksPerSecond
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		return u, fmt.Errorf("reading the manager's use of memory: %w", err)
	}
	for name, into := range map[string]*int64{"VmRSS": &u.Resident, "VmHWM": &u.MostResident} {
		_, rest, _ := strings.Cut(string(status), "\n"+name+":")
		if _, err := fmt.Sscanf(rest, "%d kB", into); err != nil {
			return u, fmt.Errorf("reading %s of the manager: %w", name, err)
		}
		*into *= 1024
	}
	return u, nil
}
