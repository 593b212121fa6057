// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/rules"
)

// benchPolicies are documents of two kinds: what cannot be switched off, and every stage at work.
var benchPolicies = map[string]func(*registry.Document){
	"minimal": func(d *registry.Document) {
		d.Policy.Limits.RequestsPerMinute = 0
		d.Policy.Validation = registry.Validation{Arguments: registry.Off, Results: registry.Off}
	},
	"full": func(d *registry.Document) {
		d.Policy.Limits.RequestsPerMinute = 1 << 30
		d.Policy.Validation = registry.Validation{Arguments: registry.Enforce, Results: registry.Enforce}
		d.RuleSets = []rules.Set{
			{Name: "a", Type: rules.TypeSafety, Format: rules.FormatCEL, Rules: []rules.Rule{
				{Name: "text", Action: rules.Reject, When: `args.text.contains("password") || args.text.startsWith("/etc/")`},
				{Name: "trust", Action: rules.Reject, When: `tool.destructive && server.trust != "Trusted"`},
			}},
			{Name: "b", Type: rules.TypeValidation, Format: rules.FormatJSONSchema, Rules: []rules.Rule{
				{Name: "short", Action: rules.Reject, Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","maxLength":1000}}}`)},
			}},
		}
	},
}

// caller gives a function that makes one tool call of a session from its HTTP request to its answer, without network and
// server.
func caller(tb testing.TB, change func(*registry.Document)) func() {
	f := newFixture(tb, change)
	id := f.session()
	f.server.Cached = f.server.Catalogue()
	f.server.Quick = func(context.Context, upstream.Call) upstream.Reply {
		return upstream.Reply{Result: []byte(`{"content":[{"type":"text","text":"hello"}]}`)}
	}
	body := strings.NewReader("")
	const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello","n":3}}}`
	r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(text))
	r.Header = headers(headerSession, id)
	r.Body = io.NopCloser(body)
	w := &discard{header: http.Header{}}
	return func() {
		body.Reset(text)
		clear(w.header)
		f.handler.ServeHTTP(w, r)
		if w.status != http.StatusOK {
			tb.Fatalf("status %d", w.status)
		}
		f.audit.Reset()
	}
}

// What a call takes beside net/http and the way to the server. The bounds leave room for pools that forget, as they do under
// the race detector.
func TestACallTakesLittleMemory(t *testing.T) {
	for name, most := range map[string]float64{"minimal": 37, "full": 47} {
		if n := testing.AllocsPerRun(200, caller(t, benchPolicies[name])); n > most {
			t.Errorf("%s policy: %.0f allocations for a call, want %.0f at most", name, n, most)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	for name, change := range benchPolicies {
		b.Run(name, func(b *testing.B) {
			call := caller(b, change)
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
	}
}

// discard is an http.ResponseWriter that keeps nothing.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Write(p []byte) (int, error) { return io.Discard.Write(p) }
