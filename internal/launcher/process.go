// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package launcher

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"toolgate.dev/toolgate/internal/launcher/stderr"
)

// lastWords is how long stdout is still taken once the child has ended.
const lastWords = 500 * time.Millisecond

// Process is one run of the server, on the dispatcher's side. Its methods may
// be called from any goroutine. Close must be called in the end, also for one
// that has exited: it holds two file descriptors until then.
type Process struct {
	stdin, stdout *os.File
	pid           int
	tail          *stderr.Tail
	exited        chan struct{}
	exit          *ExitError // set before exited is closed
	end           func()     // asks for the end of it and of all its descendants
	closeOnce     sync.Once
	closeErr      error
}

// Stdin is the write end of the child's stdin. Deadlines work on it. It may be
// closed before the Process is, which the child sees as the end of its input.
func (p *Process) Stdin() *os.File { return p.stdin }

// Stdout is the read end of the child's stdout. Deadlines work on it.
func (p *Process) Stdout() *os.File { return p.stdout }

// PID is the process id in the child's own PID namespace: text for status.
func (p *Process) PID() int { return p.pid }

// Exited is closed when the child's own process has ended, or nobody is left
// that could say so. Descendants are then ended by whoever started it.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// ExitErr says how the child ended; nil until Exited is closed. (As an error
// interface, test it before: a nil *ExitError is not a nil error.)
func (p *Process) ExitErr() *ExitError {
	select {
	case <-p.exited:
		return p.exit
	default:
		return nil
	}
}

// StderrTail returns the last lines of the child's stderr so far, at most 20 of
// at most 1 KiB. It is the server's own word, made fit to show.
func (p *Process) StderrTail() []string { return p.tail.Lines() }

// Close closes the child's stdin and asks for the end of the child with all its
// descendants: SIGTERM after a fifth of the launcher's grace, SIGKILL after it.
// What the child still writes is thrown away until it has ended, so that its
// last words do not fail on a broken pipe, which some servers print a trace of.
// It does not wait for that; Exited does. Further calls do nothing.
func (p *Process) Close() error {
	p.closeOnce.Do(func() {
		if err := p.stdin.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			p.closeErr = err
		}
		p.end()
		go p.drain()
	})
	return p.closeErr
}

// drain takes stdout until it ends, or until a little after the child has ended:
// a descendant that lives on may hold it open.
func (p *Process) drain() {
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-p.exited:
			_ = p.stdout.SetReadDeadline(time.Now().Add(lastWords)) // a pipe of ours takes deadlines
		case <-stop:
		}
	}()
	_, _ = io.Copy(io.Discard, p.stdout) // nobody wants it
	_ = p.stdout.Close()                 // it may be closed already
}

// finish makes the child's end known. It is called once.
func (p *Process) finish(e *ExitError) {
	p.exit = e
	close(p.exited)
}
