// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package front speaks MCP with clients, in every revision that there is: over streamable HTTP, HTTP+SSE and WebSocket.
//
// It owns the transport side of a message and its era, and is one package since each transport leads to each era. Sessions are
// kept by the package session. What may pass is for the pipeline to decide; how servers are reached is for the connections
// behind it. It never imports Kubernetes, the API or the launcher.
package front

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"toolgate.dev/toolgate/internal/dispatcher/edge"
	"toolgate.dev/toolgate/internal/dispatcher/metrics"
	"toolgate.dev/toolgate/internal/dispatcher/pipeline"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/requests"
	"toolgate.dev/toolgate/internal/dispatcher/response"
	"toolgate.dev/toolgate/internal/dispatcher/session"
	"toolgate.dev/toolgate/internal/dispatcher/stream"
	"toolgate.dev/toolgate/internal/dispatcher/subscription"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
)

// Connections give connections to the server by the ownership table of architecture.md.
type Connections interface {
	// Session gives the connection of a new session, which takes what the server sends on its own; release ends the
	// session's part in it.
	Session(ctx context.Context, hello upstream.Hello, handler upstream.Handler) (conn upstream.Conn, release func(), err error)
	// Anonymous gives the connection of one call that belongs to no session.
	Anonymous(ctx context.Context) (conn upstream.Conn, release func(), err error)
}

// Config is what a Handler needs.
type Config struct {
	Pipeline    *pipeline.Pipeline
	Connections Connections
	// Info is what the server said of itself last, false while it has said nothing.
	Info  func() (upstream.Info, bool)
	Guard *edge.Guard
	// Tag is what this replica puts behind names that it makes; HandOver hands a request over to the replica that a name
	// was made by, and reports whether it did. Nil where there are no others.
	Tag      string
	HandOver func(w http.ResponseWriter, r *http.Request, name string, gone http.HandlerFunc) bool
	Metrics  *metrics.Metrics
	Log      *slog.Logger
}

// Handler answers at /mcp. It is safe for concurrent use.
type Handler struct {
	Config
	sessions  *session.Sessions
	listeners subscription.Listeners
	channels  channels
}

// New gives a handler without sessions.
func New(c Config) *Handler {
	return &Handler{Config: c, sessions: session.New(session.Config{Pipeline: c.Pipeline, Connect: c.Connections.Session, Tag: c.Tag, Metrics: c.Metrics, Log: c.Log})}
}

// ServeHTTP answers one HTTP request of a client.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.guarded(h.serve).ServeHTTP(w, r)
}

// guarded lets in what Host and Origin allow.
func (h *Handler) guarded(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.sessions.Closed() {
			w.Header().Set("Connection", "close") // so that the client's next connection finds another replica
		}
		if refusal := h.Guard.Check(r); refusal != nil {
			h.Pipeline.RecordRefusal(requests.Caller{Address: edge.Address(r)}, "", refusal)
			h.errorHTTP(w, refusal.Kind.HTTPLegacy(), refusal)
			return
		}
		next(w, r)
	})
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost:
		h.post(w, r)
	case http.MethodGet:
		h.get(w, r)
	case http.MethodDelete:
		h.delete(w, r)
	default:
		h.notAllowed(w, r.Method, "POST, GET, DELETE")
	}
}

func (h *Handler) notAllowed(w http.ResponseWriter, method, allow string) {
	w.Header().Set("Allow", allow)
	h.refuseHTTP(w, http.StatusMethodNotAllowed, &policy.Refusal{Kind: policy.InvalidRequest, Stage: policy.StageMethod, Reason: "HTTPMethod",
		Message: "HTTP method " + method + " is not served here. Send messages with POST."})
}

// refuseHTTP answers a request that no message could be read from: a JSON-RPC error without id, under an HTTP status.
func (h *Handler) refuseHTTP(w http.ResponseWriter, status int, refusal *policy.Refusal) {
	h.Metrics.Failed(string(refusal.Kind))
	h.errorHTTP(w, status, refusal)
}

func (h *Handler) errorHTTP(w http.ResponseWriter, status int, refusal *policy.Refusal) {
	body := jsonrpc.AppendError(nil, jsonrpc.ID{}, refusal.JSONRPC(h.Pipeline.ServerName(), ""))
	response.WriteJSON(w, status, body)
}

// SessionGone answers a request whose session was held by a replica that has gone: the client then begins another.
func (h *Handler) SessionGone(w http.ResponseWriter, _ *http.Request) {
	h.refuseHTTP(w, http.StatusNotFound, sessionNotFound())
}

// get opens the stream of a session for what the server sends on its own.
func (h *Handler) get(w http.ResponseWriter, r *http.Request) {
	if edge.Header(r.Header, mcp.HeaderVersion) == mcp.Modern {
		h.notAllowed(w, r.Method, http.MethodPost)
		return
	}
	if !edge.Accept(r).EventStream {
		h.refuseHTTP(w, http.StatusNotAcceptable, &policy.Refusal{Kind: policy.InvalidRequest, Stage: policy.StageParse, Reason: "NotAcceptable",
			Message: "GET opens an event stream. Accept text/event-stream."})
		return
	}
	if s := h.sessionOf(w, r); s != nil {
		s.Enter()
		defer s.Leave()
		h.carry(s, w, r)
	}
}

// carry writes a stream of a session: its own, or the one that the client resumes, however that began (MCP 2025-11-25,
// Resumability and Redelivery).
func (h *Handler) carry(s *session.Session, w http.ResponseWriter, r *http.Request) {
	var carrier *stream.Carrier
	if lastID := edge.Header(r.Header, mcp.HeaderLastEvent); lastID == "" {
		carrier = s.Standalone()
	} else {
		var err error
		if carrier, err = s.Streams().Resume(lastID); err != nil {
			h.refuseHTTP(w, http.StatusBadRequest, &policy.Refusal{Kind: policy.InvalidRequest, Stage: policy.StageParse, Reason: "EventUnknown",
				Message: fmt.Sprintf("What followed event %q is not kept any more, or there was no such event in this session. "+
					"Send the request again if its answer is missing, and open the session's own stream without Last-Event-ID.", lastID)})
			return
		}
	}
	carrier.Run(r.Context(), w)
}

// delete ends a session.
func (h *Handler) delete(w http.ResponseWriter, r *http.Request) {
	if edge.Header(r.Header, mcp.HeaderVersion) == mcp.Modern {
		h.notAllowed(w, r.Method, http.MethodPost)
		return
	}
	if s := h.sessionOf(w, r); s != nil {
		s.End()
		w.WriteHeader(http.StatusNoContent)
	}
}

// sessionOf finds the session of a GET or DELETE, or answers why there is none.
func (h *Handler) sessionOf(w http.ResponseWriter, r *http.Request) *session.Session {
	if refusal := checkVersionHeader(r); refusal != nil {
		h.refuseHTTP(w, http.StatusBadRequest, refusal)
		return nil
	}
	id := edge.Header(r.Header, mcp.HeaderSession)
	if id == "" {
		h.refuseHTTP(w, http.StatusBadRequest, sessionMissing())
		return nil
	}
	s := h.sessions.Find(id)
	if s == nil {
		h.refuseHTTP(w, http.StatusNotFound, sessionNotFound())
	}
	return s
}

func sessionMissing() *policy.Refusal {
	return &policy.Refusal{Kind: policy.InvalidRequest, Stage: policy.StageParse, Reason: "SessionMissing",
		Message: "This needs a session: send the Mcp-Session-Id that initialize gave."}
}

func sessionNotFound() *policy.Refusal {
	return &policy.Refusal{Kind: policy.SessionNotFound, Stage: policy.StageParse, Reason: "SessionNotFound",
		Message: "Session not found: it ended, or never was. Send initialize to begin another."}
}

// Drain refuses new sessions from now on; those that there are go on.
func (h *Handler) Drain() { h.sessions.Drain() }

// ToolsChanged tells everyone that tools/list may answer otherwise now.
func (h *Handler) ToolsChanged() {
	h.sessions.Tell(jsonrpc.AppendNotification(nil, mcp.NotifyToolsChanged, nil))
	h.listeners.Tell(mcp.NotifyToolsChanged)
}

// ListChanged tells those who have no connection of their own to the server that a list of it has changed: the method is
// that of the notification.
func (h *Handler) ListChanged(method string) { h.listeners.Tell(method) }

// Listeners is how many subscriptions are open.
func (h *Handler) Listeners() int { return h.listeners.Count() }

// Close ends every session, subscription and connection.
func (h *Handler) Close() {
	h.sessions.Close()
	h.listeners.Close()
	h.channels.close()
}
