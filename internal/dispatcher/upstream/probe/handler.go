// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
	"toolgate.dev/toolgate/internal/registry"
)

// handler answers what a server asks on the connection of discovery: with nothing, and with no.
type handler Prober

func (h *handler) HandleRequest(_ context.Context, event upstream.Event) upstream.Reply {
	switch event.Method {
	case mcp.MethodListRoots:
		return upstream.Reply{Result: []byte(`{"roots":[]}`)}
	case mcp.MethodElicit:
		return upstream.Reply{Result: []byte(`{"action":"decline"}`)}
	case mcp.MethodCreateMessage:
		// The code is the one that MCP gives for a request that the user rejects (Client Features, Sampling).
		return upstream.Reply{Error: &jsonrpc.Error{Code: -1, Message: "Declined: this connection serves no user"}}
	}
	return upstream.Reply{Error: &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "Method not found"}}
}

func (h *handler) HandleNotification(event upstream.Event) {
	if !strings.HasSuffix(event.Method, "/list_changed") {
		return
	}
	if event.Method == mcp.NotifyPromptsChanged || event.Method == mcp.NotifyResourcesChanged { // of which the catalogue holds the number alone
		h.opts.ListChanged(event.Method)
	}
	select {
	case h.lists <- struct{}{}:
	default: // a reading is due already
	}
}

// StartIsSlow says what is wrong while the handshake still goes on: nobody should have to wait for its time-out to know.
func (h *handler) StartIsSlow(e *upstream.Error) {
	(*Prober)(h).publish(func(s *State) { slow(s, e) })
}

// tellIfSlow says the same of a first list that does not come. The function that it gives ends that.
func (w *watch) tellIfSlow() (answered func()) {
	var over atomic.Bool
	timer := time.AfterFunc(upstream.DefaultSlowAfter, func() {
		e := upstream.Fail(registry.FailTimeout, nil, "The server has not answered tools/list within %s.", upstream.DefaultSlowAfter)
		if c, ok := w.conn.(interface{ Stderr() []string }); ok {
			e = e.WithStderr(c.Stderr())
		}
		w.publish(func(s *State) {
			if s.Catalogue == nil && !over.Load() {
				slow(s, e)
			}
		})
	})
	return func() { over.Store(true); timer.Stop() }
}

// slow notes a server that takes its time to start. It has not failed yet, unless it had before.
func slow(s *State, e *upstream.Error) {
	phase := registry.UpstreamConnecting
	if s.Upstream.Phase == registry.UpstreamFailed {
		phase = registry.UpstreamFailed
	}
	fail(&s.Upstream, phase, e)
}
