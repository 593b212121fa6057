// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pool says who owns an upstream connection: a session its own, a call without a session a fresh one, and all of
// them one together where isolation is Shared or the server is modern.
//
// It owns the number of connections, the spares that wait for calls without a session, and the one that is shared. It
// decides nothing about messages, and never imports Kubernetes, the API or the launcher.
package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/registry"
)

// ErrNoCapacity says that there are MaxConns connections already.
var ErrNoCapacity = errors.New("no capacity for another connection to the server")

// Options of a Pool. Zero values are replaced by the defaults below.
type Options struct {
	// Isolation is Session unless it says Shared.
	Isolation registry.Isolation
	// Spares are how many connections are kept started and ready for calls without a session, from the first such call
	// on; negative means none.
	Spares int
	// MaxConns bounds the connections of sessions, of calls without a session, and the spares, together. It is asked each time;
	// nil means DefaultMaxConns.
	MaxConns func() int
	// IdleTimeout is after how long without a call the spares are ended.
	IdleTimeout time.Duration
	// Hello is what connections say that serve no session. Its Capabilities are not used: nobody is there to answer.
	Hello upstream.Hello
	// ListChanged is called with the method of a notification by which the server tells of a changed list on the shared
	// connection, for those who have no connection. It must not block; nil means that nobody wants to know.
	ListChanged func(method string)
	// Listed is told of each catalogue that is read over one of the connections (upstream.Hello).
	Listed func(*upstream.Catalogue)
	// Counters are counted up; nil means that nobody reads them.
	Counters *upstream.Counters
	// Now and After are the clock; nil means the real one. After returns a channel that receives once, and a function that
	// gives the timer back.
	Now   func() time.Time
	After func(time.Duration) (<-chan time.Time, func())
}

// The defaults of Options.
const (
	DefaultSpares      = 2
	DefaultMaxConns    = 64
	DefaultIdleTimeout = 5 * time.Minute
)

func (o Options) withDefaults() Options {
	o.Isolation = cmp.Or(o.Isolation, registry.IsolationSession)
	o.Spares = max(0, cmp.Or(o.Spares, DefaultSpares))
	if o.MaxConns == nil {
		o.MaxConns = func() int { return DefaultMaxConns }
	}
	o.IdleTimeout = cmp.Or(o.IdleTimeout, DefaultIdleTimeout)
	o.Hello.Capabilities, o.Hello.Prefers, o.Hello.Listed = []byte("{}"), upstream.Modern, o.Listed
	if o.ListChanged == nil {
		o.ListChanged = func(string) {}
	}
	if o.Counters == nil {
		o.Counters = new(upstream.Counters)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.After == nil {
		o.After = after
	}
	return o
}

func after(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// Pool gives out connections to one server. It is safe for concurrent use.
type Pool struct {
	dialer upstream.Dialer
	opts   Options
	log    *slog.Logger
	shared *shared

	ctx    context.Context // ends with the pool
	cancel context.CancelFunc
	tasks  sync.WaitGroup
	modern atomic.Bool // the server speaks 2026-07-28: who prefers that shares
	only   atomic.Bool // it speaks nothing else: everyone shares
	slots  *slots
	ready  chan upstream.Conn        // the spares
	used   atomic.Pointer[time.Time] // when the last call without a session came

	kinds    kinds
	setbacks setbacks

	mu      sync.Mutex
	open    map[upstream.Conn]bool
	filling int
	tending bool
	closed  bool
}

// New returns a pool over dialer, which it closes when it is closed itself. It opens nothing yet.
func New(dialer upstream.Dialer, opts Options, log *slog.Logger) *Pool {
	opts = opts.withDefaults()
	p := &Pool{
		dialer: dialer, opts: opts, log: log, open: map[upstream.Conn]bool{},
		slots: newSlots(opts.MaxConns), ready: make(chan upstream.Conn, max(1, opts.Spares)),
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.shared = newShared(p)
	return p
}

// sharing says whether those who prefer an era share one connection.
func (p *Pool) sharing(prefers upstream.Era) bool {
	return p.opts.Isolation == registry.IsolationShared || p.only.Load() || prefers == upstream.Modern && p.modern.Load()
}

// Hears says whether the shared connection is open, so that what the server tells of its lists is heard there.
func (p *Pool) Hears() bool {
	p.shared.mu.Lock()
	defer p.shared.mu.Unlock()
	return p.shared.conn != nil && alive(p.shared.conn)
}

// Session returns the connection of a session, or of one request that the server may answer with questions, and the function
// that ends its part in it. The error is that of Dialer.Dial, or ErrNoCapacity.
func (p *Pool) Session(ctx context.Context, hello upstream.Hello, handler upstream.Handler) (upstream.Conn, func(), error) {
	if p.sharing(hello.Prefers) {
		return p.lease(ctx, handler)
	}
	if hello.Prefers == upstream.Modern { // it is one call, and others like it may follow
		defer p.restock(hello)
		if spare := p.kindred(hello, handler); spare != nil {
			return spare, func() { p.retire(spare) }, nil
		}
	}
	if !p.takeSlot() {
		return nil, nil, ErrNoCapacity
	}
	return p.owned(ctx, hello, handler)
}

// owned opens a connection on the slot that the caller has taken, or shares one if the server turns out to be modern.
func (p *Pool) owned(ctx context.Context, hello upstream.Hello, handler upstream.Handler) (upstream.Conn, func(), error) {
	conn, err := p.dial(ctx, hello, handler)
	switch {
	case errors.Is(err, errModern):
		return p.lease(ctx, handler)
	case err != nil:
		return nil, nil, err
	}
	return conn, func() { p.retire(conn) }, nil
}

// Once returns a connection for one call without a session: a spare or a fresh one. The function, to be called once the call
// is over, ends the call's part in it. The error is that of Dialer.Dial, the cause of ctx, or ErrNoCapacity wrapped where ctx
// ended while there was no room.
func (p *Pool) Once(ctx context.Context) (upstream.Conn, func(), error) {
	if p.sharing(upstream.Modern) {
		return p.lease(ctx, nil)
	}
	now := p.opts.Now()
	p.used.Store(&now)
	defer p.refill()
	spare, err := p.spareOrSlot(ctx)
	switch {
	case err != nil:
		return nil, nil, err
	case spare != nil:
		return spare, func() { p.retire(spare) }, nil
	}
	return p.owned(ctx, p.opts.Hello, nil)
}

func (p *Pool) lease(ctx context.Context, handler upstream.Handler) (upstream.Conn, func(), error) {
	conn, err := p.shared.lease(ctx, handler)
	if err != nil {
		return nil, nil, err
	}
	return conn, func() { p.end(conn) }, nil
}

// retire ends a connection that somebody has given back, who need not wait for it.
func (p *Pool) retire(conn upstream.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed { // else Close ends it
		p.tasks.Go(func() { p.end(conn) })
	}
}

// background does what nobody waits for, unless the pool is closed.
func (p *Pool) background(do func(ctx context.Context)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.tasks.Go(func() { do(p.ctx) })
	}
}

func (p *Pool) end(conn upstream.Conn) {
	if err := conn.Close(); err != nil {
		p.log.Warn("a connection to the server could not be closed", "err", err)
	}
}

// spareOrSlot returns a living spare, or nothing and a slot to dial with.
func (p *Pool) spareOrSlot(ctx context.Context) (upstream.Conn, error) {
	for {
		select {
		case conn := <-p.ready:
			if alive(conn) {
				return conn, nil
			}
			continue
		default:
		}
		freed := p.slots.wait()
		if p.slots.take() || p.inPlaceOf(p.takeKindred()) {
			return nil, nil
		}
		select {
		case conn := <-p.ready:
			if alive(conn) {
				return conn, nil
			}
		case <-freed:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ErrNoCapacity, context.Cause(ctx))
		case <-p.ctx.Done():
			return nil, errClosed()
		}
	}
}

func alive(conn upstream.Conn) bool {
	select {
	case <-conn.Done():
		return false
	default:
		return true
	}
}

// takeSlot makes room for a session, at the cost of a spare if need be.
func (p *Pool) takeSlot() bool {
	for {
		if p.slots.take() {
			return true
		}
		spare := p.takeSpare()
		if spare == nil {
			return false
		}
		if p.inPlaceOf(spare) {
			return true
		}
	}
}

// inPlaceOf ends a spare, and says whether its slot is the caller's now. Nil has none.
func (p *Pool) inPlaceOf(spare upstream.Conn) bool {
	if spare == nil {
		return false
	}
	mine := p.forget(spare)
	p.end(spare)
	return mine
}

// errModern says that the server turned out to be modern, so that its connection is shared.
var errModern = errors.New("the server is modern")

// dial opens a connection on a slot that the caller has taken. The slot is given back when the connection ends.
func (p *Pool) dial(ctx context.Context, hello upstream.Hello, handler upstream.Handler) (upstream.Conn, error) {
	conn, err := p.start(ctx, hello, handler)
	if err == nil && conn.Info().Era == upstream.Modern {
		p.modern.Store(true)
		if hello.Prefers != upstream.Modern {
			p.only.Store(true)
		}
		p.end(conn)
		err = errModern
	}
	if err != nil {
		p.slots.free()
		return nil, err
	}
	if !p.admit(conn) {
		p.end(conn)
		p.slots.free()
		return nil, errClosed()
	}
	return conn, nil
}

// start dials, unless that could only fail again.
func (p *Pool) start(ctx context.Context, hello upstream.Hello, handler upstream.Handler) (upstream.Conn, error) {
	if err := p.setbacks.held(p.opts.Now()); err != nil {
		p.opts.Counters.HeldBack.Add(1)
		return nil, err
	}
	hello.Listed = p.opts.Listed
	conn, err := p.dialer.Dial(ctx, hello, handler)
	if err != nil {
		p.setbacks.failed(p.opts.Now(), err)
	} else {
		p.setbacks.worked()
	}
	return conn, err
}

// Forgive is called when the server has been seen to start well: nobody is held back any more.
func (p *Pool) Forgive() { p.setbacks.worked() }

// admit puts a connection on the books, and frees its slot when it ends.
func (p *Pool) admit(conn upstream.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.open[conn] = true
	p.tasks.Go(func() {
		<-conn.Done()
		if p.forget(conn) {
			p.slots.free()
		}
	})
	return true
}

// forget takes a connection off the books, and reports whether it was on them: whoever takes it off owns its slot.
func (p *Pool) forget(conn upstream.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.open[conn]
	delete(p.open, conn)
	return was
}

func errClosed() error { return upstream.AsError(upstream.ErrClosed, registry.FailStart) }

// Close ends all connections and waits for what the pool itself has running.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	conns := slices.Collect(maps.Keys(p.open))
	p.mu.Unlock()
	p.cancel()
	p.shared.close()
	var group sync.WaitGroup
	for _, conn := range conns {
		group.Go(func() { p.end(conn) }) // over HTTP each says good-bye to the server
	}
	group.Wait()
	p.tasks.Wait()
	return p.dialer.Close()
}
