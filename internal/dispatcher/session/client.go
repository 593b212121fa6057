// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"slices"

	"toolgate.dev/toolgate/internal/dispatcher/pipeline"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/rules"
)

// Client is what a client said of itself when its session began.
type Client struct {
	Claimed rules.ClientInfo
	// Label is its name and version, for records.
	Label string
	// Capabilities are stripped of what policy denies.
	Capabilities []byte

	info []byte // clientInfo, raw
}

// ClientOf reads what a client says of itself in initialize. What policy denies is taken out of its capabilities, so that
// the server does not even try; capabilities that nobody here knows stay.
func ClientOf(initialize *jsonrpc.Message, features registry.Client) Client {
	capabilities := initialize.Param("capabilities")
	if !jsonrpc.IsObject(capabilities) {
		capabilities = []byte("{}")
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
	c := Client{Capabilities: jsonrpc.ReplaceMembers(capabilities, edits...), info: slices.Clone(initialize.Param("clientInfo"))}
	c.Claimed, c.Label = pipeline.ClaimedClient(c.info)
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
