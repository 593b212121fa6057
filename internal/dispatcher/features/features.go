// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package features knows what servers may ask of clients: the capabilities by which clients offer it, what policy leaves
// of them (spec.clientFeatures), and the form in which a question reaches a person.
//
// It is pure: it asks nobody and moves no message. It never imports Kubernetes, the API, or the packages that do.
package features

import (
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
	"toolgate.dev/toolgate/internal/registry"
)

var emptyObject = []byte("{}")

// Strip takes out of a client's capabilities what policy denies, so that the server does not even try, and tasks, which are
// not policed yet. Capabilities that nobody here knows stay. What is no JSON object counts as none.
func Strip(capabilities []byte, allowed registry.Client) []byte {
	if !jsonrpc.IsObject(capabilities) {
		return emptyObject
	}
	edits := []jsonrpc.Edit{{Key: "tasks"}}
	if !allowed.Roots {
		edits = append(edits, jsonrpc.Edit{Key: "roots"})
	}
	if raw, ok := jsonrpc.Member(capabilities, "sampling"); ok {
		edits = append(edits, jsonrpc.Edit{Key: "sampling", Raw: sampling(raw, allowed)})
	}
	if raw, ok := jsonrpc.Member(capabilities, "elicitation"); ok {
		edits = append(edits, jsonrpc.Edit{Key: "elicitation", Raw: elicitation(raw, allowed)})
	}
	if raw, ok := jsonrpc.Member(capabilities, "extensions"); ok {
		if _, tasks := jsonrpc.Member(raw, mcp.ExtensionTasks); tasks {
			edits = append(edits, jsonrpc.Edit{Key: "extensions", Raw: jsonrpc.ReplaceMembers(raw, jsonrpc.Edit{Key: mcp.ExtensionTasks})})
		}
	}
	return jsonrpc.ReplaceMembers(capabilities, edits...)
}

// sampling gives what is left of the capability, nil for nothing.
func sampling(raw []byte, allowed registry.Client) []byte {
	switch {
	case !allowed.Sampling:
		return nil
	case !allowed.SamplingTools:
		return jsonrpc.ReplaceMembers(raw, jsonrpc.Edit{Key: "tools"})
	default:
		return raw
	}
}

// elicitation gives what is left of the capability, nil for nothing.
func elicitation(raw []byte, allowed registry.Client) []byte {
	form, url := modes(raw)
	switch {
	case (!form || !allowed.ElicitationForm) && (!url || !allowed.ElicitationURL):
		return nil
	case !allowed.ElicitationForm:
		return jsonrpc.ReplaceMembers(raw, jsonrpc.Edit{Key: "form"})
	case !allowed.ElicitationURL:
		return jsonrpc.ReplaceMembers(raw, jsonrpc.Edit{Key: "url"})
	default:
		return raw
	}
}

// modes are those of the capability elicitation. An empty object means forms (MCP 2025-11-25, Elicitation).
func modes(raw []byte) (form, url bool) {
	_, url = jsonrpc.Member(raw, "url")
	_, form = jsonrpc.Member(raw, "form")
	return form || !url, url
}

// Askable says whether capabilities offer anything at all that a server could ask for.
func Askable(capabilities []byte) bool {
	for _, name := range []string{"sampling", "elicitation", "roots"} {
		if _, ok := jsonrpc.Member(capabilities, name); ok {
			return true
		}
	}
	return false
}

// Form says whether a client can put a form before its person.
func Form(capabilities []byte) bool {
	raw, ok := jsonrpc.Member(capabilities, "elicitation")
	form, _ := modes(raw)
	return ok && form
}

// Verdict is what becomes of a question of a server.
type Verdict string

// Allowed lets the question through. Denied says that policy does not, Missing that the client did not offer it.
const (
	Allowed Verdict = "allowed"
	Denied  Verdict = "denied"
	Missing Verdict = "missing"
)

// Judge holds a question of a server to policy and to the client's capabilities. With Missing it gives the capabilities that
// the question needs, a JSON object. A method by which a server asks for nothing is denied.
func Judge(allowed registry.Client, capabilities []byte, method string, params []byte) (Verdict, []byte) {
	var wanted string
	var permitted, offered bool
	switch method {
	case mcp.MethodCreateMessage:
		permitted, offered, wanted = judgeSampling(allowed, capabilities, params)
	case mcp.MethodElicit:
		permitted, offered, wanted = judgeElicitation(allowed, capabilities, params)
	case mcp.MethodListRoots:
		_, offered = jsonrpc.Member(capabilities, "roots")
		permitted, wanted = allowed.Roots, `{"roots":{}}`
	}
	switch {
	case !permitted:
		return Denied, nil
	case !offered:
		return Missing, []byte(wanted)
	default:
		return Allowed, nil
	}
}

func judgeSampling(allowed registry.Client, capabilities, params []byte) (permitted, offered bool, wanted string) {
	raw, offered := jsonrpc.Member(capabilities, "sampling")
	_, tools := jsonrpc.Member(params, "tools")
	if !tools {
		return allowed.Sampling, offered, `{"sampling":{}}`
	}
	_, offered = jsonrpc.Member(raw, "tools")
	return allowed.Sampling && allowed.SamplingTools, offered, `{"sampling":{"tools":{}}}`
}

func judgeElicitation(allowed registry.Client, capabilities, params []byte) (permitted, offered bool, wanted string) {
	raw, offered := jsonrpc.Member(capabilities, "elicitation")
	form, url := modes(raw)
	mode, _ := jsonrpc.Member(params, "mode")
	switch name, _ := jsonrpc.String(mode); {
	case name == "url":
		return allowed.ElicitationURL, offered && url, `{"elicitation":{"url":{}}}`
	case mode == nil || name == "form":
		return allowed.ElicitationForm, offered && form, `{"elicitation":{"form":{}}}`
	default:
		return false, false, "" // a mode that nobody here knows is nobody's to allow
	}
}

// Forward gives the params of a server's question as they reach the client: with the server's name before text that a person
// will read, so that nobody takes it for the client's own, and without the wish for a task, since tasks are not served.
func Forward(server, method string, params []byte) []byte {
	var edits []jsonrpc.Edit
	if _, ok := jsonrpc.Member(params, "task"); ok {
		edits = append(edits, jsonrpc.Edit{Key: "task"})
	}
	raw, _ := jsonrpc.Member(params, "message")
	if text, ok := jsonrpc.String(raw); ok && method == mcp.MethodElicit {
		edits = append(edits, jsonrpc.Edit{Key: "message", Raw: jsonrpc.AppendString(nil, "["+server+"] "+text)})
	}
	if edits == nil {
		return params
	}
	return jsonrpc.ReplaceMembers(params, edits...)
}
