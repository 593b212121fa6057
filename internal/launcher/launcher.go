// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package launcher runs stdio MCP servers for the dispatcher: in the server's
// own container, across a Unix socket (Serve there, Dial here), or as children
// of this process at a desk (Local).
//
// It owns processes: how one is started on pipes, what it said on stderr, how
// it ended, and that nothing of it is left afterwards (package family knows what
// came of it). It knows no MCP and reads none of the server's bytes. It must not
// import k8s.io/*, controller-runtime, api or any package of this project but
// its own family.
//
// Across the socket the launcher's side is not trusted: it shares a user id
// with the code that it starts, and that code could take its place. So the
// dispatcher makes the pipes and hands the child's ends over; it accepts no
// file descriptor, the open file descriptions that it reads and writes never
// leave it, and what it is told (pids, exit codes, stderr) is text for status.
package launcher

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"time"
)

const (
	// MarkVariable is the environment variable that marks every process of one
	// child, so that descendants are found after they left its process group.
	MarkVariable = "TOOLGATE_CHILD"

	defaultGrace       = 5 * time.Second
	defaultMaxChildren = 128
)

// ServeOptions say what to run and for whom. Serve and Local share them.
type ServeOptions struct {
	// Socket is the path of the Unix socket that Serve makes; Local ignores it.
	Socket string
	// Command is the server's command and its arguments. Required.
	Command []string
	// Dir is the working directory of the children; empty means this process's.
	Dir string
	// Env is the environment of the children ("NAME=value"), to which only
	// MarkVariable is added; nil means this process's.
	Env []string
	// AllowUID is the only user id whose connections Serve accepts: the
	// dispatcher's. -1 means this process's own. Local ignores it.
	AllowUID int
	// Log receives the children's stderr, one write per line, each line
	// prefixed with the child's number. nil discards it.
	Log io.Writer
	// Grace is the time from the end of a connection to SIGKILL. The child sees
	// its stdin end first, a fifth of Grace later SIGTERM. 0 means 5 s.
	Grace time.Duration
	// MaxChildren bounds the children that run at once; 0 means 128.
	MaxChildren int
}

func (o ServeOptions) withDefaults() ServeOptions {
	if o.Grace <= 0 {
		o.Grace = defaultGrace
	}
	if o.MaxChildren <= 0 {
		o.MaxChildren = defaultMaxChildren
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	return o
}

// SpawnError says why no child was started, in words for a person. The text
// may be the server container's own: for status, never an input of policy.
type SpawnError struct{ Message string }

func (e *SpawnError) Error() string { return e.Message }

// ExitError says how a child ended. A child that ended well has one too, with
// Code 0: for a stdio server every end is news.
type ExitError struct {
	// Code is the exit code, -1 where there is none (Signal, Lost).
	Code int
	// Signal is the name of the signal that ended it ("SIGKILL"), else empty.
	Signal string
	// Lost means that the launcher was lost before it said how the child ended.
	Lost bool
	// StderrTail holds the last lines of stderr: at most 20 of at most 1 KiB.
	StderrTail []string
}

func (e *ExitError) Error() string {
	switch {
	case e.Lost:
		return "the server's launcher was lost"
	case e.Signal != "":
		return "the server was ended by " + e.Signal
	default:
		return fmt.Sprintf("the server exited with code %d", e.Code)
	}
}

// pipes are the two pipes of a child: its ends, and the ends that stay here.
type pipes struct {
	childStdin, childStdout *os.File
	stdin, stdout           *os.File
}

// newPipes makes both pipes. Our ends are non-blocking, so that deadlines work;
// os.File.Fd makes the child's ends blocking again when they are handed over.
// They are two pipes and not a socket pair because O_NONBLOCK lives on the open
// file description: a child may set it on its stdin and must not meet it on its
// stdout, nor we on ours.
func newPipes() (*pipes, error) {
	p := &pipes{}
	var err error
	if p.childStdin, p.stdin, err = os.Pipe(); err != nil {
		return nil, fmt.Errorf("making the stdin pipe: %w", err)
	}
	if p.stdout, p.childStdout, err = os.Pipe(); err != nil {
		p.close()
		return nil, fmt.Errorf("making the stdout pipe: %w", err)
	}
	// The child may have another user id, and programs do open /dev/stdin.
	for _, f := range []*os.File{p.childStdin, p.childStdout} {
		if err := f.Chmod(0o666); err != nil {
			p.close()
			return nil, fmt.Errorf("opening a pipe to the child's user: %w", err)
		}
	}
	return p, nil
}

func (p *pipes) closeChildEnds() { closeAll(p.childStdin, p.childStdout) }

func (p *pipes) close() { closeAll(p.childStdin, p.childStdout, p.stdin, p.stdout) }

// closeAll closes what was only read, or is given up: its errors tell nothing.
// A nil *os.File is passed over.
func closeAll[C io.Closer](list ...C) {
	for _, c := range list {
		_ = c.Close()
	}
}

func newMark() string {
	var b [16]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return MarkVariable + "=" + hex.EncodeToString(b[:])
}
