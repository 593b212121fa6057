// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package measured

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Usage is what a process has used so far, as /proc says it.
type Usage struct {
	CPU time.Duration
	// Resident and Peak are bytes of resident memory, now and at most.
	Resident, Peak uint64
}

// ticks is USER_HZ, which is 100 wherever Linux runs.
const ticks = 100

// UsageOf reads the figures of a process.
func UsageOf(pid int) (Usage, error) {
	var u Usage
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return u, fmt.Errorf("reading what process %d has used: %w", pid, err)
	}
	// The name is in parentheses and may hold spaces. After it comes field 3; 14 and 15 are user and system time (proc(5)).
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return u, fmt.Errorf("reading what process %d has used: %q", pid, stat)
	}
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return u, fmt.Errorf("reading what process %d has used: %w", pid, err)
		}
		u.CPU += time.Duration(n) * time.Second / ticks
	}
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return u, fmt.Errorf("reading what process %d has used: %w", pid, err)
	}
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		kib, _ := strconv.ParseUint(fields[1], 10, 64)
		switch fields[0] {
		case "VmRSS:":
			u.Resident = kib << 10
		case "VmHWM:":
			u.Peak = kib << 10
		}
	}
	return u, nil
}

// Shares says what this process (the cluster and the proxies), the API server and etcd have used so far.
func Shares() (map[string]Usage, error) {
	out := map[string]Usage{}
	self, err := UsageOf(os.Getpid())
	if err != nil {
		return nil, err
	}
	out["rig"] = self
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		return nil, fmt.Errorf("looking for the API server: %w", err)
	}
	for _, task := range tasks {
		children, _ := os.ReadFile(task)
		for _, child := range strings.Fields(string(children)) {
			name, _ := os.ReadFile(filepath.Join("/proc", child, "comm"))
			pid, _ := strconv.Atoi(child)
			if text := strings.TrimSpace(string(name)); text == "kube-apiserver" || text == "etcd" {
				if out[text], err = UsageOf(pid); err != nil {
					return nil, err
				}
			}
		}
	}
	return out, nil
}
