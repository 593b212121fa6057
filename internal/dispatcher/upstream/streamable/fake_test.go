// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package streamable

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/origin"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
)

// The headers as servers spell them.
const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "MCP-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
	paramPrefix   = "Mcp-Param-"
)

// fake is a legacy server with a session, whose answers a test may replace.
type fake struct {
	// answer replaces the answer to a request; it reports whether it has.
	answer func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) bool
	// get replaces the answer to GET, which is 405.
	get     http.HandlerFunc
	session string

	mu       sync.Mutex
	requests []string             // HTTP method, MCP method or kind, session and version of each request
	messages chan jsonrpc.Message // notifications and responses
	deleted  int
}

func newFake() *fake { return &fake{session: "s1", messages: make(chan jsonrpc.Message, 100)} }

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	m, err := jsonrpc.Parse(body, jsonrpc.Limits{})
	if r.Method == http.MethodPost && err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	word := m.Method
	if word == "" && r.Method == http.MethodPost {
		word = m.Kind.String()
	}
	f.mu.Lock()
	f.requests = append(f.requests, strings.TrimSpace(strings.Join([]string{r.Method, word, r.Header.Get(headerSession), r.Header.Get(headerVersion)}, " ")))
	session := f.session
	if r.Method == http.MethodDelete {
		f.deleted++
	}
	f.mu.Unlock()
	switch {
	case r.Method == http.MethodGet && f.get != nil:
		f.get(w, r)
	case r.Method == http.MethodGet:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case r.Method == http.MethodDelete:
	case m.Kind != jsonrpc.Request:
		f.messages <- m
		w.WriteHeader(http.StatusAccepted)
	case f.answer != nil && f.answer(w, r, &m):
	case m.Method == "initialize":
		w.Header().Set(headerSession, session)
		reply(w, m.ID, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1"}}`)
	case r.Header.Get(headerSession) != session:
		http.Error(w, `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`, http.StatusNotFound)
	case m.Method == "tools/list":
		reply(w, m.ID, `{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`)
	default:
		reply(w, m.ID, `{"echo":`+string(m.Params)+`}`)
	}
}

func reply(w http.ResponseWriter, id jsonrpc.ID, result string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(jsonrpc.AppendResponse(nil, id, []byte(result)))
}

// stream begins an event stream and returns what writes to it.
func startStream(w http.ResponseWriter) func(text string) {
	w.Header().Set("Content-Type", streamType)
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w)
	_ = flush.Flush()
	return func(text string) {
		_, _ = io.WriteString(w, text)
		_ = flush.Flush()
	}
}

func response(id jsonrpc.ID, result string) string {
	return string(jsonrpc.AppendResponse(nil, id, []byte(result)))
}

type recorder struct {
	answer  func(ctx context.Context, event upstream.Event) upstream.Reply
	notices chan upstream.Event
}

func (r *recorder) HandleRequest(ctx context.Context, event upstream.Event) upstream.Reply {
	return r.answer(ctx, event)
}

func (r *recorder) HandleNotification(event upstream.Event) { r.notices <- event }

func newRecorder() *recorder { return &recorder{notices: make(chan upstream.Event, 100)} }

// serve starts a server for the time of the test.
func serve(t testing.TB, handler http.Handler) *httptest.Server {
	t.Helper()
	leaks := goleak.IgnoreCurrent()
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		goleak.VerifyNone(t, leaks)
	})
	return server
}

// Options are all that a Dialer is made from.
type Options struct {
	upstream.Options
	URL     string
	Remote  bool
	Headers []registry.HeaderFile
	CAFile  string
}

func newDialer(t testing.TB, opts Options) upstream.Dialer {
	t.Helper()
	server, err := origin.New(origin.Options{URL: opts.URL, Remote: opts.Remote, Headers: opts.Headers, CAFile: opts.CAFile})
	if err != nil {
		t.Fatal(err)
	}
	d := New(opts.Options, server, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func dial(t testing.TB, handler http.Handler, upstreamHandler upstream.Handler, opts Options) upstream.Conn {
	t.Helper()
	opts.URL = serve(t, handler).URL + "/mcp"
	conn, err := newDialer(t, opts).Dial(t.Context(), upstream.Hello{}, upstreamHandler)
	if err != nil {
		t.Fatalf("Dial: %v", err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return conn
}
