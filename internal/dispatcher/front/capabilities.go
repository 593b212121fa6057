// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"toolgate.dev/toolgate/internal/dispatcher/pipeline"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
)

var emptyObject = []byte("{}")

// clientOf reads what a client says of itself in initialize. What policy denies is taken out of its capabilities, so that
// the server does not even try; capabilities that nobody here knows stay.
func clientOf(in *incoming, features registry.Client) client {
	capabilities := in.Param("capabilities")
	if !jsonrpc.IsObject(capabilities) {
		capabilities = emptyObject
	}
	edits := []jsonrpc.Edit{{Key: "tasks"}} // task results are not policed yet
	if !features.Roots {
		edits = append(edits, jsonrpc.Edit{Key: "roots"})
	}
	if raw, ok := jsonrpc.Member(capabilities, "sampling"); ok {
		edits = append(edits, jsonrpc.Edit{Key: "sampling", Raw: sampling(raw, features)})
	}
	if raw, ok := jsonrpc.Member(capabilities, "elicitation"); ok {
		edits = append(edits, jsonrpc.Edit{Key: "elicitation", Raw: elicitation(raw, features)})
	}
	c := client{capabilities: jsonrpc.ReplaceMembers(capabilities, edits...)}
	c.claimed, c.label = pipeline.ClaimedClient(in.Param("clientInfo"))
	return c
}

// sampling gives what is left of the capability, nil for nothing.
func sampling(raw []byte, features registry.Client) []byte {
	switch {
	case !features.Sampling:
		return nil
	case !features.SamplingTools:
		return jsonrpc.ReplaceMembers(raw, jsonrpc.Edit{Key: "tools"})
	default:
		return raw
	}
}

// elicitation gives what is left of the capability, nil for nothing. An empty object means forms (MCP 2025-11-25, Elicitation).
func elicitation(raw []byte, features registry.Client) []byte {
	_, url := jsonrpc.Member(raw, "url")
	_, form := jsonrpc.Member(raw, "form")
	form = form || !url
	switch {
	case (!form || !features.ElicitationForm) && (!url || !features.ElicitationURL):
		return nil
	case !features.ElicitationForm:
		return jsonrpc.ReplaceMembers(raw, jsonrpc.Edit{Key: "form"})
	case !features.ElicitationURL:
		return jsonrpc.ReplaceMembers(raw, jsonrpc.Edit{Key: "url"})
	default:
		return raw
	}
}

// serverCapabilities are those of the server that policy exposes. The list of tools may always change: policy may.
func (h *Handler) serverCapabilities(raw []byte) []byte {
	if !jsonrpc.IsObject(raw) {
		raw = emptyObject
	}
	var expose registry.Expose
	if d := h.Pipeline.Document(); d != nil {
		expose = d.Policy.Expose
	}
	edits := []jsonrpc.Edit{{Key: "tasks"}}
	if _, ok := jsonrpc.Member(raw, "tools"); ok && expose.Tools {
		edits = append(edits, jsonrpc.Edit{Key: "tools", Raw: []byte(`{"listChanged":true}`)})
	} else {
		edits = append(edits, jsonrpc.Edit{Key: "tools"})
	}
	for _, c := range []struct {
		key     string
		exposed bool
	}{{"resources", expose.Resources}, {"prompts", expose.Prompts}, {"completions", expose.Completions}} {
		if !c.exposed {
			edits = append(edits, jsonrpc.Edit{Key: c.key})
		}
	}
	return jsonrpc.ReplaceMembers(raw, edits...)
}
