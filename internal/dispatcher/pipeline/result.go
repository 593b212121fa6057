// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"toolgate.dev/toolgate/internal/dispatcher/input"
	"toolgate.dev/toolgate/internal/dispatcher/requests"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
)

// known says whether a result is of a type that is passed on: a whole answer, or a request for input where the server's
// revision and the method have that. Tasks are not (MCP 2025-11-25, Tasks), from servers of whatever era: a client of another
// era would read its own meaning into them.
func (x *exchange) known(result []byte) bool {
	if result == nil {
		return true
	}
	if x.Call.Method == mcp.MethodCallTool {
		if task, _ := jsonrpc.Member(result, "task"); jsonrpc.IsObject(task) {
			return false
		}
	}
	switch input.TypeOf(result) {
	case input.Complete:
		return true
	case input.Required:
		return x.era == upstream.Modern && requests.TakesInput(x.Call.Method)
	default:
		return false
	}
}
