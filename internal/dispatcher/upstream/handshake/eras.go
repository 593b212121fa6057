// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package handshake

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
	"toolgate.dev/toolgate/internal/registry"
)

// Eras remembers how a server speaks, for as long as its Dialer lives (2026-07-28, Compatibility: once per process or origin).
type Eras struct {
	// modern: it has answered server/discover as a modern server does. legacyOnly: it has not. modernOnly: it has refused
	// initialize.
	modern, legacyOnly, modernOnly atomic.Bool
	// namesOnly: discover named no version that has initialize. Servers of both eras answer so too, so that they are asked;
	// it counts where one has then given no answer.
	namesOnly atomic.Bool
	// mortal: a child that was not asked to discover has ended in its handshake as well, so that asking is not why.
	mortal atomic.Bool
}

// NeverDiscover notes that the server must not be asked to discover.
func (e *Eras) NeverDiscover() { e.legacyOnly.Store(true) }

// ErrEndedInDiscover says that the server ended when it was asked to discover, as some legacy servers do. It may be dialled
// again, for a legacy connection.
var ErrEndedInDiscover = errors.New("the server ended at server/discover")

// Run finds an era that both sides speak, beginning with the one that Hello prefers unless the server is known to refuse it.
// Its errors are an *upstream.Error, with ErrEndedInDiscover beside it where that is why, or the cause of ctx.
func (h *Handshake) Run(ctx context.Context) error {
	if h.Hello.Prefers == upstream.Modern && !h.Eras.legacyOnly.Load() || h.Eras.modernOnly.Load() {
		return h.modernFirst(ctx)
	}
	return h.legacyFirst(ctx)
}

// legacyFirst begins with initialize, and asks to discover where a server refuses that as a modern one does.
func (h *Handshake) legacyFirst(ctx context.Context) error {
	refusal, err := h.initialize(ctx)
	switch {
	case errors.Is(err, errLoose):
	case err != nil:
		h.Eras.mortal.Store(h.Peer.Err() != nil)
		if h.Eras.namesOnly.Load() {
			h.Eras.modernOnly.Store(true)
		}
		return err
	case refusal == nil:
		return nil
	case !looksModern(refusal):
		return upstream.Fail(registry.FailStart, refusal, "The server refused initialize with the JSON-RPC error %d.", refusal.Code)
	default:
		err = refusal
	}
	info, _, again, discoverErr := h.discover(ctx)
	switch {
	case discoverErr != nil && errors.Is(err, errLoose), again != nil && errors.Is(err, errLoose):
		return err
	case discoverErr != nil:
		return discoverErr
	case again != nil:
		return refusedBoth(refusal, again)
	}
	h.Eras.modern.Store(true)
	h.Eras.modernOnly.Store(true)
	h.Peer.Agree(info)
	return nil
}

func refusedBoth(initialize, discover *jsonrpc.Error) error {
	return upstream.Fail(registry.FailNotMCP, initialize,
		"The server refused both initialize (JSON-RPC error %d) and server/discover (%d): it speaks no revision of MCP that is known here.", initialize.Code, discover.Code)
}

// modernFirst begins with server/discover, and goes on with initialize where the server does not answer as a modern one.
func (h *Handshake) modernFirst(ctx context.Context) error {
	refusal, err := h.tryDiscover(ctx)
	switch {
	case err == nil && refusal == nil:
		return nil
	case h.Peer.Err() != nil && !h.Eras.modern.Load() && !h.Eras.mortal.Load():
		return errors.Join(ErrEndedInDiscover, err)
	case err != nil && (h.Peer.Err() != nil || !saysLegacy(err)):
		return err
	case refusal != nil && !mayBeLegacy(refusal):
		return upstream.Fail(registry.FailProtocol, refusal, "The server refused server/discover of revision %s with the JSON-RPC error %d.", mcp.Modern, refusal.Code)
	}
	h.Eras.modern.Store(false) // another server may have taken its place
	h.Eras.modernOnly.Store(false)
	h.Eras.namesOnly.Store(false)
	again, err := h.initialize(ctx)
	switch {
	case err != nil:
		return err
	case again != nil && refusal != nil:
		return refusedBoth(again, refusal)
	case again != nil:
		return upstream.Fail(registry.FailStart, again, "The server refused initialize with the JSON-RPC error %d.", again.Code)
	}
	if !h.Eras.modern.Load() {
		h.Eras.legacyOnly.Store(true)
	}
	return nil
}

// errSilent says that the server has kept silent about server/discover.
var errSilent = errors.New("no answer to server/discover")

// tryDiscover asks to discover, once more where the server wants another of its supported versions and that is the one. A
// server that is not known to be modern is not waited for without end: what it says later counts for the next connection.
func (h *Handshake) tryDiscover(ctx context.Context) (*jsonrpc.Error, error) {
	type outcome struct {
		info    upstream.Info
		only    bool
		refusal *jsonrpc.Error
		err     error
	}
	answered := make(chan outcome, 1)
	waiting, cancel := context.WithCancelCause(context.WithoutCancel(ctx)) // the end of the connection ends it too, and says why
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	go func() {
		defer cancel(nil)
		var o outcome
		o.info, o.only, o.refusal, o.err = h.discover(waiting)
		if o.refusal != nil && o.refusal.Code == mcp.CodeUnsupportedVersion && supports(o.refusal, mcp.Modern) {
			o.info, o.only, o.refusal, o.err = h.discover(waiting)
		}
		if o.err == nil && o.refusal == nil {
			h.Eras.modern.Store(true)
			h.Eras.namesOnly.Store(o.only)
			h.Eras.legacyOnly.Store(false)
			if !o.only {
				h.Eras.modernOnly.Store(false)
			}
		}
		answered <- o
	}()
	var silent <-chan time.Time
	if !h.Eras.modern.Load() {
		timer := time.NewTimer(h.DiscoverTimeout)
		defer timer.Stop()
		silent = timer.C
	}
	select {
	case o := <-answered:
		if o.err == nil && o.refusal == nil {
			h.Peer.Agree(o.info)
		}
		return o.refusal, o.err
	case <-silent:
		stop() // the answer may still come, but nobody waits for it
		return nil, errSilent
	}
}

// saysLegacy says whether an error of server/discover is what a server of an earlier revision may have caused: silence, an
// answer that is none, or one that does not name our version.
func saysLegacy(err error) bool {
	var e *upstream.Error
	if errors.Is(err, errSilent) {
		return true
	}
	return errors.As(err, &e) && slices.Contains([]registry.FailureReason{registry.FailNotMCP, registry.FailProtocol, registry.FailExited}, e.Reason)
}

// mayBeLegacy says whether a refusal of server/discover leaves room for initialize: a modern server's own errors do not,
// but for versions of which some are spoken here (2026-07-28, Compatibility).
func mayBeLegacy(refusal *jsonrpc.Error) bool {
	switch refusal.Code {
	case mcp.CodeHeaderMismatch, mcp.CodeMissingCapability:
		return false
	case mcp.CodeUnsupportedVersion:
		return slices.ContainsFunc(legacyVersions, func(v string) bool { return supports(refusal, v) })
	}
	return true
}

// supports says whether an error names a version among those that the server supports.
func supports(refusal *jsonrpc.Error, version string) bool {
	list, _ := jsonrpc.Member(refusal.Data, "supported")
	for raw := range jsonrpc.Elements(list) {
		if v, ok := jsonrpc.String(raw); ok && v == version {
			return true
		}
	}
	return false
}

// looksModern says whether a refusal of initialize is that of a server that only speaks revision 2026-07-28: the method is
// unknown, its _meta is missing, or the version is.
func looksModern(e *jsonrpc.Error) bool {
	switch e.Code {
	case jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidParams, jsonrpc.CodeInvalidRequest,
		mcp.CodeHeaderMismatch, mcp.CodeMissingCapability, mcp.CodeUnsupportedVersion:
		return true
	}
	return false
}
