// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"strings"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
)

// handler answers what a server asks on the connection of discovery: with nothing, and with no.
type handler Prober

func (h *handler) HandleRequest(_ context.Context, event upstream.Event) upstream.Reply {
	switch event.Method {
	case "roots/list":
		return upstream.Reply{Result: []byte(`{"roots":[]}`)}
	case "elicitation/create":
		return upstream.Reply{Result: []byte(`{"action":"decline"}`)}
	case "sampling/createMessage":
		// The code is the one that MCP gives for a request that the user rejects (Client Features, Sampling).
		return upstream.Reply{Error: &jsonrpc.Error{Code: -1, Message: "Declined: this connection serves no user"}}
	}
	return upstream.Reply{Error: &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "Method not found"}}
}

func (h *handler) HandleNotification(event upstream.Event) {
	if !strings.HasSuffix(event.Method, "/list_changed") {
		return
	}
	select {
	case h.lists <- struct{}{}:
	default: // a reading is due already
	}
}

// StartIsSlow says what is wrong while the handshake still goes on: nobody should have to wait for its time-out to know.
func (h *handler) StartIsSlow(e *upstream.Error) {
	p := (*Prober)(h)
	p.publish(func(s *State) {
		phase := registry.UpstreamConnecting
		if s.Upstream.Phase == registry.UpstreamFailed {
			phase = registry.UpstreamFailed
		}
		fail(&s.Upstream, phase, e)
	})
}
