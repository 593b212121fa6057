// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/audit"
	"toolgate.dev/toolgate/internal/dispatcher/dispatchertest"
	"toolgate.dev/toolgate/internal/dispatcher/metrics"
	"toolgate.dev/toolgate/internal/dispatcher/pipeline"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
)

// sessions of a dispatcher whose server is reached by connect.
func sessions(t *testing.T, server *dispatchertest.Server, connect func(upstream.Handler) (upstream.Conn, func(), error)) *Sessions {
	t.Helper()
	counted, log := metrics.New(), slog.New(slog.DiscardHandler)
	p := pipeline.New(pipeline.Config{Discovery: server, Audit: audit.New(io.Discard), Metrics: counted, Log: log, Now: time.Now})
	p.Apply(dispatchertest.Snapshot(t, dispatchertest.Document(server)))
	all := New(Config{Pipeline: p, Metrics: counted, Log: log,
		Connect: func(_ context.Context, _ upstream.Hello, handler upstream.Handler) (upstream.Conn, func(), error) {
			return connect(handler)
		}})
	t.Cleanup(all.Close)
	return all
}

// resumable says whether a client gets the answer that came while its connection was broken.
func resumable(t *testing.T, s *Session) bool {
	t.Helper()
	answered := s.Streams().Open(false)
	answered.Finish([]byte(`"the answer"`))
	carrier, err := s.Streams().Resume("1-0") // stream 0 is the session's own
	if err != nil {
		return false
	}
	out := httptest.NewRecorder()
	carrier.Run(t.Context(), out)
	return strings.Contains(out.Body.String(), `"the answer"`)
}

// What a server says while its handshake goes on waits for the client. Where the session does not come to be, or has ended,
// that counts no more towards what the process keeps, or a server that starts badly takes the others' sessions their streams.
func TestNothingIsKeptForSessionsThatAreNot(t *testing.T) {
	server := dispatchertest.NewServer(dispatchertest.Echo)
	words := []byte(`{"data":"` + strings.Repeat("x", 1<<20-1<<10) + `"}`)
	speak := func(h upstream.Handler) {
		h.HandleNotification(upstream.Event{Method: "notifications/message", Params: words})
	}
	const times = 66 // by 1 MiB, which is more than all sessions may keep
	for name, tc := range map[string]struct {
		fails bool // the handshake
		late  bool // the server speaks once more when all is over
		drain bool // the dispatcher begins to drain meanwhile
	}{
		"the handshake fails":                           {fails: true},
		"the handshake fails, and the server goes on":   {fails: true, late: true},
		"the session ends":                              {},
		"the session ends, and the server goes on":      {late: true},
		"the dispatcher drains while a session begins":  {drain: true},
		"it drains meanwhile, and the server speaks on": {drain: true, late: true},
	} {
		t.Run(name, func(t *testing.T) {
			var heard upstream.Handler
			var all *Sessions
			fails, drain := tc.fails, tc.drain
			all = sessions(t, server, func(h upstream.Handler) (upstream.Conn, func(), error) {
				heard = h
				speak(h)
				if fails {
					return nil, nil, errors.New("no answer to initialize")
				}
				if drain {
					all.Drain()
				}
				return server.Session(t.Context(), upstream.Hello{}, h)
			})
			for range times {
				s, refusal := all.Begin(t.Context(), "10.0.0.1", "2025-11-25", Client{}, nil)
				if (refusal != nil) != (tc.fails || tc.drain) {
					t.Fatalf("%+v", refusal)
				}
				if s != nil {
					s.End()
				}
				if tc.late {
					speak(heard)
				}
				all.draining = false
			}
			fails, drain = false, false
			s, refusal := all.Begin(t.Context(), "10.0.0.1", "2025-11-25", Client{}, nil)
			if refusal != nil {
				t.Fatal(refusal)
			}
			if !resumable(t, s) {
				t.Error("the process still counts what it keeps for nobody: no client can resume a stream")
			}
		})
	}
}
