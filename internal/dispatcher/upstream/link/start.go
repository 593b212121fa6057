// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"cmp"
	"context"
	"errors"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/handshake"
	"toolgate.dev/toolgate/internal/registry"
)

// Start carries out the handshake, within the time that Hello or Options.StartTimeout give. handshake.ErrEndedInDiscover is
// among its errors where another connection should be tried that prefers the legacy era.
func (c *Conn) Start(ctx context.Context, known *handshake.Eras) error {
	cause := errors.New("the handshake took too long")
	limit := cmp.Or(c.hello.Patience, c.opts.StartTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, cause)
	defer cancel()
	defer c.watchSlowStart()()
	opening := handshake.Handshake{Peer: c, Hello: c.hello, Eras: known, DiscoverTimeout: c.opts.DiscoverTimeout}
	err := opening.Run(ctx)
	if errors.Is(err, cause) {
		err = c.silent(limit, cause)
	}
	if err != nil {
		var e *upstream.Error
		if ended := errors.Is(err, handshake.ErrEndedInDiscover); errors.As(err, &e) {
			if err = e.WithStderr(c.wire.Stderr()); ended {
				err = errors.Join(handshake.ErrEndedInDiscover, err)
			}
		}
		c.Fail(err)
		return err
	}
	if c.feed != nil && c.Info().Era == upstream.Modern {
		go c.feed.run() //nolint:contextcheck // the feed lives as long as the connection
	}
	return nil
}

func (c *Conn) watchSlowStart() (stop func()) {
	slow, ok := c.handler.(upstream.SlowStart)
	if !ok {
		return func() {}
	}
	timer := time.AfterFunc(c.opts.SlowAfter, func() {
		slow.StartIsSlow(c.silent(c.opts.SlowAfter, nil).WithStderr(c.wire.Stderr()))
	})
	return func() { timer.Stop() }
}

func (c *Conn) silent(d time.Duration, cause error) *upstream.Error {
	if c.noisy.Load() > 0 {
		return upstream.Fail(registry.FailNotMCP, cause,
			"The server has not answered initialize within %s. It has written lines to its standard output that are not JSON-RPC; the command must start an MCP server that speaks over stdio.", d)
	}
	return upstream.Fail(registry.FailTimeout, cause,
		"The server has not answered initialize within %s. It may wait for something, or keep its output in a buffer that it does not flush.", d)
}
