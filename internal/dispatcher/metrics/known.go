// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
)

// Other stands for a method, a tool or a protocol version that is not known.
const Other = "_other"

// methods are those of the MCP revisions up to 2026-07-28; anything else would let a client invent labels.
var methods = map[string]bool{
	mcp.MethodInitialize: true, mcp.MethodPing: true, mcp.MethodDiscover: true, mcp.MethodListen: true,
	mcp.MethodListTools: true, mcp.MethodCallTool: true,
	mcp.MethodListResources: true, mcp.MethodReadResource: true, mcp.MethodListTemplates: true,
	mcp.MethodSubscribe: true, mcp.MethodUnsubscribe: true,
	mcp.MethodListPrompts: true, mcp.MethodGetPrompt: true, mcp.MethodComplete: true, mcp.MethodSetLogLevel: true,
	mcp.MethodCreateMessage: true, mcp.MethodElicit: true, mcp.MethodListRoots: true,
	mcp.MethodGetTask: true, mcp.MethodListTasks: true, mcp.MethodTaskResult: true, mcp.MethodCancelTask: true, mcp.MethodUpdateTask: true,
	mcp.NotifyInitialized: true, mcp.NotifyCancelled: true, mcp.NotifyProgress: true,
	mcp.NotifyLog: true, mcp.NotifyRootsChanged: true, mcp.NotifyToolsChanged: true,
	mcp.NotifyPromptsChanged: true, mcp.NotifyResourcesChanged: true, mcp.NotifyResourceUpdated: true,
}

// versions are the revisions of MCP.
var versions = func() map[string]bool {
	known := map[string]bool{}
	for _, version := range mcp.Revisions {
		known[version] = true
	}
	return known
}()

// codes are the JSON-RPC error codes that the specifications and this project define: JSON-RPC 2.0, MCP up to 2026-07-28, the
// SDKs' own, and docs/errors.md.
var codes = map[int64]bool{
	jsonrpc.CodeParseError: true, jsonrpc.CodeInvalidRequest: true, jsonrpc.CodeMethodNotFound: true, jsonrpc.CodeInvalidParams: true,
	jsonrpc.CodeInternalError: true,
	mcp.CodeHeaderMismatch:    true, mcp.CodeMissingCapability: true, mcp.CodeUnsupportedVersion: true,
	mcp.CodeResourceNotFound: true, mcp.CodeURLElicitationRequired: true,
	mcp.CodeSessionNotFound: true, mcp.CodeConnection: true,
	-31010: true, -31011: true, -31012: true, -31013: true,
}

// KnownMethod is the method where it is one of MCP, else Other.
func KnownMethod(method string) string {
	if methods[method] {
		return method
	}
	return Other
}

func knownVersion(version string) string {
	if version == "" || versions[version] {
		return version
	}
	return Other
}
