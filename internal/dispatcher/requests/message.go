// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package requests

import (
	"encoding/json"
	"slices"
	"strings"

	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
	"toolgate.dev/toolgate/internal/rules"
)

// The members of params that continue a request (MCP 2026-07-28, Multi Round-Trip Requests).
const (
	KeyResponses = "inputResponses"
	KeyState     = "requestState"
)

// TakesInput says which requests may be answered with input_required.
func TakesInput(method string) bool {
	return slices.Contains([]string{mcp.MethodCallTool, mcp.MethodGetPrompt, mcp.MethodReadResource}, method)
}

// Describe gives the request as policy sees it. The refusal says which member of the params is missing or wrong.
func Describe(m *jsonrpc.Message) (policy.Call, *policy.Refusal) {
	call := policy.Call{Method: m.Method}
	switch m.Method {
	case mcp.MethodCallTool:
		call.Arguments = m.Param("arguments")
		call.Task = m.Param("task") != nil
		return call, member(m, "name", &call.Tool)
	case mcp.MethodGetPrompt:
		var refusal *policy.Refusal
		if call.Arguments, refusal = promptArguments(m); refusal != nil {
			return call, refusal
		}
		return call, member(m, "name", &call.Name)
	case mcp.MethodComplete:
		// It is about a prompt or a resource: whoever restricts one means what is asked of it in whatever way.
		ref := m.Param("ref")
		name, _ := jsonrpc.Member(ref, "name")
		uri, _ := jsonrpc.Member(ref, "uri")
		call.Name, _ = jsonrpc.String(name)
		call.URI, _ = jsonrpc.String(uri)
		call.Arguments = m.Params
		return call, nil
	case mcp.MethodReadResource, mcp.MethodSubscribe, mcp.MethodUnsubscribe:
		return call, member(m, "uri", &call.URI)
	default:
		if !policy.Knows(m.Method) {
			call.Arguments = m.Params // what it calls its arguments nobody here can tell
		}
		return call, nil
	}
}

// promptArguments are those of prompts/get, nil for none.
func promptArguments(m *jsonrpc.Message) ([]byte, *policy.Refusal) {
	arguments := m.Param("arguments")
	switch {
	case arguments == nil || jsonrpc.IsNull(arguments):
		return nil, nil
	case !jsonrpc.IsObject(arguments):
		return nil, &policy.Refusal{Kind: policy.InvalidParams, Stage: policy.StageMethod, Reason: "InvalidParams", Path: "/arguments",
			Message: "The arguments of " + m.Method + " must be a JSON object, or absent."}
	default:
		return arguments, nil
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

// Forwardable gives the params without what belongs to the client's own hop: the protocol's keys in _meta, what continues a
// request (the pipeline opens that first), and the wish for a task, which a receiver that serves none must ignore (MCP
// 2025-11-25, Tasks). All other bytes stay as they are.
func Forwardable(m *jsonrpc.Message) []byte {
	var edits []jsonrpc.Edit
	if m.Method == mcp.MethodCallTool && m.Param("task") != nil {
		edits = append(edits, jsonrpc.Edit{Key: "task"})
	}
	if TakesInput(m.Method) {
		for _, key := range []string{KeyResponses, KeyState} {
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
		if strings.HasPrefix(key, mcp.MetaPrefix) {
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

// Failed says whether the result of a tool tells of a failure. Where isError is no boolean some readers take it for true and
// others for false; nobody should take such a call for one that went well.
func Failed(result []byte) bool {
	raw, ok := jsonrpc.Member(result, "isError")
	value, isBool := jsonrpc.Bool(raw)
	return ok && !jsonrpc.IsNull(raw) && (value || !isBool)
}
