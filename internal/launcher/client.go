// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package launcher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"toolgate.dev/toolgate/internal/launcher/stderr"
)

// handshakeWait bounds what the launcher may take to answer.
const handshakeWait = 15 * time.Second

// Client is the dispatcher's side of a launcher's socket.
type Client struct {
	socket  string
	control *wire
	lost    chan struct{}
	procs   processSet
}

// Dial opens the control connection to the launcher at socket. The launcher
// ends all children of an earlier dispatcher before it answers. ctx only bounds
// the dialling; a launcher that does not answer is given up after 15 s. Where
// the container has not started yet, the error is a dial error: try again.
func Dial(ctx context.Context, socket string) (*Client, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeWait)
	defer cancel()
	w, err := dial(ctx, socket)
	if err != nil {
		return nil, err
	}
	if _, err := w.ask(ctx, record{Type: recordControl}, recordReady); err != nil {
		closeAll(w)
		return nil, fmt.Errorf("opening the launcher's control connection: %w", err)
	}
	c := &Client{socket: socket, control: w, lost: make(chan struct{})}
	go func() {
		defer close(c.lost)
		_, _ = w.receive() // nothing is expected: a record ends it like its loss
		closeAll(w)
	}()
	return c, nil
}

func dial(ctx context.Context, socket string) (*wire, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unixpacket", socket)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ECONNREFUSED):
		return nil, fmt.Errorf("reaching the launcher (has the server's container started?): %w", err)
	case err != nil:
		return nil, fmt.Errorf("reaching the launcher: %w", err)
	}
	return newWire(conn.(*net.UnixConn)), nil
}

// Lost is closed when the control connection has ended: the launcher has gone,
// or Close was called. Its children have ended then; Dial again for others.
func (c *Client) Lost() <-chan struct{} { return c.lost }

// Spawn starts a fresh child. It returns a *SpawnError where the launcher
// refuses or can't start the command. ctx only bounds the start, which is given
// up after 15 s; Close ends the child.
func (c *Client) Spawn(ctx context.Context) (*Process, error) {
	select {
	case <-c.lost:
		return nil, fmt.Errorf("starting the server: the launcher was lost: %w", net.ErrClosed)
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, handshakeWait)
	defer cancel()
	w, err := dial(ctx, c.socket)
	if err != nil {
		return nil, err
	}
	p, err := c.spawn(ctx, w)
	if err != nil {
		closeAll(w)
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	return p, nil
}

func (c *Client) spawn(ctx context.Context, w *wire) (*Process, error) {
	ends, err := newPipes()
	if err != nil {
		return nil, err
	}
	started, err := w.ask(ctx, record{Type: recordSession}, recordStarted, ends.childStdin, ends.childStdout)
	ends.closeChildEnds()
	if err != nil {
		ends.close()
		return nil, err
	}
	p := &Process{
		stdin: ends.stdin, stdout: ends.stdout, pid: started.PID, tail: stderr.New(),
		exited: make(chan struct{}), end: w.hangUp,
	}
	if !c.procs.add(p, func() { follow(p, w) }) {
		return nil, errClosed
	}
	return p, nil
}

// Close ends all children with all their descendants, gently, waits for that
// (30 s at most), and closes the control connection. Spawn fails from then on.
func (c *Client) Close() error {
	err := c.procs.close()
	closeAll(c.control) // its reader reports the loss, whoever closed it
	<-c.lost
	return err
}

// ask sends the first record of a connection and returns the answer, which is
// to be of type want. A refusal becomes a *SpawnError.
func (w *wire) ask(ctx context.Context, question record, want recordType, files ...*os.File) (record, error) {
	stop := context.AfterFunc(ctx, w.expire)
	answer, err := w.exchange(question, files)
	if !stop() {
		return record{}, fmt.Errorf("waiting for the launcher: %w", ctx.Err())
	}
	switch {
	case err != nil:
		return record{}, err
	case answer.Type == recordRefused:
		return record{}, &SpawnError{stderr.Clean([]byte(answer.Message))}
	case answer.Type != want:
		return record{}, fmt.Errorf("the launcher answered a %s record with %q instead of %s", question.Type, answer.Type, want)
	}
	return answer, nil
}

func (w *wire) exchange(question record, files []*os.File) (answer record, err error) {
	if err = w.send(question, files...); err == nil {
		answer, err = w.receive()
	}
	if errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE) {
		return answer, fmt.Errorf("the launcher closed the connection, as it does to users that it was not told to allow (this is user %d): %w", os.Getuid(), err)
	}
	return answer, err
}

// follow takes in what the launcher says of p, until it has ended all of it.
func follow(p *Process, w *wire) {
	defer closeAll(w)
	for {
		r, err := w.receive()
		if err != nil || !p.learn(r) {
			break
		}
	}
	if p.ExitErr() == nil {
		p.finish(&ExitError{Code: -1, Lost: true, StderrTail: p.tail.Lines()})
	}
}

// learn takes in one record, and reports whether it was one to expect.
func (p *Process) learn(r record) bool {
	switch r.Type {
	case recordStderr:
		for _, line := range stderr.CleanAll(r.Lines) {
			p.tail.Add(line)
		}
		return true
	case recordExited:
		if p.ExitErr() != nil {
			return false
		}
		p.tail.Replace(r.Lines)
		p.finish(&ExitError{Code: r.Code, Signal: stderr.Clean([]byte(r.Signal)), StderrTail: p.tail.Lines()})
		return true
	case recordControl, recordSession, recordReady, recordRefused, recordStarted:
	}
	return false
}
