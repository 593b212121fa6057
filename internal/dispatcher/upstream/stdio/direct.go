// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// pipeBuf is what a pipe takes whole or not at all (PIPE_BUF of pipe(7)).
const pipeBuf = 4096

// direct writes a message from the goroutine that has it, where that cannot make it wait: to hand it to the writer's goroutine
// takes longer than to write it. The zero value never does.
type direct struct {
	// writing is held by whoever writes to the child.
	writing sync.Mutex
	// queued counts what the writer's goroutine has yet to write: nothing may overtake that.
	queued atomic.Int64

	raw     syscall.RawConn
	attempt func(fd uintptr) bool // one for all writes, so that none takes memory
	data    []byte
	written bool
}

// to says what is written to. A file that would make its writer wait is left to the writer's goroutine.
func (d *direct) to(stdin *os.File) {
	if stdin.SetWriteDeadline(time.Time{}) != nil { // it can wait for room in no other way than blocking
		return
	}
	raw, err := stdin.SyscallConn()
	if err != nil {
		return
	}
	d.raw = raw
	d.attempt = func(fd uintptr) bool {
		n, err := unix.Write(int(fd), d.data)
		d.written = err == nil && n == len(d.data)
		return true // whatever is wrong, the writer's goroutine sees it too
	}
}

// write writes all of data at once, or nothing, and reports which.
func (d *direct) write(data []byte) bool {
	if d.raw == nil || len(data) > pipeBuf || !d.writing.TryLock() {
		return false
	}
	defer d.writing.Unlock()
	if d.queued.Load() > 0 {
		return false
	}
	d.data, d.written = data, false
	err := d.raw.Write(d.attempt)
	d.data = nil
	return err == nil && d.written
}
