// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package websocket connects to a server over WebSocket (RFC 6455), which is in no revision of MCP: subprotocol mcp, and one
// JSON-RPC message in each text frame, as the SDKs have it.
//
// It owns frames, pings and the end of a connection, which is the session. Handshakes are made over the package origin.
package websocket

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	ws "github.com/coder/websocket"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/link"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/origin"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/outbox"
	"toolgate.dev/toolgate/internal/registry"
)

const (
	subprotocol = "mcp"
	// endpoint is what a server is asked for.
	endpoint = "WebSocket endpoint"
	// A server that answers no ping for patience has gone, or hangs.
	pingInterval = 30 * time.Second
	patience     = 30 * time.Second
	// endTimeout bounds the good-bye.
	endTimeout = time.Second
)

// New returns a Dialer whose connections are one WebSocket each. The way to the server must be one of HTTP/1.1.
func New(o upstream.Options, server *origin.Origin, log *slog.Logger) upstream.Dialer {
	return &dialer{Dialer: link.Dialer{Options: o.WithDefaults(), Log: log}, Origin: server, pingInterval: pingInterval, patience: patience, endTimeout: endTimeout}
}

type dialer struct {
	link.Dialer
	*origin.Origin

	pingInterval, patience, endTimeout time.Duration
}

func (d *dialer) Dial(ctx context.Context, hello upstream.Hello, handler upstream.Handler) (upstream.Conn, error) {
	if err := d.Closed(); err != nil {
		return nil, err
	}
	socket, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	w := &wire{dialer: d, socket: socket}
	w.conn = d.New(hello, handler, w)
	w.Outbox = outbox.New(w.conn, d.Counters)
	go w.read()  //nolint:contextcheck,gosec // the connection lives on after its caller
	go w.write() //nolint:contextcheck,gosec // as above
	go w.ping()  //nolint:contextcheck // as above
	return d.Start(ctx, w.conn)
}

// errStart is the cause of a handshake of WebSocket that takes too long.
var errStart = errors.New("the handshake of WebSocket took too long")

// open makes the handshake. The error is the caller's own, or an *upstream.Error.
func (d *dialer) open(ctx context.Context) (*ws.Conn, error) {
	limited, cancel := context.WithTimeoutCause(ctx, d.StartTimeout, errStart)
	defer cancel()
	header := http.Header{}
	if err := d.Configure(header); err != nil {
		return nil, err
	}
	//nolint:bodyclose // the library says that the body of a handshake's answer needs no closing
	socket, resp, err := ws.Dial(limited, d.URL, &ws.DialOptions{
		HTTPClient: d.Client(), HTTPHeader: header, Subprotocols: []string{subprotocol}, CompressionMode: ws.CompressionDisabled,
	})
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case resp != nil && resp.StatusCode == http.StatusSwitchingProtocols:
		return nil, upstream.Fail(registry.FailNotMCP, origin.Reason(err), "The server's handshake of WebSocket is not as RFC 6455 has it.")
	case resp != nil && resp.StatusCode < 300:
		return nil, upstream.Fail(registry.FailNotMCP, nil, "The server answered %s: there is no %s at this path.", origin.StatusText(resp.StatusCode), endpoint)
	case resp != nil:
		return nil, d.Refused(resp.StatusCode, endpoint)
	case limited.Err() != nil:
		return nil, upstream.Fail(registry.FailTimeout, errStart, "The server at %s did not answer the handshake of WebSocket within %s.", d.Host(), d.StartTimeout)
	default:
		return nil, d.Broken(err)
	}
	if socket.Subprotocol() != subprotocol {
		_ = socket.CloseNow() // nothing was said
		return nil, upstream.Fail(registry.FailNotMCP, nil, "The server did not agree to the subprotocol %s: it does not speak MCP over WebSocket.", subprotocol)
	}
	socket.SetReadLimit(int64(d.MaxMessageBytes))
	return socket, nil
}

// Close ends dialling; connections are closed by their owners.
func (d *dialer) Close() error {
	d.Origin.Close()
	return d.Dialer.Close()
}

// wire is one WebSocket. Reader and writer are goroutines of their own, so that neither direction can hold up the other.
type wire struct {
	*dialer
	*outbox.Outbox
	conn   *link.Conn
	socket *ws.Conn
}

func (w *wire) Leaves(upstream.Era) bool { return false }
func (w *wire) Agree(upstream.Info)      {}
func (w *wire) Stderr() []string         { return nil }
func (w *wire) Vet([]byte) error         { return nil }

// write sends what is queued and still wanted. It has no context: one that ends while a frame is being written would cut the
// good-bye off. Shut frees it from a server that does not read.
func (w *wire) write() {
	for {
		select {
		case f := <-w.Frames():
			if f.Marks() {
				f.Reached()
				continue
			}
			data := f.Wanted()
			if data == nil {
				continue
			}
			if err := w.socket.Write(context.Background(), ws.MessageText, data); err != nil {
				w.conn.Fail(w.ended(err))
				return
			}
		case <-w.conn.Done():
			return
		}
	}
}

// read takes frames until the connection ends. It has no context, as above.
func (w *wire) read() {
	for {
		kind, data, err := w.socket.Read(context.Background())
		switch {
		case err != nil:
			w.conn.Fail(w.ended(err))
			return
		case kind != ws.MessageText:
			w.conn.Drop("a binary frame")
		case !w.conn.Receive(data, nil):
			w.conn.Noise()
		}
	}
}

// ping finds out that the server has gone where TCP does not.
func (w *wire) ping() {
	ticker := time.NewTicker(w.pingInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-w.conn.Done():
			return
		}
		if err := w.pinged(); err != nil {
			w.conn.Fail(upstream.Fail(w.lost(), err, "The server at %s answered no ping within %s.", w.Host(), w.patience))
			return
		}
	}
}

// pinged has no context of the connection, as above.
func (w *wire) pinged() error {
	ctx, cancel := context.WithTimeout(context.Background(), w.patience)
	defer cancel()
	return w.socket.Ping(ctx)
}

// lost is the reason of a connection that ended.
func (w *wire) lost() registry.FailureReason {
	if w.Remote {
		return registry.FailUnreachable
	}
	return registry.FailExited
}

// ended says what the end of the connection means.
func (w *wire) ended(err error) *upstream.Error {
	if errors.Is(err, ws.ErrMessageTooBig) {
		return upstream.Fail(registry.FailNotMCP, errors.Join(upstream.ErrTooLarge, err),
			"The server sent a message of more than %d bytes, behind which its connection cannot be read.", w.MaxMessageBytes)
	}
	if code := ws.CloseStatus(err); code >= 0 {
		return upstream.Fail(w.lost(), err, "The server at %s closed its WebSocket with status %d.", w.Host(), code)
	}
	return w.Broken(err)
}

// Shut says good-bye, if the connection is still there.
func (w *wire) Shut() {
	if !errors.Is(w.conn.Err(), upstream.ErrClosed) {
		_ = w.socket.CloseNow() // it is broken
		return
	}
	timer := time.AfterFunc(w.endTimeout, func() { _ = w.socket.CloseNow() })
	defer timer.Stop()
	if err := w.socket.Close(ws.StatusNormalClosure, ""); err != nil {
		w.Log.Debug("the server was not told of the end", "err", err)
	}
}
