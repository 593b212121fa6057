// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package edge

import (
	"net/http"
	"slices"
	"strings"

	"toolgate.dev/toolgate/internal/mcp"
)

// What a web page may send and read beside what every page may (Fetch, CORS protocol).
const (
	allowedMethods = "GET, POST, DELETE"
	exposedHeaders = mcp.HeaderSession + ", " + mcp.HeaderVersionText + ", WWW-Authenticate, Retry-After, Allow"
	// preflightSeconds is how long a browser may remember the answer to a preflight.
	preflightSeconds = "600"
)

// Browsers ask in lower case.
var (
	allowedHeaders = []string{"accept", "authorization", "content-type", "traceparent", "tracestate", "baggage",
		strings.ToLower(mcp.HeaderSession), strings.ToLower(mcp.HeaderVersion), strings.ToLower(mcp.HeaderLastEvent),
		strings.ToLower(mcp.HeaderMethod), strings.ToLower(mcp.HeaderName)}
	paramHeader = strings.ToLower(mcp.HeaderParamPrefix)
)

// CORS lets pages of the origins that the Guard lets in read answers, and asks no more than that of their browsers'
// preflights. All others get no header of CORS, and what they ask for is refused as ever.
func (g *Guard) CORS(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := Header(r.Header, "Origin")
		if origin == "" || g.Check(r) != nil {
			next.ServeHTTP(w, r)
			return
		}
		header := w.Header()
		header.Set("Access-Control-Allow-Origin", origin)
		header.Add("Vary", "Origin")
		if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
			header.Set("Access-Control-Expose-Headers", exposedHeaders)
			next.ServeHTTP(w, r)
			return
		}
		header.Set("Access-Control-Allow-Methods", allowedMethods)
		if names := requestedHeaders(r); len(names) > 0 {
			header.Set("Access-Control-Allow-Headers", strings.Join(names, ", "))
		}
		header.Set("Access-Control-Max-Age", preflightSeconds)
		w.WriteHeader(http.StatusNoContent)
	})
}

// requestedHeaders are those that a preflight asks for and a page may send.
func requestedHeaders(r *http.Request) []string {
	var names []string
	for name := range strings.SplitSeq(strings.ToLower(Header(r.Header, "Access-Control-Request-Headers")), ",") {
		name = strings.TrimSpace(name)
		if slices.Contains(allowedHeaders, name) || strings.HasPrefix(name, paramHeader) && isToken(name) {
			names = append(names, name)
		}
	}
	return names
}

// isToken says whether a name is one of a header (RFC 9110, section 5.6.2).
func isToken(name string) bool {
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~") == ""
}
