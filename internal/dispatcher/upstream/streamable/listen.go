// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package streamable

import (
	"bufio"
	"cmp"
	"context"
	"net/http"
	"sync"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/origin"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/sse"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
	"toolgate.dev/toolgate/internal/registry"
)

// listen keeps the stream open on which a server sends what belongs to no call (MCP 2025-11-25, Listening for Messages from
// the Server). A server that offers none says so once and is not asked again. There is no time-out: such a stream may be
// silent for hours, and the loss of its peer is TCP's to find. answered is called once the first request for it was answered.
func (w *wire) listen(answered func()) {
	defer answered()
	lastID, failures := "", 0
	for opened := false; w.conn.Context().Err() == nil; opened = true {
		headers := map[string]string{}
		if lastID != "" {
			headers[mcp.HeaderLastEvent] = lastID
		}
		resp, err := w.send(w.conn.Context(), http.MethodGet, nil, headers)
		answered()
		delay := min(firstDelay<<min(failures, 8), mostDelay)
		failures++
		switch {
		case err != nil && upstream.NotListening(err) && !w.Remote && w.session.Load() != nil:
			// The process that kept the session is gone, and the session with it.
			w.session.Store(nil)
			w.conn.Fail(upstream.Fail(registry.FailExited, origin.Reason(err), "The server at %s has gone: %s.", w.Host(), origin.Reason(err)))
			return
		case err != nil || resp.StatusCode >= http.StatusInternalServerError:
			if err == nil {
				origin.Discard(resp)
			}
		case !w.listens(resp):
			return
		default:
			if opened {
				w.conn.Outdate() // a list_changed may have been missed
			}
			s := w.hear(resp)
			if s.events > 0 {
				failures = 0
			}
			lastID = cmp.Or(s.reader.LastID(), lastID)
			delay = s.delay(failures)
		}
		if pause(w.conn.Context(), delay) != nil {
			return
		}
	}
}

// listenTimeout bounds the wait for the server's own stream. There are servers that answer GET with the first event alone.
const listenTimeout = 500 * time.Millisecond

// beginListening opens the server's own stream. Where the client can be asked for something it waits for that: servers of the
// TypeScript SDK ask on this stream although a call is under way, and lose the question where it is not open yet.
func (w *wire) beginListening(ctx context.Context, capabilities []byte) {
	open := make(chan struct{})
	go w.listen(sync.OnceFunc(func() { close(open) })) //nolint:contextcheck // the connection lives on after its caller
	if !asks(capabilities) {
		return
	}
	bound := time.NewTimer(listenTimeout)
	defer bound.Stop()
	select {
	case <-open:
	case <-bound.C:
	case <-ctx.Done():
	}
}

// asks says whether a client of these capabilities can be asked for something.
func asks(capabilities []byte) bool {
	for _, name := range []string{"elicitation", "sampling", "roots"} {
		if _, ok := jsonrpc.Member(capabilities, name); ok {
			return true
		}
	}
	return false
}

// listens says whether the answer to GET is a stream, and closes it if not.
func (w *wire) listens(resp *http.Response) bool {
	if resp.StatusCode == http.StatusOK && origin.HasType(resp.Header.Get("Content-Type"), streamType) {
		return true
	}
	err := w.refused(resp, nil)
	w.Log.Debug("the server offers no stream of its own", "status", resp.StatusCode, "err", err)
	origin.Discard(resp)
	return false
}

func (w *wire) hear(resp *http.Response) *stream {
	s := &stream{wire: w, reader: sse.NewReader(bufio.NewReader(resp.Body), w.MaxMessageBytes)}
	if err := s.read(); err != nil && w.conn.Context().Err() == nil {
		w.Log.Debug("the server's own stream ended", "err", err)
	}
	_ = resp.Body.Close()
	return s
}
