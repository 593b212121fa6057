// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package streamable connects to a server over streamable HTTP (MCP, Transports): one in the pod on loopback, or a remote one.
//
// It owns requests and their headers, sessions, answers as JSON or as event streams whatever their label, streams that
// break, and the server's own stream. The HTTP below is that of the package origin.
package streamable

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/link"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/origin"
)

const (
	endTimeout       = 2 * time.Second // of the DELETE that ends a session
	maxSessionLength = 1 << 10
)

// New returns a Dialer whose connections are one session each over streamable HTTP. No other server is ever called
// than that of the URL: redirects to another origin are refused.
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
	if _, err := d.Start(ctx, w.conn); err != nil {
		return nil, err
	}
	if handler != nil && w.conn.Info().Era == upstream.Legacy {
		w.beginListening(ctx, hello.Capabilities)
	}
	return w.conn, nil
}

// Close ends dialling and idle connections; sessions are closed by their owners.
func (d *dialer) Close() error {
	d.Origin.Close()
	return d.Dialer.Close()
}

// wire is one session over HTTP; or none, with servers that keep no sessions.
type wire struct {
	*dialer
	conn    *link.Conn
	session atomic.Pointer[string]        // nil while there is none
	agreed  atomic.Pointer[upstream.Info] // nil until the version is known
}

func (w *wire) Leaves(era upstream.Era) bool { return era == upstream.Modern }

// Flush has nothing to wait for: Tell does itself.
func (w *wire) Flush(context.Context) error { return nil }

func (w *wire) Agree(info upstream.Info) { w.agreed.Store(&info) }
func (w *wire) Stderr() []string         { return nil }

// modern says whether requests are those of revision 2026-07-28.
func (w *wire) modern() bool {
	info := w.agreed.Load()
	return info != nil && info.Era == upstream.Modern
}

// Shut ends the session at the server, if it still knows it.
func (w *wire) Shut() {
	if w.session.Load() == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	resp, err := w.send(ctx, http.MethodDelete, nil, nil) //nolint:bodyclose // Discard closes it
	if err != nil {
		w.Log.Debug("the server was not told of the session's end", "err", origin.Reason(err))
		return
	}
	origin.Discard(resp)
}
