// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rest is the face of a dispatcher for callers that speak no MCP: health, tools, calls and dry runs as plain JSON.
//
// It owns the shapes of that JSON only; what may pass is for the pipeline to decide. It never imports Kubernetes, the
// API or the launcher.
package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/edge"
	"toolgate.dev/toolgate/internal/dispatcher/pipeline"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/requests"
	"toolgate.dev/toolgate/internal/registry"
)

// Health is the last probe of the server.
type Health struct {
	registry.HealthState
	// Checked is when the server was probed last; zero for never.
	Checked time.Time
}

// Config is what a Handler needs.
type Config struct {
	Pipeline *pipeline.Pipeline
	// Anonymous gives the connection of one call.
	Anonymous requests.Source
	Health    func() Health
	Guard     *edge.Guard
	Log       *slog.Logger
	Now       func() time.Time
	// ShowRules lets a dry run name every rule that it looked at: at a desk, where the caller wrote them.
	ShowRules bool
}

// Handler answers under /api/mcp/. It is safe for concurrent use.
type Handler struct {
	Config
	mux *http.ServeMux
}

// New gives the handler.
func New(c Config) *Handler {
	h := &Handler{Config: c, mux: http.NewServeMux()}
	h.mux.HandleFunc("GET /api/mcp/health", h.health)
	h.mux.HandleFunc("GET /api/mcp/tools", h.tools)
	h.mux.HandleFunc("GET /api/mcp/tools/{name}", h.tool)
	h.mux.HandleFunc("POST /api/mcp/tools/invoke", h.invoke)
	h.mux.HandleFunc("POST /api/mcp/rules/evaluate", h.evaluate)
	return h
}

// ServeHTTP answers one request, after the checks that /mcp makes too.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	refusal := h.Guard.Check(r)
	if refusal == nil {
		refusal = h.Pipeline.Admit(edge.Address(r))
	}
	if refusal != nil {
		h.reject(w, r, refusal.Kind.HTTPREST(), refusal)
		return
	}
	if _, pattern := h.mux.Handler(r); pattern == "" {
		h.unknown(w, r)
		return
	}
	h.mux.ServeHTTP(w, r)
}

// unknown answers a path, or a method on one, that is not served.
func (h *Handler) unknown(w http.ResponseWriter, r *http.Request) {
	refusal := &policy.Refusal{Kind: policy.MethodNotFound, Stage: policy.StageMethod, Reason: "UnknownPath",
		Message: fmt.Sprintf("%s %s is not served. There are GET /api/mcp/health, GET /api/mcp/tools, GET /api/mcp/tools/{name}, "+
			"POST /api/mcp/tools/invoke and POST /api/mcp/rules/evaluate.", r.Method, r.URL.Path)}
	h.reject(w, r, http.StatusNotFound, refusal)
}

// codes name the kinds of errors as callers of REST know them.
var codes = map[policy.Kind]string{
	policy.ParseError: "MCP_VALIDATION_ERROR", policy.InvalidRequest: "MCP_VALIDATION_ERROR", policy.InvalidParams: "MCP_VALIDATION_ERROR",
	policy.SchemaError: "MCP_VALIDATION_ERROR", policy.MethodNotFound: "MCP_NOT_FOUND", policy.ToolNotFound: "MCP_TOOL_NOT_FOUND",
	policy.NotAllowed: "MCP_PERMISSION_ERROR", policy.Denied: "MCP_PERMISSION_ERROR", policy.NeedsConfirmation: "MCP_CONFIRMATION_NEEDED",
	policy.RateLimited: "MCP_RATE_LIMITED", policy.Unavailable: "MCP_UNAVAILABLE", policy.TransportError: "MCP_CONNECTION_ERROR", policy.TimeoutError: "MCP_TIMEOUT_ERROR",
	policy.SerializationError: "MCP_SERIALIZATION_ERROR",
}

// errorBody is the shape of every REST error.
type errorBody struct {
	Error errorObject `json:"error"`
}

type errorObject struct {
	Code      string       `json:"code"`
	Message   string       `json:"message"`
	Details   errorDetails `json:"details"`
	TraceID   string       `json:"trace_id"`
	Timestamp string       `json:"timestamp"`
}

type errorDetails struct {
	ServerID  string `json:"server_id"`
	Endpoint  string `json:"endpoint"`
	Reason    string `json:"reason"`
	ErrorType string `json:"error_type"`
}

// reject answers what does not come as far as the pipeline, and records that.
func (h *Handler) reject(w http.ResponseWriter, r *http.Request, status int, refusal *policy.Refusal) {
	h.Pipeline.RecordRefusal(requests.Caller{Address: edge.Address(r)}, r.Method+" "+r.URL.Path, refusal)
	h.fail(w, r, status, refusal, "")
}

// fail answers with a REST error.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, status int, refusal *policy.Refusal, traceID string) {
	if traceID == "" {
		traceID = requests.NewTrace(r.Header.Get("Traceparent")).ID
	}
	h.write(w, status, errorBody{errorObject{
		Code: codes[refusal.Kind], Message: refusal.Message, TraceID: traceID, Timestamp: h.Now().UTC().Format(time.RFC3339Nano),
		Details: errorDetails{ServerID: h.Pipeline.ServerName(), Endpoint: r.URL.Path, Reason: refusal.Reason, ErrorType: refusal.Kind.ErrorType()},
	}})
}

func (h *Handler) write(w http.ResponseWriter, status int, body any) {
	var data bytes.Buffer
	encoder := json.NewEncoder(&data)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		h.Log.Error("REST answer not encoded", "err", err)
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	writeRaw(w, status, data.Bytes())
}

func writeRaw(w http.ResponseWriter, status int, data []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) //nolint:gosec // JSON under its own media type; a client that has gone needs no answer
}

// healthBody is the shape of GET /api/mcp/health.
type healthBody struct {
	ServerID       string  `json:"server_id"`
	Status         string  `json:"status"`
	LastCheck      *string `json:"last_check"`
	ResponseTimeMs *int64  `json:"response_time_ms"`
	ErrorMessage   *string `json:"error_message"`
}

func (h *Handler) health(w http.ResponseWriter, _ *http.Request) {
	health := h.Health()
	body := healthBody{ServerID: h.Pipeline.ServerName(), Status: "unknown"}
	switch health.State {
	case "Healthy":
		body.Status = "healthy"
	case "Unhealthy":
		body.Status = "unhealthy"
	}
	if !health.Checked.IsZero() {
		at := health.Checked.UTC().Format(time.RFC3339Nano)
		body.LastCheck, body.ResponseTimeMs = &at, &health.ResponseTimeMs
	}
	if health.Message != "" {
		body.ErrorMessage = &health.Message
	}
	h.write(w, http.StatusOK, body)
}
