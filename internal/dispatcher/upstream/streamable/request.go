// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package streamable

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

const (
	jsonType   = "application/json"
	streamType = "text/event-stream"
)

// The values of headers are shared by all requests, which nobody changes.
var (
	sendsJSON   = []string{jsonType}
	takesBoth   = []string{jsonType + ", " + streamType}
	takesStream = []string{streamType}
)

// endpoint is what a server is asked for.
const endpoint = "streamable HTTP endpoint"

// send makes one request. The extra headers are the protocol's; the configured ones never replace one.
func (w *wire) send(ctx context.Context, method string, body []byte, extra map[string]string) (*http.Response, error) {
	header := make(http.Header, 8)
	switch method {
	case http.MethodPost:
		header["Content-Type"], header["Accept"] = sendsJSON, takesBoth
	case http.MethodGet:
		header["Accept"] = takesStream
	}
	if info := w.agreed.Load(); info != nil && info.ProtocolVersion != "" {
		header[mcp.HeaderVersion] = []string{info.ProtocolVersion}
	}
	if session := w.session.Load(); session != nil {
		header[mcp.HeaderSession] = []string{*session}
	}
	for name, value := range extra {
		header.Set(name, value)
	}
	return w.Send(ctx, origin.Request{Method: method, Body: body, Header: header})
}

// broken turns an error of the HTTP client into what it means. The caller's own cause stays as it is.
func (w *wire) broken(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case w.conn.Context().Err() != nil:
		return w.conn.Closed()
	}
	return w.Broken(err)
}

// refused turns an answer that is no success into what it means. Where its body is a JSON-RPC error, that is the answer to p.
func (w *wire) refused(resp *http.Response, p *link.Call) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, origin.MaxErrorBody))
	if err != nil {
		w.Log.Debug("the body of a refusal could not be read", "err", err)
	}
	m, err := jsonrpc.Parse(bytes.TrimPrefix(body, []byte(byteOrderMark)), jsonrpc.Limits{})
	isError := err == nil && m.Error != nil
	status := resp.StatusCode
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return w.Refused(status, endpoint)
	case w.lostSession(status, m):
		e := upstream.Fail(registry.FailExited, nil, "The server no longer knows the session (%s); it was restarted, or gave the session up.", origin.StatusText(status))
		w.session.Store(nil)
		w.conn.Fail(e)
		return e
	case isError && p != nil:
		w.conn.Settle(p, link.Answer{Reply: upstream.Reply{Error: m.Clone().Error}})
		return nil
	}
	return w.Refused(status, endpoint)
}

// lostSession recognises the answer to a session that has ended: 404, or what servers in the field say instead.
func (w *wire) lostSession(status int, m jsonrpc.Message) bool {
	switch {
	case w.session.Load() == nil:
		return false
	case status == http.StatusNotFound:
		return m.Error == nil || m.Error.Code != jsonrpc.CodeMethodNotFound
	case status == http.StatusBadRequest && m.Error != nil && m.ID.IsZero():
		text := strings.ToLower(m.Error.Message)
		return strings.Contains(text, "session") || strings.Contains(text, "not initialized")
	}
	return false
}
