// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"log/slog"
	"sync/atomic"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/handshake"
	"toolgate.dev/toolgate/internal/registry"
)

// Dialer is what the dialers of all wires have in common. Options have no zero values any more.
type Dialer struct {
	upstream.Options
	Log *slog.Logger
	// Eras is what has been learned about how the server speaks.
	Eras   handshake.Eras
	closed atomic.Bool
}

// Closed is an *upstream.Error once the dialer has been closed, nil before.
func (d *Dialer) Closed() error {
	if d.closed.Load() {
		return upstream.AsError(upstream.ErrClosed, registry.FailStart)
	}
	return nil
}

// Close ends dialling; connections are closed by their owners.
func (d *Dialer) Close() error {
	d.closed.Store(true)
	return nil
}

// New gives a connection over a wire, without the handshake: that is Start's.
func (d *Dialer) New(hello upstream.Hello, handler upstream.Handler, w Wire) *Conn {
	return newConn(d.Options, d.Log, hello, handler, w)
}

// Start carries out a connection's handshake (Conn.Start).
func (d *Dialer) Start(ctx context.Context, c *Conn) (upstream.Conn, error) {
	if err := c.Start(ctx, &d.Eras); err != nil {
		return nil, err
	}
	return c, nil
}
