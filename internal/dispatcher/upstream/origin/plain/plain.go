// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plain carries requests over kept TCP connections in HTTP/1.1 (RFC 9112), without TLS, proxies or upgrades: to a server
// in the same pod, that is. Messages are read and written by net/http; a request is carried out by the goroutine that makes it,
// where net/http's own Transport hands it from one to another three times, which costs more than the rest
// (docs/design/0008-http-to-a-server-in-the-pod.md).
//
// It owns the connections and their reuse. It knows nothing of MCP and imports nothing of this project.
package plain

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/sys/unix"
)

// MaxBody is the longest body of a request that is taken, in bytes: it surely fits the buffers between the two sides, so that
// it can be written before anything is read, also to a server that answers before it has read it.
const MaxBody = 16 << 10

// Transport is an http.RoundTripper for http URLs of one server. It is safe for concurrent use.
type Transport struct {
	// Host is the server's host, with its port where that is not 80: a request for another is refused.
	Host string
	// Dialer opens connections.
	Dialer net.Dialer
	// MaxIdle is how many unused connections are kept, for IdleTimeout at most; none are if it is 0.
	MaxIdle     int
	IdleTimeout time.Duration
	// MaxHeaderBytes bounds the head of an answer, with those of the interim answers before it. It must not be 0.
	MaxHeaderBytes int64

	mu   sync.Mutex
	idle []*conn // the one that was used last is at the end
	// sweeping says that a look at the idle connections is due.
	sweeping bool
}

// conn is one connection. One request at a time uses it.
type conn struct {
	net.Conn
	in    *bufio.Reader
	head  io.LimitedReader // what in reads from
	out   *bufio.Writer
	since time.Time // it has been idle
	deaf  bool      // the server takes no more

	raw  syscall.RawConn
	peek func(fd uintptr) bool
	open bool // what peek found
}

var (
	errHeader   = errors.New("the headers of the answer are too long")
	errSwitched = errors.New("the server switches to another protocol, which nobody asked for")
	errField    = errors.New("a header of the request has a name or a value that HTTP does not have")
	errHost     = errors.New("the request is for another server")
)

// RoundTrip makes one request. Its body must have MaxBody bytes at most. It never sends a request twice: where a kept connection
// ends just as it is used, nobody knows what the server has done.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close() //nolint:errcheck // it is in memory
	}
	if err := t.check(req); err != nil {
		return nil, err
	}
	c, err := t.take(req.Context())
	if err != nil {
		return nil, err
	}
	x := &exchange{transport: t, conn: c}
	x.stop = context.AfterFunc(req.Context(), c.interrupt)
	resp, err := x.run(req)
	if err == nil {
		return resp, nil
	}
	x.end(false)
	if ctxErr := req.Context().Err(); ctxErr != nil {
		return nil, ctxErr
	}
	return nil, err
}

// check refuses what must not be written: what is for another server, and what net/http's own Transport refuses too, since
// Request.Write writes it.
func (t *Transport) check(req *http.Request) error {
	if req.URL.Host != t.Host && !strings.EqualFold(withPort(req.URL.Host), withPort(t.Host)) {
		return errHost
	}
	for name, values := range req.Header {
		if !httpguts.ValidHeaderFieldName(name) || slices.ContainsFunc(values, invalid) {
			return errField
		}
	}
	return nil
}

func invalid(value string) bool { return !httpguts.ValidHeaderFieldValue(value) }

// withPort is a host with its port.
func withPort(host string) string {
	if u := (&url.URL{Host: host}); u.Port() == "" {
		return net.JoinHostPort(u.Hostname(), "80")
	}
	return host
}

// take gives a kept connection that the server has not closed, or a new one.
func (t *Transport) take(ctx context.Context) (*conn, error) {
	for {
		c := t.pop()
		if c == nil {
			break
		}
		if time.Since(c.since) < t.IdleTimeout && c.quiet() {
			return c, nil
		}
		_ = c.Close() // it is of no use any more
	}
	tcp, err := t.Dialer.DialContext(ctx, "tcp", withPort(t.Host))
	if err != nil {
		return nil, err
	}
	return newConn(tcp)
}

func (t *Transport) pop() *conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.idle) == 0 {
		return nil
	}
	last := len(t.idle) - 1
	c := t.idle[last]
	t.idle[last] = nil
	t.idle = t.idle[:last]
	return c
}

func newConn(tcp net.Conn) (*conn, error) {
	c := &conn{Conn: tcp}
	c.out = bufio.NewWriter(c)
	c.head.R = tcp
	c.in = bufio.NewReader(&c.head)
	system, ok := tcp.(syscall.Conn)
	if !ok {
		return nil, errors.Join(errors.New("not a connection of the system"), tcp.Close())
	}
	var err error
	if c.raw, err = system.SyscallConn(); err != nil {
		return nil, errors.Join(err, tcp.Close())
	}
	c.peek = func(fd uintptr) bool {
		var b [1]byte
		_, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		c.open = errors.Is(err, unix.EAGAIN)
		return true
	}
	return c, nil
}

// Write notes where the server takes no more: Request.Write does not tell that from a body that cannot be read.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.deaf = c.deaf || err != nil
	return n, err
}

// quiet says whether an idle connection is open and has nothing to say: a server that closes it, or sends what nobody has
// asked for, must not be asked over it.
func (c *conn) quiet() bool {
	c.open = false
	return c.raw.Read(c.peek) == nil && c.open
}

// interrupt lets whoever reads or writes return at once.
func (c *conn) interrupt() { _ = c.SetDeadline(time.Unix(1, 0)) } // an error is that it is closed

// keep puts a connection back that its request has left in order.
func (t *Transport) keep(c *conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.idle) >= t.MaxIdle {
		_ = c.Close() // one too many
		return
	}
	c.since = time.Now()
	t.idle = append(t.idle, c)
	if !t.sweeping {
		t.sweeping = true
		time.AfterFunc(t.IdleTimeout, t.sweep)
	}
}

// sweep closes what has been idle for too long, and looks again while there is anything left.
func (t *Transport) sweep() {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.idle[:0]
	for _, c := range t.idle {
		if time.Since(c.since) < t.IdleTimeout {
			kept = append(kept, c)
		} else {
			_ = c.Close() // nobody uses it
		}
	}
	clear(t.idle[len(kept):])
	t.idle = kept
	if t.sweeping = len(kept) > 0; t.sweeping {
		time.AfterFunc(t.IdleTimeout, t.sweep)
	}
}

// CloseIdleConnections closes the connections that no request uses.
func (t *Transport) CloseIdleConnections() {
	for c := t.pop(); c != nil; c = t.pop() {
		_ = c.Close() // nobody uses it
	}
}

// exchange is one request with its answer.
type exchange struct {
	transport *Transport
	*conn
	stop func() bool // of the watch over the request's context
	once sync.Once
}

// run writes the request and reads the head of the answer. A server may answer and close before it has read the request, as
// some do that are busy: what it said is read even where the request could not be written (RFC 9112, section 9.5).
func (x *exchange) run(req *http.Request) (*http.Response, error) {
	unsent := x.send(req)
	if unsent != nil && !x.deaf {
		return nil, unsent
	}
	resp, err := x.receive(req)
	if err != nil {
		return nil, cmp.Or(unsent, err)
	}
	keep := unsent == nil && !resp.Close && !req.Close
	if resp.Body == http.NoBody {
		x.end(keep)
		return resp, nil
	}
	resp.Body = &body{ReadCloser: resp.Body, exchange: x, keep: keep, ctx: req.Context()}
	return resp, nil
}

func (x *exchange) send(req *http.Request) error {
	if err := req.Write(x.out); err != nil {
		return err
	}
	return x.out.Flush()
}

// receive reads the head of the answer, and passes over interim answers (RFC 9110, section 15.2).
func (x *exchange) receive(req *http.Request) (*http.Response, error) {
	x.head.N = x.transport.MaxHeaderBytes
	for {
		resp, err := http.ReadResponse(x.in, req)
		switch {
		case err != nil && x.head.N <= 0:
			return nil, errHeader
		case err != nil:
			return nil, err
		case resp.StatusCode == http.StatusSwitchingProtocols:
			return nil, errSwitched
		case resp.StatusCode >= 200:
			x.head.N = math.MaxInt64
			return resp, nil
		}
	}
}

// end gives the connection back, or closes it. It is kept where the answer was read to its end, nothing follows it, and the
// request's context has not ended, which might interrupt the next one.
func (x *exchange) end(keep bool) {
	x.once.Do(func() {
		if stopped := x.stop(); keep && stopped && x.in.Buffered() == 0 {
			x.transport.keep(x.conn)
			return
		}
		_ = x.conn.Close() // of no use any more
	})
}

// body is the body of an answer.
type body struct {
	io.ReadCloser
	*exchange
	keep bool
	ctx  context.Context
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		b.end(b.keep)
	default:
		b.end(false)
		if ctxErr := b.ctx.Err(); ctxErr != nil {
			err = ctxErr
		}
	}
	return n, err
}

// Close gives the rest of the answer up.
func (b *body) Close() error {
	b.end(false)
	return nil
}
