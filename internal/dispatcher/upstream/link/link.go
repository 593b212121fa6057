// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package link is what connections to a server have in common, however their messages move: ids and the calls in flight, what
// the server asks and tells on its own, cancellation, progress, and the connection's own view of the catalogue.
//
// It opens a connection by way of handshake and reads the catalogue by way of lists. It moves no bytes: that is the Wire's, in
// the packages stdio, streamable, httpsse and websocket. It never imports Kubernetes, the API or the
// launcher.
package link

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/handshake"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
	"toolgate.dev/toolgate/internal/registry"
)

// tellTimeout bounds what the connection says on its own account: answers to the server, cancellations.
const tellTimeout = 5 * time.Second

// lastWords is how long a connection that is closed waits for the server to be told of the calls that were given up.
const lastWords = time.Second

// Wire moves the messages of one connection.
type Wire interface {
	// Exchange sends the request of p. When it returns nil the request is out, and the answer comes through Conn.Receive;
	// an error fails this call alone.
	Exchange(ctx context.Context, p *Call, message []byte) error
	// Tell sends a message that wants no answer, or puts it behind others that are on their way.
	Tell(ctx context.Context, message []byte) error
	// Flush waits until what Tell has put behind others is out.
	Flush(ctx context.Context) error
	// Leaves says whether the end of a call's exchange tells the server that the call is cancelled.
	Leaves(era upstream.Era) bool
	// Agree is called once the era and the version are known, and again when they turn out to be others.
	Agree(info upstream.Info)
	// Vet says why a tool with this input schema cannot be called over the wire; nil where it can.
	Vet(inputSchema []byte) error
	// Stderr are the last lines of the child; nil where there is none.
	Stderr() []string
	// Shut frees what the wire holds. It is called once, when the connection has ended.
	Shut()
}

// Conn is a connection over a Wire. It implements upstream.Conn.
type Conn struct {
	opts    upstream.Options
	log     *slog.Logger
	hello   upstream.Hello
	handler upstream.Handler
	wire    Wire
	info    atomic.Pointer[upstream.Info]
	view    view
	feed    *feed // nil unless somebody hears what the server tells

	ctx    context.Context // ends with the connection
	cancel context.CancelFunc
	lastID atomic.Int64
	noisy  atomic.Int64 // lines of this connection that were no messages

	telling sync.WaitGroup // cancellations on their way; mu is held while one begins

	mu      sync.Mutex
	calls   map[int64]*Call
	asks    map[string]context.CancelFunc // requests of the server in progress, by the key of their id
	err     error
	closing bool
	done    chan struct{}
}

// Call is one request in flight.
type Call struct {
	upstream.Call
	// Leave is called when the caller goes, with the answer or without; a Wire may set it in Exchange.
	Leave func()

	id     int64
	answer chan Answer

	sent, settled, gone atomic.Bool
}

// Answer is what a call gets: a reply, or an *upstream.Error.
type Answer struct {
	upstream.Reply
	Err error
}

// MarkSent notes that the request may have reached the server, so that giving it up must be told.
func (p *Call) MarkSent() { p.sent.Store(true) }

// Settled says whether the answer has come.
func (p *Call) Settled() bool { return p.settled.Load() }

// listening is the feed that the call keeps open, nil if it is none.
func (p *Call) listening() *listening {
	l, _ := p.Owner.(*listening)
	return l
}

// Gone says whether nobody waits for the answer any more.
func (p *Call) Gone() bool { return p.gone.Load() }

// newConn returns a connection without the handshake: that is Start's. Opts have no zero values any more.
func newConn(opts upstream.Options, log *slog.Logger, hello upstream.Hello, handler upstream.Handler, wire Wire) *Conn {
	c := &Conn{
		opts: opts, log: log, hello: handshake.Complete(hello), handler: handler, wire: wire,
		calls: map[int64]*Call{}, asks: map[string]context.CancelFunc{}, done: make(chan struct{}),
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.view.conn = c
	if handler != nil {
		c.feed = newFeed(c)
	}
	c.info.Store(&upstream.Info{Era: upstream.Legacy})
	return c
}

// Agree notes what has been agreed with the server (handshake.Peer).
func (c *Conn) Agree(info upstream.Info) {
	c.info.Store(&info)
	c.wire.Agree(info)
}

// Info is what the server said of itself.
func (c *Conn) Info() upstream.Info { return *c.info.Load() }

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Context ends with the connection.
func (c *Conn) Context() context.Context { return c.ctx }

// Stderr are the last lines of the child on its standard error; nil where there is no child.
func (c *Conn) Stderr() []string { return c.wire.Stderr() }

// Err says why the connection has ended; nil while it has not.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the connection, with upstream.ErrClosed. A call that was given up just before is still told of: a server that
// listens to others too would go on with it.
func (c *Conn) Close() error {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	bound := time.AfterFunc(lastWords, c.cancel)
	c.telling.Wait()
	bound.Stop()
	c.Fail(upstream.ErrClosed)
	return nil
}

// Fail ends the connection; the first cause holds. An *upstream.Error gets the child's last words.
func (c *Conn) Fail(cause error) {
	var e *upstream.Error
	if errors.As(cause, &e) {
		cause = e.WithStderr(c.wire.Stderr())
	}
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = cause
	c.mu.Unlock()
	close(c.done)
	c.cancel()
	c.wire.Shut()
}

// Closed is Err as a call reports it: always an *upstream.Error.
func (c *Conn) Closed() *upstream.Error {
	return upstream.AsError(c.Err(), registry.FailExited)
}

// Call sends a request and waits for the answer.
func (c *Conn) Call(ctx context.Context, request upstream.Call) (upstream.Reply, error) {
	if (request.Method == mcp.MethodSubscribe || request.Method == mcp.MethodUnsubscribe) && c.feed != nil && c.Info().Era == upstream.Modern {
		return c.feed.serve(ctx, request)
	}
	p, err := c.register(request)
	if err != nil {
		return upstream.Reply{}, err
	}
	defer c.forget(p)
	if err := c.wire.Exchange(ctx, p, c.message(p)); err != nil {
		if ctx.Err() != nil {
			return upstream.Reply{}, c.givenUp(ctx, p)
		}
		return upstream.Reply{}, upstream.AsError(err, registry.FailNotMCP).WithStderr(c.wire.Stderr())
	}
	select {
	case a := <-p.answer:
		return a.Reply, a.Err
	case <-ctx.Done():
	case <-c.done:
	}
	// The answer may have come at the same moment.
	select {
	case a := <-p.answer:
		return a.Reply, a.Err
	default:
	}
	if ctx.Err() != nil {
		return upstream.Reply{}, c.givenUp(ctx, p)
	}
	return upstream.Reply{}, c.Closed()
}

// givenUp tells the server that the caller gave the call up, and returns why.
func (c *Conn) givenUp(ctx context.Context, p *Call) error {
	if p.sent.Load() && !c.wire.Leaves(c.Info().Era) && p.Method != mcp.MethodInitialize {
		c.mu.Lock()
		if !c.closing {
			c.telling.Go(func() { c.tellCancelled(p.id) }) //nolint:contextcheck // the caller's context has ended
		}
		c.mu.Unlock()
	}
	return context.Cause(ctx)
}

func (c *Conn) tellCancelled(id int64) {
	ctx, cancel := context.WithTimeout(c.ctx, tellTimeout)
	defer cancel()
	params := append(appendInt([]byte(`{"requestId":`), id), '}')
	err := c.wire.Tell(ctx, jsonrpc.AppendNotification(nil, mcp.NotifyCancelled, params))
	if err == nil {
		err = c.wire.Flush(ctx) // a connection of this call alone is closed behind it
	}
	if err != nil {
		c.log.Debug("the server could not be told of a cancellation", "err", err)
	}
}

// Notify sends a notification.
func (c *Conn) Notify(ctx context.Context, method string, params []byte) error {
	err := c.wire.Tell(ctx, jsonrpc.AppendNotification(nil, method, params))
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return upstream.AsError(err, registry.FailNotMCP)
}

func (c *Conn) register(request upstream.Call) (*Call, error) {
	p := &Call{Call: request, id: c.lastID.Add(1), answer: make(chan Answer, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, upstream.AsError(c.err, registry.FailExited)
	}
	c.calls[p.id] = p
	return p, nil
}

func (c *Conn) forget(p *Call) {
	p.gone.Store(true)
	c.mu.Lock()
	delete(c.calls, p.id)
	c.mu.Unlock()
	if p.Leave != nil {
		p.Leave()
	}
}

// Pending returns the call with this id, nil if none waits for an answer.
func (c *Conn) Pending(id int64) *Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[id]
}

// Settle gives a call its answer; only the first counts.
func (c *Conn) Settle(p *Call, a Answer) {
	c.mu.Lock()
	delete(c.calls, p.id)
	c.mu.Unlock()
	if a.Error != nil && a.Error.Code == mcp.CodeHeaderMismatch && c.Info().Era == upstream.Modern {
		c.Outdate() // the headers came from the catalogue
	}
	p.settled.Store(true)
	select {
	case p.answer <- a:
	default:
		c.Drop("a second answer")
	}
}

// Alone says whether no more than one call is in flight.
func (c *Conn) Alone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.calls) <= 1
}

// only is the one call in flight, nil if there are none or several. A feed is none.
func (c *Conn) only() *Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	var only *Call
	for _, p := range c.calls {
		switch {
		case p.listening() != nil:
		case only != nil:
			return nil
		default:
			only = p
		}
	}
	return only
}
