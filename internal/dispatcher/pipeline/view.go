// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/dispatcher/input"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
)

// View is a catalogue as policy looks at it.
func View(c *upstream.Catalogue) policy.View { return view{c} }

type view struct{ *upstream.Catalogue }

func (v view) Lookup(name string) (catalog.Tool, error) {
	found, twice := v.Find(name)
	switch {
	case found == nil:
		return catalog.Tool{}, policy.ErrNotListed
	case twice:
		return found.Tool, policy.ErrDuplicateName // nobody knows which of them a call would reach
	}
	return found.Tool, found.Err
}

// known says whether a result is of a type that is passed on: a whole answer, or a request for input where the server's
// revision and the method have that. Tasks are not (MCP 2025-11-25, Tasks), from servers of whatever era: a client of another
// era would read its own meaning into them.
func (x *exchange) known(result []byte) bool {
	if result == nil {
		return true
	}
	if x.Call.Method == MethodCallTool {
		if task, _ := jsonrpc.Member(result, "task"); jsonrpc.IsObject(task) {
			return false
		}
	}
	switch input.TypeOf(result) {
	case input.Complete:
		return true
	case input.Required:
		return x.era == upstream.Modern && takesInput(x.Call.Method)
	default:
		return false
	}
}

// Failed says whether the result of a tool tells of a failure. Where isError is no boolean some readers take it for true and
// others for false; nobody should take such a call for one that went well.
func Failed(result []byte) bool {
	raw, ok := jsonrpc.Member(result, "isError")
	value, isBool := jsonrpc.Bool(raw)
	return ok && !jsonrpc.IsNull(raw) && (value || !isBool)
}
