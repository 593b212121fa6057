// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"

	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
	"toolgate.dev/toolgate/internal/schema/violation"
)

// Kind is a kind of error: one row of the table that every surface answers by.
type Kind string

// The kinds of errors.
const (
	ParseError         Kind = "ParseError"
	InvalidRequest     Kind = "InvalidRequest"
	InvalidParams      Kind = "InvalidParams"
	MethodNotFound     Kind = "MethodNotFound"
	HeaderMismatch     Kind = "HeaderMismatch"
	MissingCapability  Kind = "MissingCapability"
	UnsupportedVersion Kind = "UnsupportedProtocolVersion"
	SessionNotFound    Kind = "SessionNotFound"
	NotAllowed         Kind = "OriginOrHostNotAllowed"
	ToolNotFound       Kind = "ToolNotFoundError"
	SchemaError        Kind = "SchemaError"
	Denied             Kind = "Denied"
	NeedsConfirmation  Kind = "ConfirmationNeeded"
	RateLimited        Kind = "RateLimited"
	Unavailable        Kind = "Unavailable"
	TransportError     Kind = "TransportError"
	TimeoutError       Kind = "TimeoutError"
	SerializationError Kind = "SerializationError"
)

// row is what one kind looks like on each surface. The codes below -32768 to -32000 are JSON-RPC's and MCP's; those of
// our own lie outside that range, as revision 2026-07-28 asks. HTTP statuses are those of an MCP answer to a modern and a
// legacy client (there 404 means a dead session), and of the REST face.
type row struct {
	code                 int64
	modern, legacy, rest int
	errorType            string
}

var table = map[Kind]row{
	ParseError:         {jsonrpc.CodeParseError, 400, 400, 400, "ValidationError"},
	InvalidRequest:     {jsonrpc.CodeInvalidRequest, 400, 400, 400, "ValidationError"},
	InvalidParams:      {jsonrpc.CodeInvalidParams, 400, 200, 400, "ValidationError"},
	MethodNotFound:     {jsonrpc.CodeMethodNotFound, 404, 200, 404, "ResourceNotFound"},
	HeaderMismatch:     {mcp.CodeHeaderMismatch, 400, 400, 400, "ValidationError"},
	MissingCapability:  {mcp.CodeMissingCapability, 400, 400, 400, "ValidationError"},
	UnsupportedVersion: {mcp.CodeUnsupportedVersion, 400, 400, 400, "ValidationError"},
	SessionNotFound:    {mcp.CodeSessionNotFound, 404, 404, 404, "ResourceNotFound"},
	NotAllowed:         {jsonrpc.CodeInvalidRequest, 403, 403, 403, "PermissionError"},
	ToolNotFound:       {jsonrpc.CodeInvalidParams, 200, 200, 404, "ResourceNotFound"},
	SchemaError:        {jsonrpc.CodeInvalidParams, 200, 200, 422, "ValidationError"},
	Denied:             {-31010, 200, 200, 403, "PermissionError"},
	NeedsConfirmation:  {-31010, 200, 200, 403, "PermissionError"},
	RateLimited:        {-31011, 200, 200, 429, "ApiLimitExceeded"},
	Unavailable:        {-31011, 503, 503, 503, "ApiLimitExceeded"},
	TransportError:     {-31012, 200, 200, 502, "ToolExecutionError"},
	TimeoutError:       {-31013, 200, 200, 504, "TimeoutError"},
	SerializationError: {jsonrpc.CodeInternalError, 200, 200, 502, "ToolExecutionError"},
}

// Code is the JSON-RPC error code.
func (k Kind) Code() int64 { return table[k].code }

// HTTPModern is the HTTP status of an MCP answer to a client of revision 2026-07-28.
func (k Kind) HTTPModern() int { return table[k].modern }

// HTTPLegacy is the HTTP status of an MCP answer to a client of an earlier revision.
func (k Kind) HTTPLegacy() int { return table[k].legacy }

// HTTPREST is the HTTP status on the REST face.
func (k Kind) HTTPREST() int { return table[k].rest }

// ErrorType is the standard error type of the REST face.
func (k Kind) ErrorType() string { return table[k].errorType }

// Refusal is why a message does not pass, and what would be right. It never says how to approve itself.
type Refusal struct {
	Kind  Kind
	Stage Stage
	Tool  string
	// Rule is `<RuleSet>/<rule>` where a rule decided.
	Rule string
	// Reason is a stable word for machines: Untrusted, DefinitionChanged, Disabled, RuleRejected …
	Reason string
	// Path is an RFC 6901 pointer into the arguments.
	Path    string
	Message string
	// Violations are those of the arguments, for SchemaError.
	Violations []violation.Violation
	// Supported are the protocol versions that would be right, for UnsupportedVersion; Requested is the one that was asked for.
	Supported []string
	Requested string
	// Required are the capabilities that the client lacks, a JSON object, for MissingCapability.
	Required []byte
}

// details is the machine-readable part of a refusal: `data` of a JSON-RPC error, and the reason in a result's `_meta`.
type details struct {
	Kind       Kind                  `json:"kind"`
	Stage      Stage                 `json:"stage,omitempty"`
	Reason     string                `json:"reason,omitempty"`
	Server     string                `json:"server,omitempty"`
	Tool       string                `json:"tool,omitempty"`
	Rule       string                `json:"rule,omitempty"`
	Path       string                `json:"path,omitempty"`
	Violations []violation.Violation `json:"violations,omitempty"`
	Supported  []string              `json:"supported,omitempty"`
	Requested  string                `json:"requested,omitempty"`
	Required   json.RawMessage       `json:"requiredCapabilities,omitempty"`
	TraceID    string                `json:"traceId,omitempty"`
}

// Details is the refusal as a JSON object: kind, stage, reason, server, tool, rule, path, violations, traceId, and what else
// its kind says.
func (r *Refusal) Details(server, traceID string) []byte {
	data, err := json.Marshal(details{
		Kind: r.Kind, Stage: r.Stage, Reason: r.Reason, Server: server, Tool: r.Tool, Rule: r.Rule,
		Path: r.Path, Violations: r.Violations, Supported: r.Supported, Requested: r.Requested, Required: r.Required, TraceID: traceID,
	})
	if err != nil {
		panic("policy: encoding plain strings: " + err.Error()) // strings and slices of them always encode
	}
	return data
}

// JSONRPC is the refusal as a JSON-RPC error with its details as data.
func (r *Refusal) JSONRPC(server, traceID string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: r.Kind.Code(), Message: r.Message, Data: r.Details(server, traceID)}
}

// metaRefusal is the key in a result's _meta under which the details of a refusal stand.
const metaRefusal = "toolgate.dev/refusal"

// Result is the refusal as a tools/call result with isError, so that a model reads it and can correct itself.
func (r *Refusal) Result(server, traceID string) []byte {
	out := append([]byte(nil), `{"content":[{"type":"text","text":`...)
	out = jsonrpc.AppendString(out, r.Message)
	out = append(out, `}],"isError":true,"_meta":{"`+metaRefusal+`":`...)
	out = append(out, r.Details(server, traceID)...)
	return append(out, "}}"...)
}

// AsResult says whether the refusal of a call is told as a result with isError (true), or as a JSON-RPC error.
func (r *Refusal) AsResult(call Call) bool {
	if call.Method != mcp.MethodCallTool || call.Task {
		return false
	}
	switch r.Kind {
	case Denied, NeedsConfirmation:
		return true
	case SchemaError:
		return call.ProtocolVersion >= mcp.SinceErrorResults // revisions are dates: their order is that of their names
	case ParseError, InvalidRequest, InvalidParams, MethodNotFound, HeaderMismatch, MissingCapability, UnsupportedVersion, SessionNotFound,
		NotAllowed, ToolNotFound, RateLimited, Unavailable, TransportError, TimeoutError, SerializationError:
	}
	return false
}
