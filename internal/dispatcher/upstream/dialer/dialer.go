// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dialer makes the Dialer that a registry document asks for: the one place that knows every transport.
//
// It holds no connection and decides nothing else.
package dialer

import (
	"errors"
	"fmt"
	"log/slog"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/httpsse"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/origin"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/stdio"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/streamable"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/websocket"
	"toolgate.dev/toolgate/internal/registry"
)

// New returns a Dialer to the server that u describes. The spawner starts the processes of a stdio server; nil where there
// are none to start.
func New(u registry.Upstream, spawner upstream.Spawner, o upstream.Options, log *slog.Logger) (upstream.Dialer, error) {
	if u.Transport == registry.TransportStdio {
		if spawner == nil {
			return nil, errors.New("the document says stdio, but there is neither --launch-socket nor --stdio to start the server with")
		}
		return stdio.New(spawner, o, log), nil
	}
	server, err := origin.New(origin.Options{
		URL: u.URL, Remote: u.Remote, Headers: u.Headers, CAFile: u.CAFile, HTTP1: u.Transport == registry.TransportWebSocket,
	})
	if err != nil {
		return nil, err
	}
	switch u.Transport {
	case registry.TransportStreamableHTTP:
		return streamable.New(o, server, log), nil
	case registry.TransportSSE:
		return httpsse.New(o, server, log), nil
	case registry.TransportWebSocket:
		return websocket.New(o, server, log), nil
	case registry.TransportStdio: // dialled above
	}
	return nil, fmt.Errorf("transport %q is not known", u.Transport)
}
