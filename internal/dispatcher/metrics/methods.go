// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

// methods are those of the MCP revisions up to 2026-07-28; anything else would let a client invent labels.
var methods = map[string]bool{
	"initialize": true, "ping": true, "server/discover": true, "subscriptions/listen": true,
	"tools/list": true, "tools/call": true,
	"resources/list": true, "resources/read": true, "resources/templates/list": true,
	"resources/subscribe": true, "resources/unsubscribe": true,
	"prompts/list": true, "prompts/get": true, "completion/complete": true, "logging/setLevel": true,
	"sampling/createMessage": true, "elicitation/create": true, "roots/list": true,
	"tasks/get": true, "tasks/list": true, "tasks/result": true, "tasks/cancel": true,
	"notifications/initialized": true, "notifications/cancelled": true, "notifications/progress": true,
	"notifications/message": true, "notifications/roots/list_changed": true, "notifications/tools/list_changed": true,
	"notifications/prompts/list_changed": true, "notifications/resources/list_changed": true, "notifications/resources/updated": true,
}

func knownMethod(method string) string {
	if methods[method] {
		return method
	}
	return Other
}
