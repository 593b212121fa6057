// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package edge

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/registry"
)

func TestCORS(t *testing.T) {
	guard := &Guard{Document: func() *registry.Document { return nil }, Origins: []string{"https://app.example.org"}}
	handler := guard.CORS(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	preflight := map[string]string{"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type, MCP-Session-Id,Mcp-Param-Region, x-evil, mcp-param-\u00e9"}
	answered := map[string]string{"Access-Control-Allow-Methods": "GET, POST, DELETE", "Access-Control-Allow-Headers": "content-type, mcp-session-id, mcp-param-region",
		"Access-Control-Max-Age": "600", "Vary": "Origin"}
	with := func(origin string, more map[string]string) map[string]string {
		all := map[string]string{"Access-Control-Allow-Origin": origin}
		for k, v := range more {
			all[k] = v
		}
		return all
	}
	exposed := map[string]string{"Access-Control-Expose-Headers": exposedHeaders, "Vary": "Origin"}
	for name, tc := range map[string]struct {
		method, host, origin string
		headers              map[string]string
		wantStatus           int
		want                 map[string]string
	}{
		"no page":                            {method: "POST", wantStatus: 418, want: map[string]string{}},
		"a page of an origin that is let in": {method: "POST", origin: "https://app.example.org", wantStatus: 418, want: with("https://app.example.org", exposed)},
		"a page on loopback":                 {method: "GET", origin: "http://localhost:6274", wantStatus: 418, want: with("http://localhost:6274", exposed)},
		"its preflight":                      {method: "OPTIONS", origin: "https://app.example.org", headers: preflight, wantStatus: 204, want: with("https://app.example.org", answered)},
		"OPTIONS that is no preflight":       {method: "OPTIONS", origin: "https://app.example.org", wantStatus: 418, want: with("https://app.example.org", exposed)},
		"a stranger":                         {method: "POST", origin: "https://evil.example.com", wantStatus: 418, want: map[string]string{}},
		"a stranger's preflight":             {method: "OPTIONS", origin: "https://evil.example.com", headers: preflight, wantStatus: 418, want: map[string]string{}},
		"a sandboxed page":                   {method: "OPTIONS", origin: "null", headers: preflight, wantStatus: 418, want: map[string]string{}},
		"a name that was bound anew":         {method: "OPTIONS", host: "evil.example.com", origin: "http://evil.example.com", headers: preflight, wantStatus: 418, want: map[string]string{}},
		"a preflight without a page":         {method: "OPTIONS", headers: preflight, wantStatus: 418, want: map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(tc.method, "http://localhost/mcp", nil)
			if tc.host != "" {
				r.Host = tc.host
			}
			if tc.origin != "" {
				r.Header.Set("Origin", tc.origin)
			}
			for k, v := range tc.headers {
				r.Header.Set(k, v)
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			got := map[string]string{}
			for k := range w.Header() {
				got[k] = w.Header().Get(k)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || w.Code != tc.wantStatus {
				t.Errorf("%d, want %d (-want +got):\n%s", w.Code, tc.wantStatus, diff)
			}
		})
	}
}
