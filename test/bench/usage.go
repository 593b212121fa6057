// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// usage is what a target has taken so far.
type usage struct {
	cpu                time.Duration // user and system time of the proxy itself
	mallocs, allocated float64       // of the dispatcher: objects and bytes
	served             float64       // seconds of serving calls, by the dispatcher's own metrics
}

func (t *target) usage() usage {
	u := usage{}
	if t.main != nil {
		u.cpu = cpuTime(t.main.Process.Pid)
	}
	if t.admin != "" {
		m := t.metrics()
		u.mallocs, u.allocated = m["go_memstats_mallocs_total"], m["go_memstats_alloc_bytes_total"]
		for series, value := range m {
			if strings.HasPrefix(series, "mcp_server_operation_duration_seconds_sum") {
				u.served += value
			}
		}
	}
	return u
}

// metrics are the dispatcher's series with their values; none where it does not answer.
func (t *target) metrics() map[string]float64 {
	resp, err := http.Get("http://" + t.admin + "/metrics")
	if err != nil {
		return nil
	}
	defer resp.Body.Close() //nolint:errcheck // what matters was read
	series := map[string]float64{}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		at := strings.LastIndexByte(lines.Text(), ' ')
		if value, err := strconv.ParseFloat(lines.Text()[at+1:], 64); err == nil && at > 0 {
			series[lines.Text()[:at]] = value
		}
	}
	return series
}

// cpuTime is the time that all threads of a process have run, which the scheduler counts in nanoseconds. Threads that have
// ended are not in it; the runtimes measured here keep theirs.
func cpuTime(pid int) time.Duration {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid)) // the pattern is right
	total := time.Duration(0)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		ran, _, _ := strings.Cut(string(data), " ")
		n, _ := strconv.ParseInt(ran, 10, 64) // the kernel writes numbers
		total += time.Duration(n)
	}
	return total
}

// resident is VmRSS in bytes.
func (t *target) resident() int64 {
	if t.main == nil {
		return 0
	}
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", t.main.Process.Pid)) // of none, there is none
	for line := range strings.Lines(string(status)) {
		if value, found := strings.CutPrefix(line, "VmRSS:"); found {
			kilobytes, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64) // the kernel writes numbers
			return kilobytes << 10
		}
	}
	return 0
}

// Machine is where and with what a result was measured.
type Machine struct {
	CPU      string            `json:"cpu"`
	Cores    int               `json:"cores"`
	Memory   int64             `json:"memory_bytes"`
	Kernel   string            `json:"kernel"`
	Load     string            `json:"load_at_start"`
	Go       string            `json:"go"`
	Versions map[string]string `json:"versions"`
}

func machine() Machine {
	m := Machine{Cores: runtime.NumCPU(), Go: runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH}
	m.CPU = field("/proc/cpuinfo", "model name")
	kilobytes, _ := strconv.ParseInt(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB"), 10, 64) // 0 says that it is not known
	m.Memory = kilobytes << 10
	m.Kernel = text("/proc/sys/kernel/osrelease")
	m.Load = text("/proc/loadavg")
	return m
}

// field is the first value under a key in a file of lines `key: value`.
func field(file, key string) string {
	for line := range strings.Lines(text(file)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func text(file string) string {
	data, _ := os.ReadFile(file) // what is not there is reported as empty
	return strings.TrimSpace(string(data))
}
