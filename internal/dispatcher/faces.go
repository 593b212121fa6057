// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"io"
	"net/http"
	"strings"

	"toolgate.dev/toolgate/internal/dispatcher/edge"
	"toolgate.dev/toolgate/internal/mcp"
)

// The paths of the faces towards clients.
const (
	pathMCP       = "/mcp"
	pathSSE       = "/sse"
	pathWebSocket = "/ws"
	pathREST      = "/api/mcp/"
)

// Handler is what clients reach: MCP at /mcp, in the transport of 2024-11-05 at /sse and where asked for over WebSocket at
// /ws, and REST under /api/mcp/.
func (d *Dispatcher) Handler() http.Handler {
	faces := map[string]http.Handler{
		pathMCP: http.HandlerFunc(d.mcp),
		pathSSE: d.fromReplicas(d.front.SSE()),
	}
	if d.opts.WebSocket {
		faces[pathWebSocket] = d.front.WebSocket()
	}
	return d.guard.CORS(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := edge.CleanPath(r.URL.Path)
		switch face := faces[path]; {
		case face != nil:
			face.ServeHTTP(w, r)
		case strings.HasPrefix(path, pathREST):
			d.rest.ServeHTTP(w, at(r, path))
		default:
			notFound(w)
		}
	}))
}

// at gives a request as if it had asked for a path. One whose path has escaped characters is left alone.
func at(r *http.Request, path string) *http.Request {
	if r.URL.Path == path || r.URL.RawPath != "" {
		return r
	}
	cleaned := r.Clone(r.Context())
	cleaned.URL.Path = path
	return cleaned
}

func notFound(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusNotFound)
	_, _ = io.WriteString(w, `{"error":"not found: MCP is at /mcp (in the transport of 2024-11-05 at /sse), REST under /api/mcp/"}`+"\n") // a client that has gone needs no answer
}

// mcp answers at /mcp, here or at the replica that holds the session.
func (d *Dispatcher) mcp(w http.ResponseWriter, r *http.Request) {
	r = d.handover.Received(r)
	if !d.handover.Pass(w, r, edge.Header(r.Header, mcp.HeaderSession), d.front.SessionGone) {
		d.front.ServeHTTP(w, r)
	}
}

// fromReplicas takes what another replica has handed over for what it is.
func (d *Dispatcher) fromReplicas(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(w, d.handover.Received(r)) })
}

// passing are the messages that are handed over to other replicas: a drain waits for them as for those that are served here.
type passing struct{ *Dispatcher }

func (p passing) Begin() bool { return p.pipeline.Flight().Begin() }
func (p passing) End()        { p.pipeline.Flight().End() }
