// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package launcher

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// killPause is the time between two passes of SIGKILL, killPasses their
	// number before it is given up: what is left then hangs in the kernel.
	killPause  = 10 * time.Millisecond
	killPasses = 500
)

// kin holds this process's children. There is one, because a process has one
// set of children, one subreaper flag and one SIGCHLD.
var kin family

// family starts children, adopts their orphans as a subreaper, and reaps those.
// Every descendant of a child is a descendant of this process for good: either
// by its parents, or adopted. Children are waited for by exec.Cmd alone.
type family struct {
	mu      sync.Mutex
	users   int
	leaders map[int]*child // started and not yet waited for, by pid
	stop    chan struct{}
}

// join makes this process adopt and reap orphans until as many calls of leave.
func (f *family) join() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users == 0 {
		if err := setSubreaper(1); err != nil {
			return err
		}
		if f.leaders == nil {
			f.leaders = map[int]*child{}
		}
		f.stop = make(chan struct{})
		died := make(chan os.Signal, 1)
		signal.Notify(died, unix.SIGCHLD)
		go f.reapOrphans(died, f.stop)
	}
	f.users++
	return nil
}

func (f *family) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users--; f.users == 0 {
		f.reapLocked()
		close(f.stop)
		_ = setSubreaper(0) // turning it off can't fail where turning it on did not
	}
}

func setSubreaper(on uintptr) error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, on, 0, 0, 0); err != nil {
		return fmt.Errorf("becoming the parent of orphans (PR_SET_CHILD_SUBREAPER): %w", err)
	}
	return nil
}

func (f *family) reapOrphans(died chan os.Signal, stop chan struct{}) {
	defer signal.Stop(died)
	for {
		select {
		case <-died:
			f.reap()
		case <-stop:
			return
		}
	}
}

// reap waits for every dead orphan. An orphan is told from a child of some
// exec.Cmd by its process group: children lead sessions of their own, and
// nothing in another session can join the group of this process (setpgid(2)).
func (f *family) reap() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reapLocked()
}

func (f *family) reapLocked() {
	self, group := os.Getpid(), unix.Getpgrp()
	for _, p := range processes() {
		if p.live || p.ppid != self || p.group == group || f.leaders[p.pid] != nil {
			continue
		}
		_, _ = unix.Wait4(p.pid, nil, unix.WNOHANG, nil) // gone is what was asked for
	}
}

// start starts the child's command. Starting and registering are one step for
// reap, which would otherwise take a child that ends at once for an orphan.
func (f *family) start(c *child) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := c.cmd.Start(); err != nil {
		return err
	}
	c.pid = c.cmd.Process.Pid
	f.leaders[c.pid] = c
	return nil
}

// wait waits for the child's own process.
func (f *family) wait(c *child) *os.ProcessState {
	_ = c.cmd.Wait() // how it ended is in ProcessState
	f.mu.Lock()
	delete(f.leaders, c.pid)
	f.mu.Unlock()
	return c.cmd.ProcessState
}

// members lists the live processes of the child: its own, every descendant of
// it, and every adopted process that bears one of its traces, with descendants.
// With strays, adopted processes without any trace count too, unless another
// child is there that may have left them.
func (f *family) members(c *child, strays bool) []process {
	f.mu.Lock()
	defer f.mu.Unlock()
	for pid := range f.leaders {
		strays = strays && pid == c.pid
	}
	owned := func(p process) bool { return p.pid == c.pid || strays || c.left(p) }
	return f.descendants(func(p process) bool { return f.leaders[p.pid] == nil || f.leaders[p.pid] == c }, owned)
}

// all lists all live descendants that came from any child, as PID 1 all
// processes of the namespace.
func (f *family) all() []process {
	f.mu.Lock()
	defer f.mu.Unlock()
	if os.Getpid() == 1 {
		return slices.DeleteFunc(processes(), func(p process) bool { return p.pid == 1 || !p.live })
	}
	every := func(process) bool { return true }
	return f.descendants(every, every)
}

// descendants walks the trees below this process whose root is wanted, and
// lists their live processes from an owned one downwards. Roots are children
// and adopted processes; one in this process's own group is somebody else's.
func (f *family) descendants(wanted, owned func(process) bool) []process {
	children := map[int][]process{}
	for _, p := range processes() {
		children[p.ppid] = append(children[p.ppid], p)
	}
	var found []process
	var walk func(p process, mine bool)
	walk = func(p process, mine bool) {
		mine = mine || owned(p)
		if mine && p.live {
			found = append(found, p)
		}
		for _, next := range children[p.pid] {
			walk(next, mine)
		}
	}
	group := unix.Getpgrp()
	for _, p := range children[os.Getpid()] {
		if p.group != group && wanted(p) {
			walk(p, false)
		}
	}
	return found
}

// signalAll sends sig to the processes, and at once to group where one of them
// is in it (0: no group): a group can't outrun its signal by forking.
func signalAll(list []process, group int, sig unix.Signal) {
	grouped := false
	for _, p := range list {
		if group != 0 && p.group == group {
			grouped = true
			continue
		}
		p.signal(sig)
	}
	if grouped {
		_ = unix.Kill(-group, sig) // gone meanwhile is fine
	}
}

// signal sends sig to the process if it is still the one that was listed. Its
// errors mean that it is gone, or not ours to signal: the next listing tells.
func (p process) signal(sig unix.Signal) {
	send := func() error { return unix.Kill(p.pid, sig) }
	// A pidfd can't come to mean another process between the look and the signal.
	if fd, err := unix.PidfdOpen(p.pid, 0); err == nil {
		defer func() { _ = unix.Close(fd) }()
		send = func() error { return unix.PidfdSendSignal(fd, sig, nil, 0) }
	}
	if now, ok := readProcess(p.pid); ok && now.start == p.start {
		_ = send()
	}
}

// killEverything ends all that runs below this process: as PID 1, all that
// runs in its namespace. It returns the pids that did not end.
func (f *family) killEverything() []int {
	var left []process
	for range killPasses {
		if left = f.all(); len(left) == 0 {
			break
		}
		if os.Getpid() == 1 {
			_ = unix.Kill(-1, unix.SIGKILL) // spares PID 1 itself (kill(2))
		} else {
			signalAll(left, 0, unix.SIGKILL)
		}
		<-time.After(killPause)
		f.reap()
	}
	return pids(left)
}

func pids(list []process) []int {
	n := make([]int, 0, len(list))
	for _, p := range list {
		n = append(n, p.pid)
	}
	return n
}
