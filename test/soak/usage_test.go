// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"toolgate.dev/toolgate/test/dataplane/serving"
)

// usage is what a dispatcher holds.
type usage struct{ goroutines, descriptors, children int }

func (u usage) String() string {
	return fmt.Sprintf("%d goroutines, %d descriptors, %d children", u.goroutines, u.descriptors, u.children)
}

// rest waits until the dispatcher holds no more than it did before, and where nothing is known of before, until what it holds
// stays the same for a while. A few connections to clients may come and go.
func rest(t *testing.T, d *serving.Dispatcher, before usage) usage {
	t.Helper()
	web.CloseIdleConnections()
	const slack, calm = 6, 20
	bound, same := time.NewTimer(settling), 0
	defer bound.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var last usage
	for {
		now := measure(t, d)
		if same++; now != last {
			last, same = now, 0
		}
		if before == (usage{}) && same >= calm {
			return now
		}
		if before != (usage{}) && now.goroutines <= before.goroutines+slack && now.descriptors <= before.descriptors+slack && now.children <= before.children+1 {
			return now
		}
		select {
		case <-bound.C:
			if before != (usage{}) {
				t.Errorf("after the load: %v, before: %v", now, before)
			}
			return now
		case <-tick.C:
		}
	}
}

func measure(t *testing.T, d *serving.Dispatcher) usage {
	t.Helper()
	resp, err := http.Get(d.Admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // what matters was read
	u := usage{children: len(childrenOf(d.Process.Pid))}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		n, _ := strconv.ParseFloat(value, 64)
		switch name {
		case "go_goroutines":
			u.goroutines = int(n)
		case "process_open_fds":
			u.descriptors = int(n)
		}
	}
	return u
}

// childrenOf are the processes that a process has started and not reaped.
func childrenOf(parent int) []int {
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is right
	var children []int
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
				children = append(children, pid)
			}
		}
	}
	return children
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// killOneChild kills one of the server's processes without a warning.
func killOneChild(dispatcher int) {
	if children := childrenOf(dispatcher); len(children) > 0 {
		_ = syscall.Kill(children[rand.IntN(len(children))], syscall.SIGKILL)
	}
}

// memory are samples of the resident memory, in bytes.
type memory []int64

// watchMemory samples while something runs.
func watchMemory(t *testing.T, d *serving.Dispatcher, duration time.Duration, during func()) memory {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); during() }()
	tick := time.NewTicker(max(duration/200, 50*time.Millisecond))
	defer tick.Stop()
	var samples memory
	for {
		select {
		case <-done:
			return samples
		case <-tick.C:
			if data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", d.Process.Pid)); err == nil {
				if fields := strings.Fields(string(data)); len(fields) > 1 {
					pages, _ := strconv.ParseInt(fields[1], 10, 64)
					samples = append(samples, pages*int64(os.Getpagesize()))
				}
			}
		}
	}
}

// mean is that of one quarter of the samples, 0 to 3.
func (m memory) mean(quarter int) int64 {
	part := m[len(m)*quarter/4 : len(m)*(quarter+1)/4]
	if len(part) == 0 {
		return 0
	}
	var sum int64
	for _, n := range part {
		sum += n
	}
	return sum / int64(len(part))
}

func (m memory) String() string {
	const mb = 1 << 20
	return fmt.Sprintf("%d, %d, %d, %d MB in the quarters of the time", m.mean(0)/mb, m.mean(1)/mb, m.mean(2)/mb, m.mean(3)/mb)
}

// grew says that the last quarter needs half as much again as the second, and not just a little.
func (m memory) grew() bool {
	const little = 24 << 20
	return m.mean(3) > m.mean(1)*3/2+little
}
