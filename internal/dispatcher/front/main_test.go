// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"toolgate.dev/toolgate/internal/dispatcher/audit"
	"toolgate.dev/toolgate/internal/dispatcher/dispatchertest"
	"toolgate.dev/toolgate/internal/dispatcher/edge"
	"toolgate.dev/toolgate/internal/dispatcher/metrics"
	"toolgate.dev/toolgate/internal/dispatcher/pipeline"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
)

// The protocol as clients spell it.
const (
	modernVersion = "2026-07-28"
	headerSession = "Mcp-Session-Id"
	headerVersion = "MCP-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerLastID  = "Last-Event-ID"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a handler in front of a server in memory.
type fixture struct {
	t       testing.TB
	server  *dispatchertest.Server
	pipe    *pipeline.Pipeline
	handler *Handler
	audit   *bytes.Buffer
}

func newFixture(t testing.TB, change func(*registry.Document)) *fixture {
	t.Helper()
	f := &fixture{t: t, audit: &bytes.Buffer{},
		server: dispatchertest.NewServer(dispatchertest.Echo, dispatchertest.Remove, dispatchertest.Plain)}
	m := metrics.New()
	log := slog.New(slog.DiscardHandler)
	f.pipe = pipeline.New(pipeline.Config{Discovery: f.server, Audit: audit.New(f.audit), Metrics: m, Log: log, Now: time.Now})
	f.apply(change)
	f.handler = New(Config{Pipeline: f.pipe, Connections: f.server, Info: f.server.Info, Metrics: m, Log: log,
		Guard: &edge.Guard{Document: f.pipe.Document}})
	t.Cleanup(f.handler.Close)
	return f
}

func (f *fixture) apply(change func(*registry.Document)) {
	f.t.Helper()
	doc := dispatchertest.Document(f.server)
	if change != nil {
		change(doc)
	}
	f.pipe.Apply(dispatchertest.Snapshot(f.t, doc))
}

// send sends one HTTP request straight to the handler.
func (f *fixture) send(method string, header http.Header, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost/mcp", strings.NewReader(body))
	for name, values := range header {
		r.Header[name] = values
	}
	if host := header.Get("Host"); host != "" {
		r.Host = host
	}
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, r)
	return w
}

func headers(pairs ...string) http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

func (f *fixture) post(body string, pairs ...string) *httptest.ResponseRecorder {
	return f.send(http.MethodPost, headers(pairs...), body)
}

const initializeBody = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
	`"capabilities":{"roots":{},"sampling":{},"elicitation":{}},"clientInfo":{"name":"test","version":"1"}}}`

// session begins a session and gives its id.
func (f *fixture) session() string {
	f.t.Helper()
	w := f.post(initializeBody)
	id := w.Header().Get(headerSession)
	if w.Code != http.StatusOK || id == "" {
		f.t.Fatalf("initialize: %d %s", w.Code, w.Body)
	}
	return id
}

// live serves the handler over real HTTP.
func (f *fixture) live() *httptest.Server {
	s := httptest.NewServer(f.handler)
	f.t.Cleanup(func() {
		f.handler.Close()
		s.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return s
}

// recorder is an http.ResponseWriter that may be read while it is written.
type recorder struct {
	mu     sync.Mutex
	header http.Header
	data   bytes.Buffer
}

func newRecorder() *recorder { return &recorder{header: http.Header{}} }

func (r *recorder) Header() http.Header { return r.header }
func (r *recorder) WriteHeader(int)     {}
func (r *recorder) Flush()              {}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.data.Write(p)
}

func (r *recorder) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.data.String()
}

// eventually waits for what another goroutine brings about.
func eventually(t *testing.T, done func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for !done() {
		select {
		case <-deadline:
			t.Fatal("it did not come about in time")
		case <-time.After(time.Millisecond):
		}
	}
}

func rpcError(code int64, message, data string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: code, Message: message, Data: []byte(data)}
}

// bare gives a pipeline without a document.
func bare(f *fixture) *pipeline.Pipeline { return pipeline.New(f.pipe.Config) }
