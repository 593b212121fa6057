// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package family knows which processes came from which child of this process,
// also those that left its process group or lost their parents, and ends them.
//
// It owns the process table (proc(5)), the adoption and reaping of orphans, and
// the traces by which a descendant is told. It knows nothing of pipes, sockets
// or MCP, and must not import any other package of this project.
package family

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
	// buryPasses bounds the wait for the dead in the same way.
	buryPasses = 100
)

// kin holds this process's children. There is one, because a process has one
// set of children, one subreaper flag and one SIGCHLD.
var kin family

// family adopts the orphans of children as a subreaper, and reaps those. Every
// descendant of a child is a descendant of this process for good: either by its
// parents, or adopted. Children are waited for by exec.Cmd alone.
type family struct {
	mu      sync.Mutex
	users   int
	leaders map[int]*Child // started and not yet waited for, by pid
	stop    chan struct{}
}

// Join makes this process adopt and reap orphans until as many calls of Leave.
func Join() error {
	kin.mu.Lock()
	defer kin.mu.Unlock()
	if kin.users == 0 {
		if err := setSubreaper(1); err != nil {
			return err
		}
		if kin.leaders == nil {
			kin.leaders = map[int]*Child{}
		}
		kin.stop = make(chan struct{})
		died := make(chan os.Signal, 1)
		signal.Notify(died, unix.SIGCHLD)
		go kin.reapOrphans(died, kin.stop)
	}
	kin.users++
	return nil
}

// Leave takes back one Join; the last one leaves the process as it was, once the dead are reaped: nobody would do it afterwards.
func Leave() {
	kin.buryAll()
	kin.mu.Lock()
	defer kin.mu.Unlock()
	if kin.users--; kin.users == 0 {
		kin.reapLocked()
		close(kin.stop)
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
	for _, p := range Processes() {
		if p.live || p.Parent != self || p.group == group || f.leaders[p.PID] != nil {
			continue
		}
		_, _ = unix.Wait4(p.PID, nil, unix.WNOHANG, nil) // gone is what was asked for
	}
}

// buryAll waits until no dead orphan is left, if nobody else will reap it, for buryPasses at most. A process that was killed is
// dead, and still cannot be waited for, until its last thread has ended; until then its children are not adopted either.
func (f *family) buryAll() {
	for range buryPasses {
		f.mu.Lock()
		f.reapLocked()
		done := f.users > 1 || !f.unburied()
		f.mu.Unlock()
		if done {
			return
		}
		<-time.After(killPause)
	}
}

// unburied says whether there is a dead process below this one, but for what its exec.Cmd waits for. mu is held.
func (f *family) unburied() bool {
	children := map[int][]Process{}
	for _, p := range Processes() {
		children[p.Parent] = append(children[p.Parent], p)
	}
	var dead func(p Process) bool
	dead = func(p Process) bool {
		return !p.live && f.leaders[p.PID] == nil || slices.ContainsFunc(children[p.PID], dead)
	}
	group := unix.Getpgrp()
	return slices.ContainsFunc(children[os.Getpid()], func(p Process) bool { return p.group != group && dead(p) })
}

// descendants walks the trees below this process whose root is wanted, and
// lists their live processes from an owned one downwards. Roots are children
// and adopted processes; one in this process's own group is somebody else's.
func descendants(wanted, owned func(Process) bool) []Process {
	children := map[int][]Process{}
	for _, p := range Processes() {
		children[p.Parent] = append(children[p.Parent], p)
	}
	var found []Process
	var walk func(p Process, mine bool)
	walk = func(p Process, mine bool) {
		mine = mine || owned(p)
		if mine && p.live {
			found = append(found, p)
		}
		for _, next := range children[p.PID] {
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

// all lists all live descendants that came from any child, as PID 1 all
// processes of the namespace.
func (f *family) all() []Process {
	f.mu.Lock()
	defer f.mu.Unlock()
	if os.Getpid() == 1 {
		return slices.DeleteFunc(Processes(), func(p Process) bool { return p.PID == 1 || !p.live })
	}
	every := func(Process) bool { return true }
	return descendants(every, every)
}

// KillEverything ends all that runs below this process: as PID 1, all that runs
// in its namespace. It returns the pids that did not end.
func KillEverything() []int {
	return untilGone(kin.all, func(left []Process) {
		if os.Getpid() == 1 {
			_ = unix.Kill(-1, unix.SIGKILL) // spares PID 1 itself (kill(2))
			return
		}
		signalAll(left, 0, unix.SIGKILL)
	})
}

// untilGone kills what is listed, again while something is, since what is killed
// may have forked. It returns the pids that did not end.
func untilGone(list func() []Process, kill func([]Process)) []int {
	for range killPasses {
		left := list()
		if len(left) == 0 {
			return nil
		}
		kill(left)
		<-time.After(killPause)
		kin.reap()
	}
	var pids []int
	for _, p := range list() {
		pids = append(pids, p.PID)
	}
	return pids
}
