// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package launcher

import (
	"errors"
	"os"
	"sync"
	"time"

	"toolgate.dev/toolgate/internal/launcher/family"
)

// stderrPause is the time between two records of new lines of stderr.
const stderrPause = 200 * time.Millisecond

// control is the dispatcher's control connection: sessions live no longer.
type control struct {
	conn     *wire
	lost     chan struct{} // closed when its children are to be killed at once
	over     chan struct{} // closed once everything under it has ended
	ended    bool          // no session may begin any more; guarded by server.mu
	sessions sync.WaitGroup
}

// serveControl holds the control connection. The newest dispatcher wins: all of
// an earlier one has ended before it is told that it may begin.
func (s *server) serveControl(conn *wire) {
	c := &control{conn: conn, lost: make(chan struct{}), over: make(chan struct{})}
	s.mu.Lock()
	for s.control != nil {
		old := s.control
		s.mu.Unlock()
		closeAll(old.conn)
		<-old.over
		s.mu.Lock()
	}
	s.control = c
	s.mu.Unlock()

	if err := conn.send(record{Type: recordReady}); err == nil {
		_, _ = conn.receive() // nothing is expected: a record ends it like its loss
	}
	s.endControl(c)
}

// endControl ends all that was started under c: with the end of Serve gently,
// with the loss of the dispatcher at once, since nobody guards it any more.
func (s *server) endControl(c *control) {
	s.mu.Lock()
	c.ended = true
	s.mu.Unlock()
	if s.ctx.Err() == nil {
		s.log.printf("launcher: the dispatcher's control connection has ended: killing all that runs here")
		close(c.lost)
		if left := family.KillEverything(); len(left) > 0 {
			s.log.printf("launcher: processes %v did not end on SIGKILL", left)
		}
	}
	c.sessions.Wait()
	s.mu.Lock()
	s.control = nil
	s.mu.Unlock()
	close(c.over)
}

// enter makes a session part of the control connection that is open.
func (s *server) enter() (*control, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.control == nil || s.control.ended {
		return nil, errors.New("no control connection is open: open one before a session")
	}
	s.control.sessions.Add(1)
	return s.control, nil
}

// serveSession runs one child for one connection.
func (s *server) serveSession(conn *wire, stdin, stdout *os.File) {
	control, err := s.enter()
	if err != nil {
		s.refuse(conn, err.Error())
		return
	}
	defer control.sessions.Done()
	c, err := s.start(stdin, stdout)
	closeAll(stdin, stdout)
	if err != nil {
		s.refuse(conn, err.Error())
		return
	}
	end, lost := make(chan struct{}), make(chan struct{})
	s.handlers.Go(func() {
		defer close(end)
		_, _ = conn.receive() // nothing is expected: a record ends it like its loss
	})
	var reporting sync.WaitGroup
	reporting.Go(func() { report(conn, c, lost) })
	if !s.run(c, end, control.lost) {
		close(lost)
	}
	reporting.Wait()
}

// report tells the dispatcher of the child's start, its new lines of stderr and
// its end, until then or until the child is given up as lost. A record that is
// not taken ends the session.
func report(conn *wire, c *child, lost <-chan struct{}) {
	send := func(r record) {
		if err := conn.send(r); err != nil {
			conn.closeRead()
		}
	}
	send(record{Type: recordStarted, Child: c.number, PID: c.all.PID()})
	pause := time.NewTimer(0)
	defer pause.Stop()
	for changed := (<-chan struct{})(nil); ; {
		select {
		case <-pause.C:
			changed = c.tail.Changed()
		case <-changed:
			send(record{Type: recordStderr, Lines: c.tail.Take()})
			changed = nil
			pause.Reset(stderrPause)
		case <-c.exited:
			send(record{Type: recordExited, Code: c.exit.Code, Signal: c.exit.Signal, Lines: c.exit.StderrTail})
			return
		case <-lost:
			return
		}
	}
}
