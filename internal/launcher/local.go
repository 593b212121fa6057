// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package launcher

import (
	"context"
	"errors"
	"sync"
)

// errClosed is returned by Spawn after Close.
var errClosed = errors.New("the launcher's client is closed")

// LocalClient runs a server's children in this process, for a desk: the same
// Process as across the socket, with no boundary between the two.
type LocalClient struct {
	launch *launch
	procs  processSet
}

// Local returns a client whose children are children of this process. While one
// runs, this process adopts and reaps orphans; whatever else it starts must stay
// in its own process group. What is wrong with o is said by Spawn.
func Local(o ServeOptions) *LocalClient { return &LocalClient{launch: newLaunch(o, false)} }

// Spawn starts a fresh child. It returns a *SpawnError where the command can't
// be started. ctx only bounds the start; Close ends the child.
func (l *LocalClient) Spawn(ctx context.Context) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ends, err := newPipes()
	if err != nil {
		return nil, err
	}
	c, err := l.launch.start(ends.childStdin, ends.childStdout)
	ends.closeChildEnds()
	if err != nil {
		ends.close()
		return nil, err
	}
	end := make(chan struct{})
	p := &Process{
		stdin: ends.stdin, stdout: ends.stdout, pid: c.all.PID(), tail: c.tail,
		exited: make(chan struct{}), end: func() { close(end) },
	}
	added := l.procs.add(p, func() {
		l.follow(p, c, end)
	})
	if !added {
		return nil, errClosed
	}
	return p, nil
}

// follow runs the child to its end and passes that on.
func (l *LocalClient) follow(p *Process, c *child, end <-chan struct{}) {
	lost := make(chan struct{})
	var passing sync.WaitGroup
	passing.Go(func() {
		select {
		case <-c.exited:
			p.finish(c.exit)
		case <-lost:
			p.finish(&ExitError{Code: -1, Lost: true, StderrTail: c.tail.Lines()})
		}
	})
	if !l.launch.run(c, end, nil) {
		close(lost)
	}
	passing.Wait()
}

// Close ends all children with all their descendants, and waits for it. Spawn
// fails from then on.
func (l *LocalClient) Close() error { return l.procs.close() }

// processSet holds the live processes of a client.
type processSet struct {
	mu        sync.Mutex
	closed    bool
	live      map[*Process]struct{}
	following sync.WaitGroup
}

// add calls follow, which returns when nothing of p is left, in a goroutine. In
// a closed set it ends p at once instead, and reports false.
func (s *processSet) add(p *Process, follow func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live == nil {
		s.live = map[*Process]struct{}{}
	}
	s.live[p] = struct{}{}
	s.following.Go(func() {
		follow()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.live, p)
	})
	if s.closed {
		_ = p.Close() // nobody has used its pipes
	}
	return !s.closed
}

func (s *processSet) close() error {
	s.mu.Lock()
	s.closed = true
	errs := make([]error, 0, len(s.live))
	for p := range s.live {
		errs = append(errs, p.Close())
	}
	s.mu.Unlock()
	s.following.Wait()
	return errors.Join(errs...)
}
