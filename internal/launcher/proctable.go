// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package launcher

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
)

// process is one line of the process table, read from /proc/PID/stat (proc(5)).
type process struct {
	pid, ppid, group, session int
	// live is false for a zombie. A process whose first thread has ended is
	// shown as one, and is not while others run.
	live  bool
	start string // ticks since boot: with pid, the process's identity
}

// processes reads the process table. A process that ends meanwhile is left out.
func processes() []process {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer closeAll(dir)
	names, _ := dir.Readdirnames(-1) // what could be read still counts
	list := make([]process, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := readProcess(pid); ok {
				list = append(list, p)
			}
		}
	}
	return list
}

func readProcess(pid int) (process, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	// The name in parentheses may hold anything, spaces and parentheses too.
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 20 {
		return process{}, false
	}
	p := process{pid: pid, start: f[19]}
	for i, dst := range []*int{&p.ppid, &p.group, &p.session} {
		if *dst, err = strconv.Atoi(f[i+1]); err != nil {
			return process{}, false
		}
	}
	const dead, onlyThread = "ZXx", "1"
	p.live = !strings.Contains(dead, f[0]) || f[17] != onlyThread
	return p, true
}

// hasMark reports whether the process was started with mark in its environment.
func (p process) hasMark(mark string) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/environ")
	return err == nil && slices.ContainsFunc(bytes.Split(env, []byte{0}), func(v []byte) bool { return string(v) == mark })
}

// holdsAny reports whether one of the process's three standard files is one of
// pipes, named as in /proc/PID/fd.
func (p process) holdsAny(pipes []string) bool {
	for _, fd := range []string{"0", "1", "2"} {
		name, err := os.Readlink("/proc/" + strconv.Itoa(p.pid) + "/fd/" + fd)
		if err == nil && slices.Contains(pipes, name) {
			return true
		}
	}
	return false
}
