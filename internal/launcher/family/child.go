// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package family

import (
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// Traces are what a descendant of a child bears, wherever it has gone.
type Traces struct {
	// Mark is a variable in its environment, as NAME=value.
	Mark string
	// Pipes are the child's standard files, named as /proc/PID/fd names them.
	Pipes []string
	// Strays makes the child answer for adopted processes without a trace too,
	// unless another child is there that may have left them.
	Strays bool
}

// Child is a command that was started, with all of its descendants.
type Child struct {
	pid    int
	cmd    *exec.Cmd
	traces Traces
}

// Start starts a command, which must lead a session of its own, between Join and
// Leave. Whoever starts it calls Wait. The error is that of exec.Cmd.
func Start(cmd *exec.Cmd, traces Traces) (*Child, error) {
	// Starting and registering are one step for reap, which would otherwise take a
	// child that ends at once for an orphan.
	kin.mu.Lock()
	defer kin.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &Child{pid: cmd.Process.Pid, cmd: cmd, traces: traces}
	kin.leaders[c.pid] = c
	return c, nil
}

// PID is that of the child's own process.
func (c *Child) PID() int { return c.pid }

// Wait waits for the child's own process.
func (c *Child) Wait() *os.ProcessState {
	_ = c.cmd.Wait() // how it ended is in ProcessState
	kin.mu.Lock()
	delete(kin.leaders, c.pid)
	kin.mu.Unlock()
	return c.cmd.ProcessState
}

// members lists the live processes of the child: its own, every descendant of
// it, and every adopted process that bears one of its traces, with descendants.
func (c *Child) members() []Process {
	kin.mu.Lock()
	defer kin.mu.Unlock()
	strays := c.traces.Strays
	for pid := range kin.leaders {
		strays = strays && pid == c.pid
	}
	return descendants(
		func(p Process) bool { return kin.leaders[p.PID] == nil || kin.leaders[p.PID] == c },
		func(p Process) bool { return p.PID == c.pid || strays || c.left(p) },
	)
}

// left reports whether p, whose parents are gone, came from this child.
func (c *Child) left(p Process) bool {
	return p.session == c.pid || p.group == c.pid || p.hasMark(c.traces.Mark) || p.holdsAny(c.traces.Pipes)
}

// Gone reports whether nothing of the child lives.
func (c *Child) Gone() bool { return len(c.members()) == 0 }

// Signal sends a signal to all of the child.
func (c *Child) Signal(sig unix.Signal) { signalAll(c.members(), c.pid, sig) }

// Kill ends all of the child, and returns the pids that did not end.
func (c *Child) Kill() []int {
	return untilGone(c.members, func(left []Process) { signalAll(left, c.pid, unix.SIGKILL) })
}

// signalAll sends sig to the processes, and at once to group where one of them
// is in it (0: no group): a group can't outrun its signal by forking.
func signalAll(list []Process, group int, sig unix.Signal) {
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
