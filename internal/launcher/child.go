// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package launcher

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"toolgate.dev/toolgate/internal/launcher/family"
	"toolgate.dev/toolgate/internal/launcher/stderr"
)

const (
	// stderrWait is how long the end of a child waits for the rest of its
	// stderr: a descendant may hold it open.
	stderrWait = 500 * time.Millisecond
	// endPoll is how often the descendants of a dead child are looked for.
	endPoll = 20 * time.Millisecond
)

// child is one run of the server's command, on this side of the socket.
type child struct {
	number int // from 1, for people
	all    *family.Child
	tail   *stderr.Tail
	exited chan struct{} // closed once its own process has ended
	exit   *ExitError    // set before exited is closed
}

// launch makes children from one set of options.
type launch struct {
	opts   ServeOptions
	log    *lineLog
	strays bool // this process runs children and nothing else

	mu      sync.Mutex
	started int
	running int
}

func newLaunch(o ServeOptions, strays bool) *launch {
	o = o.withDefaults()
	return &launch{opts: o, log: &lineLog{out: o.Log}, strays: strays}
}

// start starts a child on the given ends of its pipes, which the caller closes.
// An error is a *SpawnError. A started child must be ended with run.
func (l *launch) start(stdin, stdout *os.File) (*child, error) {
	number, err := l.reserve()
	if err != nil {
		return nil, err
	}
	c, err := l.startNumbered(number, stdin, stdout)
	if err != nil {
		l.release()
		return nil, err
	}
	return c, nil
}

func (l *launch) startNumbered(number int, stdin, stdout *os.File) (*child, error) {
	if len(l.opts.Command) == 0 {
		return nil, &SpawnError{"no command was given: name the server's command"}
	}
	lines, childStderr, err := os.Pipe()
	if err != nil {
		return nil, &SpawnError{fmt.Sprintf("making the stderr pipe: %v", err)}
	}
	defer closeAll(childStderr)
	mark := newMark()
	cmd := exec.Command(l.opts.Command[0], l.opts.Command[1:]...) //nolint:noctx // run ends it, with its descendants
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, childStderr
	cmd.Dir, cmd.Env = l.opts.Dir, l.opts.Env
	cmd.Env = append(cmd.Environ(), mark)
	// A session of its own is a process group of its own, has no terminal to
	// ask for passwords on, and keeps descendants out of the launcher's group.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := family.Join(); err != nil {
		closeAll(lines)
		return nil, &SpawnError{err.Error()}
	}
	all, err := family.Start(cmd, family.Traces{Mark: mark, Pipes: pipeNames(stdin, stdout, childStderr), Strays: l.strays})
	if err != nil {
		family.Leave()
		closeAll(lines)
		return nil, explain(l.opts, err)
	}
	c := &child{number: number, all: all, tail: stderr.New(), exited: make(chan struct{})}
	go c.watch(lines, l.log)
	return c, nil
}

// reserve takes one of the places for children and the next number.
func (l *launch) reserve() (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running >= l.opts.MaxChildren {
		return 0, &SpawnError{fmt.Sprintf("%d children are running, which is the launcher's limit: end some, or raise the limit", l.running)}
	}
	l.running++
	l.started++
	return l.started, nil
}

func (l *launch) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
}

// pipeNames names pipes as the links in /proc/PID/fd do.
func pipeNames(files ...*os.File) []string {
	var names []string
	for _, f := range files {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
			names = append(names, fmt.Sprintf("pipe:[%d]", info.Sys().(*syscall.Stat_t).Ino))
		}
	}
	return names
}

// watch collects the child's stderr and its end.
func (c *child) watch(lines *os.File, log *lineLog) {
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		defer closeAll(lines)
		stderr.Each(lines, func(line string) {
			c.tail.Add(line)
			log.printf("[%d] %s", c.number, line)
		})
	}()
	state := c.all.Wait()
	rest := time.NewTimer(stderrWait)
	defer rest.Stop()
	select {
	case <-drained:
	case <-rest.C:
	}
	c.exit = &ExitError{Code: state.ExitCode(), StderrTail: c.tail.Lines()}
	if status := state.Sys().(syscall.WaitStatus); status.Signaled() {
		c.exit.Signal = unix.SignalName(status.Signal())
	}
	close(c.exited)
}

// run waits until the child ends, or is to end because end or kill is closed,
// and then ends all of it: first it waits a fifth of the grace for the end of
// stdin to be understood, then SIGTERM, after the grace SIGKILL; when kill is
// closed SIGKILL at once. It reports whether nothing is left.
func (l *launch) run(c *child, end, kill <-chan struct{}) bool {
	defer l.release()
	defer family.Leave()
	select {
	case <-c.exited:
	case <-end:
	case <-kill:
	}
	if c.endGently(kill, l.opts.Grace) {
		return true
	}
	if left := c.all.Kill(); len(left) > 0 {
		l.log.printf("launcher: child %d: processes %v did not end on SIGKILL and are left behind", c.number, left)
		return false
	}
	<-c.exited
	return true
}

// endGently reports whether all of the child ended within grace.
func (c *child) endGently(kill <-chan struct{}, grace time.Duration) bool {
	term, deadline, poll := time.NewTimer(grace/5), time.NewTimer(grace), time.NewTicker(endPoll)
	defer term.Stop()
	defer deadline.Stop()
	defer poll.Stop()
	for exited := c.exited; ; {
		if exited == nil && c.all.Gone() {
			return true
		}
		select {
		case <-exited:
			exited = nil
			term.Reset(0) // what outlives the child has no stdin that could end
		case <-term.C:
			c.all.Signal(unix.SIGTERM)
		case <-poll.C:
		case <-deadline.C:
			return false
		case <-kill:
			return false
		}
	}
}

// lineLog writes whole lines from several children.
type lineLog struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *lineLog) printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = fmt.Fprintf(l.out, format+"\n", args...) // a log that can't be written has no other place to say so
}
