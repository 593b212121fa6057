// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"toolgate.dev/toolgate/internal/dispatcher/edge"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/requests"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
)

// toolFailed is the error type of a tool that ran and failed.
const toolFailed = "ToolExecutionError"

// statusKey is the key of a result's _meta with which a server may say partial_success or no_change_needed.
const statusKey = "toolgate.dev/status"

// toolCall reads an MCPToolCall: {"tool_name", "arguments"} and nothing else. It answers where that cannot be read.
func (h *Handler) toolCall(w http.ResponseWriter, r *http.Request) (call policy.Call, ok bool) {
	limit := h.Pipeline.Limits().MaxRequestBytes
	body, problem := edge.ReadBody(w, r, limit)
	if problem != nil {
		h.reject(w, r, problem.Status, problem.Refusal)
		return policy.Call{}, false
	}
	if err := jsonrpc.Check(body, jsonrpc.Limits{MaxBytes: limit}); err != nil {
		h.invalid(w, r, policy.ParseError, err.Error())
		return policy.Call{}, false
	}
	call = policy.Call{Method: mcp.MethodCallTool, ProtocolVersion: mcp.LatestLegacy} // by whose rules wrong arguments are a result
	name, named := "", false
	for key, value := range jsonrpc.Members(body) {
		switch key {
		case "tool_name":
			name, named = jsonrpc.String(value)
		case "arguments":
			call.Arguments = value
		default:
			h.invalid(w, r, policy.InvalidRequest, "A tool call has tool_name and arguments and no other members; "+string(jsonrpc.AppendString(nil, key))+" is not one.")
			return policy.Call{}, false
		}
	}
	if !named || name == "" {
		h.invalid(w, r, policy.InvalidRequest, "A tool call is a JSON object with tool_name, a string, and arguments, an object.")
		return policy.Call{}, false
	}
	call.Tool = h.trueName(name)
	return call, true
}

func (h *Handler) invalid(w http.ResponseWriter, r *http.Request, kind policy.Kind, message string) {
	h.reject(w, r, kind.HTTPREST(), &policy.Refusal{Kind: kind, Stage: policy.StageParse, Reason: "InvalidCall", Message: message})
}

// invoke calls a tool. A caller that goes away has not cancelled the call: it may have had its effect.
func (h *Handler) invoke(w http.ResponseWriter, r *http.Request) {
	call, ok := h.toolCall(w, r)
	if !ok {
		return
	}
	params := append([]byte(`{"name":`), jsonrpc.AppendString(nil, call.Tool)...)
	if call.Arguments != nil {
		params = append(append(params, `,"arguments":`...), call.Arguments...)
	}
	request := &requests.Request{
		Call: call, Params: append(params, '}'), Source: h.Anonymous,
		Caller: requests.Caller{Address: edge.Address(r)}, Trace: requests.NewTrace(r.Header.Get("Traceparent")),
	}
	request.Trace.State = r.Header.Get("Tracestate")
	answer := h.Pipeline.Do(context.WithoutCancel(r.Context()), request)
	switch {
	case answer.Refusal != nil:
		h.refused(w, r, answer.Refusal, request.Trace.ID)
	case answer.Error != nil:
		details := strconv.AppendInt([]byte(`{"code":`), answer.Error.Code, 10)
		details = append(appendOrNull(append(details, `,"data":`...), answer.Error.Data), '}')
		writeRaw(w, http.StatusOK, failure(toolFailed, answer.Error.Message, details).encode())
	default:
		writeRaw(w, http.StatusOK, resultOf(answer.Result).encode())
	}
}

// refused tells a refusal: as a result where the caller can act on it, else as a REST error.
func (h *Handler) refused(w http.ResponseWriter, r *http.Request, refusal *policy.Refusal, traceID string) {
	switch refusal.Kind {
	case policy.SchemaError, policy.Denied, policy.NeedsConfirmation:
		details := refusal.Details(h.Pipeline.ServerName(), traceID)
		writeRaw(w, refusal.Kind.HTTPREST(), failure(refusal.Kind.ErrorType(), refusal.Message, details).encode())
		return
	case policy.ParseError, policy.InvalidRequest, policy.InvalidParams, policy.MethodNotFound, policy.HeaderMismatch, policy.MissingCapability,
		policy.UnsupportedVersion, policy.SessionNotFound, policy.NotAllowed, policy.ToolNotFound, policy.RateLimited, policy.Unavailable,
		policy.TransportError, policy.TimeoutError, policy.SerializationError:
	}
	h.fail(w, r, refusal.Kind.HTTPREST(), refusal, traceID)
}

// toolResult is an MCPToolResult. data and details are JSON in the server's own bytes, nil for null.
type toolResult struct {
	status string
	data   []byte
	// errorType is empty where there is no error.
	errorType, errorMessage string
	details                 []byte
}

func failure(errorType, message string, details []byte) toolResult {
	return toolResult{status: "failure", errorType: errorType, errorMessage: message, details: details}
}

// encode writes the result by hand: an encoder would rewrite the server's bytes.
func (t toolResult) encode() []byte {
	out := jsonrpc.AppendString([]byte(`{"status":`), t.status)
	out = appendOrNull(append(out, `,"data":`...), t.data)
	if t.errorType == "" {
		return append(out, `,"error":null,"explanation":null}`...)
	}
	out = jsonrpc.AppendString(append(out, `,"error":{"error_type":`...), t.errorType)
	out = jsonrpc.AppendString(append(out, `,"error_message":`...), t.errorMessage)
	out = appendOrNull(append(out, `,"error_details":`...), t.details)
	out = jsonrpc.AppendString(append(out, `},"explanation":`...), t.errorMessage)
	return append(out, '}')
}

func appendOrNull(out, raw []byte) []byte {
	if raw == nil {
		return append(out, "null"...)
	}
	return append(out, raw...)
}

// resultOf turns the result of tools/call into an MCPToolResult.
func resultOf(result []byte) toolResult {
	content, _ := jsonrpc.Member(result, "content")
	structured, _ := jsonrpc.Member(result, "structuredContent")
	if requests.Failed(result) {
		return failure(toolFailed, texts(content), plainData(content, structured))
	}
	data := plainData(content, structured)
	if jsonrpc.IsObject(structured) {
		data = structured
	}
	return toolResult{status: saidStatus(result), data: data}
}

// plainData is {content, structuredContent?}.
func plainData(content, structured []byte) []byte {
	if content == nil {
		content = []byte("[]")
	}
	data := append([]byte(`{"content":`), content...)
	if structured != nil {
		data = append(append(data, `,"structuredContent":`...), structured...)
	}
	return append(data, '}')
}

// texts joins the texts of a result's content.
func texts(content []byte) string {
	var all []string
	for item := range jsonrpc.Elements(content) {
		raw, _ := jsonrpc.Member(item, "text")
		if text, ok := jsonrpc.String(raw); ok {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n")
}

// saidStatus is success unless the server itself says one of the two other words.
func saidStatus(result []byte) string {
	meta, _ := jsonrpc.Member(result, "_meta")
	raw, _ := jsonrpc.Member(meta, statusKey)
	switch said, _ := jsonrpc.String(raw); said {
	case "partial_success", "no_change_needed":
		return said
	default:
		return "success"
	}
}
