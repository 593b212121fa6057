// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"strings"

	"toolgate.dev/toolgate/internal/dispatcher/limits"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/rules"
)

// MethodCallTool and MethodListTools are the two methods that a pipeline treats by themselves.
const (
	MethodCallTool  = "tools/call"
	MethodListTools = "tools/list"
)

// Request is one request of a client.
type Request struct {
	// Call is the request as policy sees it; Now is filled in by Do.
	Call policy.Call
	// Params are forwarded as they are, but for what Forwardable takes out.
	Params []byte
	// ID is the request's id as JSON, for its span.
	ID []byte
	// Caller is who asks, for limits and records.
	Caller Caller
	Trace  Trace
	// Source gives the connection. It may be nil for tools/list, which then answers from what discovery read.
	Source Source
	// Client is what the client can be asked meanwhile.
	Client Client
	// Progress receives the params of the server's progress notifications; nil wants none.
	Progress func(params []byte)
	// Owner travels with what the server asks meanwhile.
	Owner any
	// Deadline is the call's time-out, for whoever has to hold it.
	Deadline limits.Deadline
	// Cancel ends the context that Do is given, if that belongs to the request alone; nil where it does not.
	Cancel context.CancelCauseFunc
	// Cursor is that of tools/list, nil if absent.
	Cursor []byte
}

// Caller is who sends a request. Until callers are authenticated all are anonymous, and told apart by address.
type Caller struct {
	// Address is the peer's, without port.
	Address string
	// Client is what the client says of itself, for records: name and version.
	Client string
}

// name is the caller in records.
func (c Caller) name() string { return "anonymous@" + c.Address }

// Trace is the request's place in a distributed trace (W3C Trace Context): hex, Parent empty where there is none.
type Trace struct {
	ID, Parent string
	// Context is the whole traceparent that ID and Parent are from, State the tracestate where it does not stand in the
	// params, Ambient the traceparent of the HTTP request that brought this one.
	Context, State, Ambient string
	// Span is the request's own, set by Do where spans are made; Sampled says that it is one of those that are sent.
	Span    string
	Sampled bool
}

// NewTrace takes the trace of a traceparent (`00-<32 hex>-<16 hex>-<2 hex>`), or begins one where that is absent or invalid.
func NewTrace(traceparent string) Trace {
	if traceparent != "" {
		parts := strings.Split(traceparent, "-")
		if len(parts) == 4 && len(parts[0]) == 2 && isHex(parts[1], 32) && isHex(parts[2], 16) && parts[0] != "ff" {
			return Trace{ID: parts[1], Parent: parts[2], Context: traceparent}
		}
	}
	var id [16]byte
	var text [2 * len(id)]byte
	_, _ = rand.Read(id[:]) // never fails: crypto/rand ends the process instead
	hex.Encode(text[:], id[:])
	return Trace{ID: string(text[:])}
}

func isHex(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == "" && strings.Trim(s, "0") != ""
}

// Answer is what a request gets. Exactly one of Refusal, Result, Error, Input and Cancelled is set.
type Answer struct {
	// Refusal is the dispatcher's own no, or its word about a server that failed.
	Refusal *policy.Refusal
	// Result and Error are the server's, in its own bytes, or the dispatcher's for what it answers itself.
	Result []byte
	Error  *jsonrpc.Error
	// Input is a result of the type input_required: the client is asked for something, and continues in another request.
	Input []byte
	// Cancelled says that the client gave the request up.
	Cancelled bool
	// Era is that of the connection that carried the request; empty where none did.
	Era upstream.Era
}

// Describe gives the request as policy sees it. The refusal says which member of the params is missing or wrong.
func Describe(m *jsonrpc.Message) (policy.Call, *policy.Refusal) {
	call := policy.Call{Method: m.Method}
	switch m.Method {
	case MethodCallTool:
		call.Arguments = m.Param("arguments")
		call.Task = m.Param("task") != nil
		return call, member(m, "name", &call.Tool)
	case "prompts/get":
		return call, member(m, "name", &call.Name)
	case "resources/read", "resources/subscribe", "resources/unsubscribe":
		return call, member(m, "uri", &call.URI)
	default:
		return call, nil
	}
}

func member(m *jsonrpc.Message, key string, into *string) *policy.Refusal {
	value, ok := jsonrpc.String(m.Param(key))
	*into = value
	if ok && value != "" {
		return nil
	}
	return &policy.Refusal{Kind: policy.InvalidParams, Stage: policy.StageMethod, Reason: "InvalidParams", Path: "/" + key,
		Message: "The params of " + m.Method + " need " + key + ", a string that is not empty."}
}

// protocolPrefix begins the keys of _meta that MCP keeps for itself: they belong to one hop and are never forwarded.
const protocolPrefix = "io.modelcontextprotocol/"

// Forwardable gives the params without what belongs to the client's own hop: the protocol's keys in _meta, what continues a
// request (the pipeline opens that first), and the wish for a task, which a receiver that serves none must ignore (MCP
// 2025-11-25, Tasks). All other bytes stay as they are.
func Forwardable(m *jsonrpc.Message) []byte {
	var edits []jsonrpc.Edit
	if m.Method == MethodCallTool && m.Param("task") != nil {
		edits = append(edits, jsonrpc.Edit{Key: "task"})
	}
	if takesInput(m.Method) {
		for _, key := range []string{keyResponses, keyState} {
			if m.Param(key) != nil {
				edits = append(edits, jsonrpc.Edit{Key: key})
			}
		}
	}
	if meta := m.Meta(); meta != nil {
		if kept, changed := withoutProtocolKeys(meta); changed {
			edits = append(edits, jsonrpc.Edit{Key: "_meta", Raw: kept})
		}
	}
	if edits == nil {
		return m.Params
	}
	return jsonrpc.ReplaceMembers(m.Params, edits...)
}

// withoutProtocolKeys gives _meta without the protocol's keys, nil if nothing is left.
func withoutProtocolKeys(meta []byte) (kept []byte, changed bool) {
	var edits []jsonrpc.Edit
	rest := 0
	for key := range jsonrpc.Members(meta) {
		if strings.HasPrefix(key, protocolPrefix) {
			edits = append(edits, jsonrpc.Edit{Key: key})
		} else {
			rest++
		}
	}
	switch {
	case edits == nil:
		return meta, false
	case rest == 0:
		return nil, true
	}
	return jsonrpc.ReplaceMembers(meta, edits...), true
}

// ClaimedClient is clientInfo as rules and records see it. It is never proof of anything, so what cannot be read is empty.
func ClaimedClient(clientInfo []byte) (rules.ClientInfo, string) {
	if clientInfo == nil {
		return rules.ClientInfo{}, ""
	}
	var claimed map[string]any
	if err := json.Unmarshal(clientInfo, &claimed); err != nil {
		return rules.ClientInfo{}, ""
	}
	name, _ := claimed["name"].(string)
	version, _ := claimed["version"].(string)
	return rules.ClientInfo{Claimed: claimed}, strings.TrimSuffix(name+"/"+version, "/")
}
