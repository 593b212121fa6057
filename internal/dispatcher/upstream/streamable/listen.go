// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package streamable

import (
	"bufio"
	"cmp"
	"net/http"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/origin"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/sse"
	"toolgate.dev/toolgate/internal/registry"
)

// listen keeps the stream open on which a server sends what belongs to no call (MCP 2025-11-25, Listening for Messages from
// the Server). A server that offers none says so once and is not asked again. There is no time-out: such a stream may be
// silent for hours, and the loss of its peer is TCP's to find.
func (w *wire) listen() {
	lastID, failures := "", 0
	for opened := false; w.conn.Context().Err() == nil; opened = true {
		headers := map[string]string{}
		if lastID != "" {
			headers[headerLastID] = lastID
		}
		resp, err := w.send(w.conn.Context(), http.MethodGet, nil, headers)
		delay := min(firstDelay<<min(failures, 8), mostDelay)
		failures++
		switch {
		case err != nil && origin.IsDial(err) && !w.Remote && w.session.Load() != nil:
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

// listens says whether the answer to GET is a stream, and closes it if not.
func (w *wire) listens(resp *http.Response) bool {
	if resp.StatusCode == http.StatusOK && origin.HasType(resp.Header.Get("Content-Type"), streamType) {
		return true
	}
	err := w.refused(resp, nil)
	w.log.Debug("The server offers no stream of its own", "status", resp.StatusCode, "error", err)
	origin.Discard(resp)
	return false
}

func (w *wire) hear(resp *http.Response) *stream {
	s := &stream{wire: w, reader: sse.NewReader(bufio.NewReader(resp.Body), w.MaxMessageBytes)}
	if err := s.read(); err != nil && w.conn.Context().Err() == nil {
		w.log.Debug("The server's own stream ended", "error", err)
	}
	_ = resp.Body.Close()
	return s
}
