// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
	"toolgate.dev/toolgate/internal/registry"
)

// The delay before a shared connection that could not be opened is tried again: doubled each time.
const (
	firstBackoff = 200 * time.Millisecond
	mostBackoff  = 30 * time.Second
	// settled is how long a connection must have lasted for its end to be no failure.
	settled = 10 * time.Second
)

// shared is the one connection that all callers use. It is opened when it is first needed, and again after it has ended.
type shared struct {
	pool *Pool

	mu       sync.Mutex
	conn     upstream.Conn
	attempt  *attempt // nil unless the connection is being opened
	failed   error    // of the last attempt, until retryAt
	retryAt  time.Time
	failures int
	openedAt time.Time
	deaths   int // of connections in a row that did not last
	leases   map[*lease]bool
	info     upstream.Info

	subscriptions subscriptions
}

type attempt struct {
	done chan struct{}
	conn upstream.Conn
	err  error
}

func newShared(p *Pool) *shared {
	return &shared{pool: p, leases: map[*lease]bool{}}
}

// get returns the connection, which it opens if there is none. While the last failure is fresh, it is returned.
func (s *shared) get(ctx context.Context) (upstream.Conn, error) {
	s.mu.Lock()
	if s.conn != nil && alive(s.conn) {
		defer s.mu.Unlock()
		return s.conn, nil
	}
	a := s.attempt
	if a == nil {
		s.mourn()
		if s.failed != nil && s.pool.opts.Now().Before(s.retryAt) {
			defer s.mu.Unlock()
			return nil, s.failed
		}
		if s.pool.ctx.Err() != nil {
			defer s.mu.Unlock()
			return nil, errClosed()
		}
		a = &attempt{done: make(chan struct{})}
		s.attempt = a
		s.pool.tasks.Go(func() { s.open(a) })
	}
	s.mu.Unlock()
	select {
	case <-a.done:
		return a.conn, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// mourn takes note of a connection that has ended. The first to end early is replaced at once: whoever called it has been told.
// When the next does the same, its end counts as a failure. s.mu is held.
func (s *shared) mourn() {
	if s.conn == nil {
		return
	}
	now := s.pool.opts.Now()
	if now.Sub(s.openedAt) >= settled {
		s.deaths = 0
	} else if s.deaths++; s.deaths > 1 {
		s.failed = upstream.AsError(s.conn.Err(), registry.FailExited)
		s.retryAt = now.Add(min(firstBackoff<<min(s.deaths-2, 8), mostBackoff))
	}
	s.conn = nil
}

// open belongs to the pool, not to the caller who came first.
func (s *shared) open(a *attempt) {
	a.conn, a.err = s.pool.dialer.Dial(s.pool.ctx, s.pool.opts.Hello, s)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempt, s.conn, s.failed = nil, a.conn, a.err
	if a.err == nil {
		s.failures, s.info, s.openedAt = 0, a.conn.Info(), s.pool.opts.Now()
		if s.info.Era != upstream.Modern { // another server may have taken the place of a modern one
			s.pool.modern.Store(false)
			s.pool.only.Store(false)
		}
		s.pool.background(func(context.Context) { s.keep(a.conn) })
	} else {
		a.conn, s.conn = nil, nil
		s.retryAt = s.pool.opts.Now().Add(min(firstBackoff<<min(s.failures, 8), mostBackoff))
		s.failures++
	}
	close(a.done)
}

func (s *shared) close() {
	s.mu.Lock()
	conn, attempt := s.conn, s.attempt
	s.mu.Unlock()
	if attempt != nil {
		<-attempt.done
		conn = attempt.conn
	}
	for _, l := range s.leased() {
		s.pool.end(l)
	}
	if conn != nil {
		s.pool.end(conn)
	}
}

// HandleRequest refuses: the shared connection declares no capability by which a server could ask anything.
func (s *shared) HandleRequest(context.Context, upstream.Event) upstream.Reply {
	s.pool.opts.Counters.DroppedMessages.Add(1)
	return upstream.Reply{Error: &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "Method not found"}}
}

// HandleNotification passes what surely belongs to a call to the one who made it, updates to those who subscribed, and
// changes of lists to everyone.
func (s *shared) HandleNotification(event upstream.Event) {
	if owner, ok := event.Owner.(*owner); ok && event.Exact {
		event.Owner = owner.value
		owner.lease.notify(event)
		return
	}
	event.Owner = nil
	switch {
	case event.Method == mcp.NotifyResourceUpdated:
		s.updated(event)
	case isListChange(event.Method):
		s.pool.opts.ListChanged(event.Method)
		for _, l := range s.leased() {
			l.notify(event)
		}
	default:
		s.pool.opts.Counters.DroppedMessages.Add(1)
	}
}

func (s *shared) leased() []*lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.leases))
}

// lease gives a caller a Conn of its own over the shared one, which may die and come back behind it.
func (s *shared) lease(ctx context.Context, handler upstream.Handler) (upstream.Conn, error) {
	if _, err := s.get(ctx); err != nil {
		return nil, err
	}
	l := &lease{shared: s, handler: handler, done: make(chan struct{})}
	s.mu.Lock()
	s.leases[l] = true
	s.mu.Unlock()
	return l, nil
}

type lease struct {
	shared  *shared
	handler upstream.Handler
	once    sync.Once
	done    chan struct{}
}

// owner marks the calls of a lease, so that what belongs to them finds back.
type owner struct {
	lease *lease
	value any
}

func (l *lease) notify(event upstream.Event) {
	if l.handler == nil {
		l.shared.pool.opts.Counters.DroppedMessages.Add(1)
		return
	}
	l.handler.HandleNotification(event)
}

// Info is that of the connection that was opened last.
func (l *lease) Info() upstream.Info {
	l.shared.mu.Lock()
	defer l.shared.mu.Unlock()
	return l.shared.info
}

func (l *lease) Call(ctx context.Context, call upstream.Call) (upstream.Reply, error) {
	if !alive(l) {
		return upstream.Reply{}, errClosed()
	}
	conn, err := l.shared.get(ctx)
	if err != nil {
		return upstream.Reply{}, err
	}
	if call.Method == mcp.MethodSubscribe || call.Method == mcp.MethodUnsubscribe {
		return l.subscribe(ctx, conn, call)
	}
	call.Owner = &owner{l, call.Owner}
	return conn.Call(ctx, call)
}

// Notify drops what a client tells on its own, and counts it: to a server whose client is everyone it would be nonsense.
func (l *lease) Notify(context.Context, string, []byte) error {
	l.shared.pool.opts.Counters.DroppedMessages.Add(1)
	return nil
}

func (l *lease) Catalogue(ctx context.Context) (*upstream.Catalogue, error) {
	conn, err := l.shared.get(ctx)
	if err != nil {
		return nil, err
	}
	return conn.Catalogue(ctx)
}

func (l *lease) Done() <-chan struct{} { return l.done }

func (l *lease) Err() error {
	if alive(l) {
		return nil
	}
	return upstream.ErrClosed
}

func (l *lease) Close() error {
	l.once.Do(func() {
		l.shared.mu.Lock()
		delete(l.shared.leases, l)
		l.shared.mu.Unlock()
		close(l.done)
		l.unsubscribe()
	})
	return nil
}
