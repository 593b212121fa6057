// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
)

var emptyObject = []byte("{}")

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
	if _, ok := jsonrpc.Member(raw, "resources"); !ok && h.Pipeline.Model.Offered() {
		edits = append(edits, jsonrpc.Edit{Key: "resources", Raw: emptyObject})
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

// withoutLogging leaves out what only one side of the revisions has.
func withoutLogging(capabilities []byte) []byte {
	return jsonrpc.ReplaceMembers(capabilities, jsonrpc.Edit{Key: "logging"})
}
