// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package family

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Process is one line of the process table, read from /proc/PID/stat (proc(5)).
type Process struct {
	PID, Parent    int
	group, session int
	// live is false for a zombie. A process whose first thread has ended is
	// shown as one, and is not while others run.
	live  bool
	start string // ticks since boot: with pid, the process's identity
}

// Processes reads the process table, zombies included. A process that ends
// meanwhile is left out.
func Processes() []Process {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }() // it was only read
	names, _ := dir.Readdirnames(-1)   // what could be read still counts
	list := make([]Process, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := readProcess(pid); ok {
				list = append(list, p)
			}
		}
	}
	return list
}

func readProcess(pid int) (Process, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Process{}, false
	}
	// The name in parentheses may hold anything, spaces and parentheses too.
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 20 {
		return Process{}, false
	}
	p := Process{PID: pid, start: f[19]}
	for i, dst := range []*int{&p.Parent, &p.group, &p.session} {
		if *dst, err = strconv.Atoi(f[i+1]); err != nil {
			return Process{}, false
		}
	}
	const dead, onlyThread = "ZXx", "1"
	p.live = !strings.Contains(dead, f[0]) || f[17] != onlyThread
	return p, true
}

// hasMark reports whether the process was started with mark in its environment.
func (p Process) hasMark(mark string) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/environ")
	return err == nil && slices.ContainsFunc(bytes.Split(env, []byte{0}), func(v []byte) bool { return string(v) == mark })
}

// holdsAny reports whether one of the process's three standard files is one of
// pipes, named as in /proc/PID/fd.
func (p Process) holdsAny(pipes []string) bool {
	for _, fd := range []string{"0", "1", "2"} {
		name, err := os.Readlink("/proc/" + strconv.Itoa(p.PID) + "/fd/" + fd)
		if err == nil && slices.Contains(pipes, name) {
			return true
		}
	}
	return false
}

// signal sends sig to the process if it is still the one that was listed. Its
// errors mean that it is gone, or not ours to signal: the next listing tells.
func (p Process) signal(sig unix.Signal) {
	send := func() error { return unix.Kill(p.PID, sig) }
	// A pidfd can't come to mean another process between the look and the signal.
	if fd, err := unix.PidfdOpen(p.PID, 0); err == nil {
		defer func() { _ = unix.Close(fd) }()
		send = func() error { return unix.PidfdSendSignal(fd, sig, nil, 0) }
	}
	if now, ok := readProcess(p.PID); ok && now.start == p.start {
		_ = send()
	}
}
