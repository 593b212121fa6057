// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// patience bounds how long a record waits for a reader that has stopped.
const patience = 2 * time.Second

// pipeBuf is what a pipe takes at once where it takes anything (PIPE_BUF of pipe(7)).
const pipeBuf = 4096

var errNotRead = errors.New("nobody reads the other end")

// patient writes to a file that may be a pipe whose reader has stopped reading. A plain write would then wait for ever, and
// with it every call that has to be recorded.
type patient struct {
	file     *os.File
	patience time.Duration
	stopped  bool // the reader had stopped at the last write: the next one does not wait
}

// patiently gives a writer that does not wait for ever, where w is a file.
func patiently(w io.Writer) io.Writer {
	if file, ok := w.(*os.File); ok {
		return &patient{file: file, patience: patience}
	}
	return w
}

// Write writes all of data or gives an error with what was written. It is not safe for concurrent use.
func (p *patient) Write(data []byte) (written int, err error) {
	for written < len(data) {
		if err := p.ready(); err != nil {
			return written, err
		}
		n, err := p.file.Write(data[written:min(written+pipeBuf, len(data))])
		if written += n; err != nil {
			return written, err
		}
	}
	return written, nil
}

// ready waits until the file takes something.
func (p *patient) ready() error {
	wait := p.patience
	if p.stopped {
		wait = 0
	}
	for deadline := time.Now().Add(wait); ; {
		fds := []unix.PollFd{{Fd: int32(p.file.Fd()), Events: unix.POLLOUT}}
		n, err := unix.Poll(fds, int(time.Until(deadline).Milliseconds()+1))
		switch {
		case errors.Is(err, unix.EINTR) && time.Now().Before(deadline):
			continue
		case err != nil:
			return fmt.Errorf("waiting for a reader: %w", err)
		}
		if p.stopped = n == 0; p.stopped {
			return fmt.Errorf("%w of %s", errNotRead, p.file.Name())
		}
		return nil // also for an error of the file: the write says which
	}
}
