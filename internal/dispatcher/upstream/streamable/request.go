// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package streamable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/link"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
)

// The headers of streamable HTTP.
const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	headerLastID  = "Last-Event-Id"
)

const (
	jsonType   = "application/json"
	streamType = "text/event-stream"
)

// maxHeaderFile bounds the file of one header, in bytes.
const maxHeaderFile = 16 << 10

// send makes one request. The extra headers are the protocol's; the configured ones never replace one.
func (w *wire) send(ctx context.Context, method string, body []byte, extra map[string]string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, w.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for _, h := range w.Headers {
		value, err := headerValue(h)
		if err != nil {
			return nil, err
		}
		req.Header.Set(h.Name, value)
	}
	req.Header.Set("User-Agent", "toolgate")
	switch method {
	case http.MethodPost:
		req.Header.Set("Content-Type", jsonType)
		req.Header.Set("Accept", jsonType+", "+streamType)
	case http.MethodGet:
		req.Header.Set("Accept", streamType)
	}
	if info := w.agreed.Load(); info != nil {
		req.Header.Set(headerVersion, info.ProtocolVersion)
	}
	if session := w.session.Load(); session != nil {
		req.Header.Set(headerSession, *session)
	}
	for name, value := range extra {
		req.Header.Set(name, value)
	}
	return w.client.Do(req)
}

// headerValue reads a header's file. The error never holds what the file does.
func headerValue(h registry.HeaderFile) (string, error) {
	file, err := os.Open(h.File)
	if err != nil {
		return "", unauthorized(err, h)
	}
	defer file.Close() //nolint:errcheck // it was only read
	raw, err := io.ReadAll(io.LimitReader(file, maxHeaderFile+1))
	if err != nil {
		return "", unauthorized(err, h)
	}
	value := strings.TrimSpace(string(raw))
	if len(raw) > maxHeaderFile || strings.IndexFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) >= 0 {
		return "", unauthorized(errors.New("it is too long, or has line breaks or control characters"), h)
	}
	return value, nil
}

func unauthorized(err error, h registry.HeaderFile) *upstream.Error {
	return upstream.Fail(registry.FailUnauthorized, err, "The value of the header %s cannot be read from its file: %s.", h.Name, err)
}

// reason takes the URL off an error of the HTTP client: it may hold secrets.
func reason(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// broken turns an error of the HTTP client into what it means. The caller's own cause stays as it is.
func (w *wire) broken(ctx context.Context, err error) error {
	var own *upstream.Error
	switch err = reason(err); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case w.conn.Context().Err() != nil:
		return w.conn.Closed()
	case errors.As(err, &own):
		return own
	case !w.Remote && isDial(err):
		return upstream.Fail(registry.FailStart, err, "Nothing answers at %s: %s. The server must listen there.", w.host, err)
	case w.Remote:
		return upstream.Fail(registry.FailUnreachable, err, "The server at %s cannot be reached: %s.", w.host, err)
	}
	return upstream.Fail(registry.FailExited, err, "The connection to the server at %s was lost: %s.", w.host, err)
}

// isDial says whether nothing listens: the connection could not even be opened.
func isDial(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "dial"
}

// refused turns an answer that is no success into what it means. Where its body is a JSON-RPC error, that is the answer to p.
func (w *wire) refused(resp *http.Response, p *link.Call) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil {
		w.log.Debug("The body of a refusal could not be read", "error", err)
	}
	m, err := jsonrpc.Parse(bytes.TrimPrefix(body, []byte(byteOrderMark)), jsonrpc.Limits{})
	isError := err == nil && m.Error != nil
	status := resp.StatusCode
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return upstream.Fail(registry.FailUnauthorized, nil, "The server answered %s: it does not accept the configured credentials.", statusText(status))
	case w.lostSession(status, m):
		e := upstream.Fail(registry.FailExited, nil, "The server no longer knows the session (%s); it was restarted, or gave the session up.", statusText(status))
		w.session.Store(nil)
		w.conn.Fail(e)
		return e
	case isError && p != nil:
		w.conn.Settle(p, link.Answer{Reply: upstream.Reply{Error: m.Clone().Error}})
		return nil
	}
	return w.unexpected(status)
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

// unexpected says what an HTTP status means where MCP has no use for it.
func (w *wire) unexpected(status int) *upstream.Error {
	text := statusText(status)
	switch {
	case status >= 300 && status < 400:
		return upstream.Fail(registry.FailNotMCP, nil, "The server answered %s, which is not followed; set the URL to the address it leads to.", text)
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed:
		return upstream.Fail(registry.FailNotMCP, nil, "The server answered %s: there is no streamable HTTP endpoint at this path.", text)
	case status < 300:
		return upstream.Fail(registry.FailNotMCP, nil, "The server answered a request with %s and no body.", text)
	case w.Remote && (status >= 500 || status == http.StatusTooManyRequests):
		return upstream.Fail(registry.FailUnreachable, nil, "The server at %s answered %s.", w.host, text)
	}
	return upstream.Fail(registry.FailNotMCP, nil, "The server answered %s.", text)
}

func statusText(status int) string {
	return strings.TrimSpace(fmt.Sprintf("HTTP %d %s", status, http.StatusText(status)))
}

// discard reads what little is left of an answer, so that its TCP connection can be used again.
func discard(resp *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxErrorBody))
	_ = resp.Body.Close()
}
