// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"slices"

	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
)

// ListedTool is one tool as clients see it.
type ListedTool struct {
	Tool      catalog.Tool
	Registry  *registry.Tool
	Effective catalog.Verdict
	// Blocked says that a call would be refused by the destructive gate.
	Blocked bool
	// Definition is the server's own, with annotations that policy overrides put right and task support taken out.
	Definition []byte
}

// Listing is tools/list: the admitted tools that this connection lists with the admitted definition, sorted by name. Tools
// that the gate blocks are left out where gating.blockedTools is Hide. It never evaluates rules over arguments.
func (e *Engine) Listing(view View, trusted bool) []ListedTool {
	if !e.policy().Expose.Tools {
		return nil
	}
	listed := make([]ListedTool, 0, len(e.snapshot.Tools()))
	for _, reg := range e.snapshot.Tools() {
		seen, err := view.Lookup(reg.Name)
		if err != nil || reg.Withheld != "" || seen.TaskRequired || !reg.Admits(seen.Digest, e.policy()) {
			continue
		}
		v := e.effective(seen, reg)
		blocked := !trusted && e.gated(v) && !e.policy().Gating.Confirm
		if blocked && e.policy().Gating.HideBlocked {
			continue
		}
		listed = append(listed, ListedTool{Tool: seen, Registry: reg, Effective: v, Blocked: blocked, Definition: definition(seen, reg)})
	}
	slices.SortFunc(listed, func(a, b ListedTool) int { return cmp.Compare(a.Tool.Name, b.Tool.Name) })
	return listed
}

// definition gives the server's bytes, but for the two members that would otherwise tell clients something untrue: hints
// that people overrode, and task support, which is not served.
func definition(seen catalog.Tool, reg *registry.Tool) []byte {
	def := seen.Definition
	if reg.Hints != nil {
		annotations, ok := jsonrpc.Member(def, "annotations")
		if !ok || !jsonrpc.IsObject(annotations) {
			annotations = noArguments
		}
		annotations = jsonrpc.ReplaceMembers(annotations, overrides(reg.Hints)...)
		def = jsonrpc.ReplaceMembers(def, jsonrpc.Edit{Key: "annotations", Raw: annotations})
	}
	execution, ok := jsonrpc.Member(def, "execution")
	if !ok || !jsonrpc.IsObject(execution) {
		return def
	}
	execution = jsonrpc.ReplaceMembers(execution, jsonrpc.Edit{Key: "taskSupport"})
	return jsonrpc.ReplaceMembers(def, jsonrpc.Edit{Key: "execution", Raw: execution})
}

func overrides(h *registry.Hints) []jsonrpc.Edit {
	var set []jsonrpc.Edit
	for _, hint := range []struct {
		key   string
		value *bool
	}{
		{"readOnlyHint", h.ReadOnly},
		{"destructiveHint", h.Destructive},
		{"idempotentHint", h.Idempotent},
		{"openWorldHint", h.OpenWorld},
	} {
		switch {
		case hint.value == nil:
		case *hint.value:
			set = append(set, jsonrpc.Edit{Key: hint.key, Raw: []byte("true")})
		default:
			set = append(set, jsonrpc.Edit{Key: hint.key, Raw: []byte("false")})
		}
	}
	return set
}
