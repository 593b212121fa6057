// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/registry"
)

// BenchmarkCall is one tool call of a session from its HTTP request to its answer, without network and server.
func BenchmarkCall(b *testing.B) {
	f := newFixture(b, func(d *registry.Document) { d.Policy.Limits.RequestsPerMinute = 0 })
	id := f.session()
	f.server.Cached = f.server.Catalogue()
	f.server.Quick = func(context.Context, upstream.Call) upstream.Reply {
		return upstream.Reply{Result: []byte(`{"content":[]}`)}
	}
	header := headers(HeaderSession, id)
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}`
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
		r.Header = header
		f.handler.ServeHTTP(&discard{header: http.Header{}}, r)
	}
}

// discard is an http.ResponseWriter that keeps nothing.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(int)             {}
func (d *discard) Write(p []byte) (int, error) { return io.Discard.Write(p) }
