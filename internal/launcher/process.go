// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package launcher

import (
	"errors"
	"os"
	"sync"
)

// Process is one run of the server, on the dispatcher's side. Its methods may
// be called from any goroutine. Close must be called in the end, also for one
// that has exited: it holds two file descriptors until then.
type Process struct {
	stdin, stdout *os.File
	pid           int
	tail          *tail
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
func (p *Process) StderrTail() []string { return p.tail.snapshot() }

// Close closes both pipes and asks for the end of the child with all its
// descendants: SIGTERM after a fifth of the launcher's grace, SIGKILL after it.
// It does not wait for that; Exited does. Further calls do nothing.
func (p *Process) Close() error {
	p.closeOnce.Do(func() {
		p.closeErr = closeBoth(p.stdin, p.stdout)
		p.end()
	})
	return p.closeErr
}

// finish makes the child's end known. It is called once.
func (p *Process) finish(e *ExitError) {
	p.exit = e
	close(p.exited)
}

func closeBoth(a, b *os.File) error {
	var errs []error
	for _, f := range []*os.File{a, b} {
		if err := f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
