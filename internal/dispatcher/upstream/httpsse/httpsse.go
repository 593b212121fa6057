// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package httpsse connects to a server over HTTP with SSE, the transport of revision 2024-11-05 (MCP, Transports): a stream
// that brings all that the server says, and an endpoint, named by the stream's first event, that takes all that the client says.
//
// It owns that stream, which is the session, and where messages are posted. The HTTP below is that of the package origin.
package httpsse

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/link"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/origin"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/sse"
	"toolgate.dev/toolgate/internal/registry"
)

const (
	jsonType   = "application/json"
	streamType = "text/event-stream"
	// what is looked for, in messages
	endpoint = "HTTP+SSE endpoint (transport sse)"
	// maxEndpoint bounds the URL that messages are posted to, in bytes.
	maxEndpoint = 8 << 10
)

// New returns a Dialer whose connections are one stream each. Messages are posted to no other server than that of the stream.
func New(o upstream.Options, server *origin.Origin, log *slog.Logger) upstream.Dialer {
	return &dialer{Dialer: link.Dialer{Options: o.WithDefaults(), Log: log}, Origin: server}
}

type dialer struct {
	link.Dialer
	*origin.Origin
}

func (d *dialer) Dial(ctx context.Context, hello upstream.Hello, handler upstream.Handler) (upstream.Conn, error) {
	if err := d.Closed(); err != nil {
		return nil, err
	}
	w := &wire{dialer: d}
	w.conn = d.New(hello, handler, w)
	if err := w.open(ctx); err != nil {
		w.conn.Fail(err)
		return nil, err
	}
	return d.Start(ctx, w.conn)
}

// Close ends dialling and idle connections; streams are closed by their owners.
func (d *dialer) Close() error {
	d.Origin.Close()
	return d.Dialer.Close()
}

// wire is one stream with its endpoint.
type wire struct {
	*dialer
	conn   *link.Conn
	target string // where messages are posted
	agreed atomic.Pointer[upstream.Info]
}

func (w *wire) Leaves(upstream.Era) bool { return false }

// Flush has nothing to wait for: Tell does itself.
func (w *wire) Flush(context.Context) error { return nil }

func (w *wire) Agree(info upstream.Info) { w.agreed.Store(&info) }
func (w *wire) Stderr() []string         { return nil }
func (w *wire) Vet([]byte) error         { return nil }

// Shut has nothing to do: the stream ends with the connection's context, and the session with the stream.
func (w *wire) Shut() {}

// errStart is the cause of a stream that names no endpoint in time.
var errStart = errors.New("the server named no endpoint in time")

// open opens the stream, waits for the endpoint and goes on reading. The error is the caller's own, or an *upstream.Error.
func (w *wire) open(ctx context.Context) error { //nolint:contextcheck // the stream lives on after its caller
	limited, cancel := context.WithTimeoutCause(ctx, w.StartTimeout, errStart)
	defer cancel()
	streaming, end := context.WithCancel(w.conn.Context())
	opened := make(chan error, 1)
	go func() {
		defer end()
		body, reader, err := w.stream(streaming)
		if opened <- err; err != nil {
			return
		}
		defer body.Close() //nolint:errcheck // the stream is over
		w.read(reader)     //nolint:contextcheck // the stream lives on after its caller
	}()
	select {
	case err := <-opened:
		return err
	case <-limited.Done():
		end()
		if err := <-opened; err == nil {
			return nil // it came at the same moment
		}
		if cause := context.Cause(limited); !errors.Is(cause, errStart) {
			return cause
		}
		return upstream.Fail(registry.FailTimeout, errStart,
			"The server at %s named no endpoint on its stream within %s; is its transport sse?", w.Host(), w.StartTimeout)
	}
}

// stream opens the stream and takes its first event.
func (w *wire) stream(ctx context.Context) (io.Closer, *sse.Reader, error) {
	resp, err := w.Send(ctx, origin.Request{Method: http.MethodGet, Header: http.Header{"Accept": {streamType}, "Cache-Control": {"no-store"}}})
	if err != nil {
		return nil, nil, w.Broken(err)
	}
	fail := func(err error) (io.Closer, *sse.Reader, error) {
		_ = resp.Body.Close() // it is of no use
		return nil, nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return fail(w.Refused(resp.StatusCode, endpoint))
	}
	if !origin.HasType(resp.Header.Get("Content-Type"), streamType) {
		return fail(upstream.Fail(registry.FailNotMCP, nil, "The server does not answer with an event stream: there is no %s at this path.", endpoint))
	}
	reader := sse.NewReader(resp.Body, w.MaxMessageBytes)
	event, err := reader.Next()
	switch {
	case errors.Is(err, io.EOF):
		return fail(upstream.Fail(registry.FailNotMCP, err, "The server's stream ended before its first event, which is to name the endpoint."))
	case err != nil:
		return fail(w.ended(err))
	case event.Name != "endpoint":
		return fail(upstream.Fail(registry.FailNotMCP, nil, "The first event of the server's stream does not name the endpoint: there is no %s at this path.", endpoint))
	}
	if w.target, err = w.resolve(resp.Request.URL, string(event.Data)); err != nil {
		return fail(err)
	}
	return resp.Body, reader, nil
}

// resolve gives the URL that messages are posted to. It must be of the stream's own server: the credentials that are sent
// along are for nobody else. In the pod a server may call itself by another of loopback's names.
func (w *wire) resolve(base *url.URL, said string) (string, error) {
	u, err := url.Parse(said)
	if err != nil || said == "" || len(said) > maxEndpoint || u.User != nil {
		return "", upstream.Fail(registry.FailNotMCP, nil, "The endpoint that the server names is no URL that messages could be posted to.")
	}
	u = base.ResolveReference(u)
	if !w.Remote && u.Scheme == base.Scheme && u.Port() == base.Port() && isLoopback(u.Hostname()) && isLoopback(base.Hostname()) {
		u.Host = base.Host
	}
	if !w.Same(u) {
		return "", upstream.Fail(registry.FailNotMCP, nil, "The endpoint that the server names is of another origin than its stream; messages are not sent there.")
	}
	u.Fragment = ""
	return u.String(), nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// read takes what the stream brings until it ends, and with it the session.
func (w *wire) read(reader *sse.Reader) {
	for {
		event, err := reader.Next()
		if err != nil {
			w.conn.Fail(w.ended(err))
			return
		}
		if w.take(event); w.conn.Context().Err() != nil {
			return
		}
	}
}

// ended says what the end of the stream means.
func (w *wire) ended(err error) *upstream.Error {
	switch {
	case errors.Is(err, sse.ErrTooLarge):
		return upstream.Fail(registry.FailNotMCP, errors.Join(upstream.ErrTooLarge, err),
			"The server sent an event of more than %d bytes, behind which its stream cannot be read.", w.MaxMessageBytes)
	case errors.Is(err, io.EOF) && w.Remote:
		return upstream.Fail(registry.FailUnreachable, err, "The server at %s ended its stream, and the session with it.", w.Host())
	case errors.Is(err, io.EOF):
		return upstream.Fail(registry.FailExited, err, "The server ended its stream, and the session with it.")
	}
	return w.Broken(err)
}

func (w *wire) take(event sse.Event) {
	switch {
	case len(event.Data) == 0:
	case event.Name != "" && event.Name != "message":
		w.conn.Drop("an event of another name")
	case !w.conn.Receive(event.Data, nil):
		w.conn.Drop("an event that is no message")
	}
}
