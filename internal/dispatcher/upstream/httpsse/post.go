// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package httpsse

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/link"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/origin"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
	"toolgate.dev/toolgate/internal/registry"
)

// Exchange posts a request. Some servers accept it at once, others when they have answered it on the stream, so that the
// call does not wait for the answer to the POST.
func (w *wire) Exchange(_ context.Context, p *link.Call, message []byte) error {
	p.MarkSent()
	go func() { //nolint:contextcheck // a message on its way is not torn up: the server is told of a cancellation
		if err := w.post(w.conn.Context(), message, p); err != nil && !p.Settled() {
			w.conn.Settle(p, link.Answer{Err: upstream.AsError(err, registry.FailNotMCP)})
		}
	}()
	return nil
}

// Tell posts a notification or an answer of the client.
func (w *wire) Tell(ctx context.Context, message []byte) error { return w.post(ctx, message, nil) }

// post sends one message, within Options.StartTimeout: the answer says only that the message was taken. p is the call that it
// begins, nil if it begins none.
func (w *wire) post(ctx context.Context, message []byte, p *link.Call) error {
	limited, cancel := context.WithTimeout(ctx, w.StartTimeout)
	defer cancel()
	header := http.Header{"Content-Type": {jsonType}, "Accept": {jsonType + ", " + streamType}}
	if info := w.agreed.Load(); info != nil && info.ProtocolVersion != "" {
		header.Set(mcp.HeaderVersion, info.ProtocolVersion)
	}
	resp, err := w.Send(limited, origin.Request{Method: http.MethodPost, Target: w.target, Body: message, Header: header}) //nolint:bodyclose // Discard closes it
	switch {
	case err == nil:
	case ctx.Err() != nil && w.conn.Context().Err() == nil:
		return context.Cause(ctx)
	case w.conn.Context().Err() != nil:
		return w.conn.Closed()
	case limited.Err() != nil:
		return upstream.Fail(registry.FailTimeout, origin.Reason(err), "The server did not take a message within %s.", w.StartTimeout)
	default:
		return w.Broken(err)
	}
	defer origin.Discard(resp)
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return nil
	}
	return w.refused(resp, p)
}

// refused turns an answer to POST that is no success into what it means. Where its body is a JSON-RPC error, that is the
// answer to p.
func (w *wire) refused(resp *http.Response, p *link.Call) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, origin.MaxErrorBody))
	if err != nil {
		w.Log.Debug("the body of a refusal could not be read", "err", err)
	}
	status := resp.StatusCode
	m, err := jsonrpc.Parse(bytes.TrimSpace(body), jsonrpc.Limits{})
	if err == nil && m.Error != nil && p != nil && status != http.StatusUnauthorized && status != http.StatusForbidden {
		w.conn.Settle(p, link.Answer{Reply: upstream.Reply{Error: m.Clone().Error}})
		return nil
	}
	// Servers answer 404, or 400 in words, where the session that the endpoint names is none of theirs any more.
	if status == http.StatusNotFound || status == http.StatusBadRequest && strings.Contains(strings.ToLower(string(body)), "session") {
		e := upstream.Fail(registry.FailExited, nil, "The server no longer knows the session (%s).", origin.StatusText(status))
		w.conn.Fail(e)
		return e
	}
	return w.Refused(status, endpoint)
}
