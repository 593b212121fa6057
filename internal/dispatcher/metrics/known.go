// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

// Other stands for a method, a tool or a protocol version that is not known.
const Other = "_other"

// methods are those of the MCP revisions up to 2026-07-28; anything else would let a client invent labels.
var methods = map[string]bool{
	"initialize": true, "ping": true, "server/discover": true, "subscriptions/listen": true,
	"tools/list": true, "tools/call": true,
	"resources/list": true, "resources/read": true, "resources/templates/list": true,
	"resources/subscribe": true, "resources/unsubscribe": true,
	"prompts/list": true, "prompts/get": true, "completion/complete": true, "logging/setLevel": true,
	"sampling/createMessage": true, "elicitation/create": true, "roots/list": true,
	"tasks/get": true, "tasks/list": true, "tasks/result": true, "tasks/cancel": true, "tasks/update": true,
	"notifications/initialized": true, "notifications/cancelled": true, "notifications/progress": true,
	"notifications/message": true, "notifications/roots/list_changed": true, "notifications/tools/list_changed": true,
	"notifications/prompts/list_changed": true, "notifications/resources/list_changed": true, "notifications/resources/updated": true,
}

// versions are the revisions of MCP.
var versions = map[string]bool{"2024-11-05": true, "2025-03-26": true, "2025-06-18": true, "2025-11-25": true, "2026-07-28": true}

// codes are the JSON-RPC error codes that the specifications and this project define: JSON-RPC 2.0, MCP up to 2026-07-28, the
// SDKs' own, and docs/errors.md.
var codes = map[int64]bool{
	-32700: true, -32600: true, -32601: true, -32602: true, -32603: true,
	-32000: true, -32001: true, -32002: true, -32020: true, -32021: true, -32022: true, -32042: true,
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
