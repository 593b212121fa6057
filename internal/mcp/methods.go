// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

// The requests that open a connection: up to revision 2025-11-25 (Lifecycle), and of 2026-07-28 (Discovery).
const (
	MethodInitialize = "initialize"
	MethodDiscover   = "server/discover"
)

// The requests of clients (Server Features, Utilities). Those of resources/subscribe and of the log's level are there up to
// revision 2025-11-25; MethodListen of 2026-07-28 (Subscriptions) takes the place of the former.
const (
	MethodCallTool      = "tools/call"
	MethodListTools     = "tools/list"
	MethodListResources = "resources/list"
	MethodListTemplates = "resources/templates/list"
	MethodReadResource  = "resources/read"
	MethodSubscribe     = "resources/subscribe"
	MethodUnsubscribe   = "resources/unsubscribe"
	MethodListPrompts   = "prompts/list"
	MethodGetPrompt     = "prompts/get"
	MethodComplete      = "completion/complete"
	MethodSetLogLevel   = "logging/setLevel"
	MethodListen        = "subscriptions/listen"
)

// MethodPing is what either side may ask up to revision 2025-11-25 (Ping).
const MethodPing = "ping"

// What a server asks of a client (Client Features): up to revision 2025-11-25 in requests of its own, from 2026-07-28 on in a
// result that asks for input (Multi Round-Trip Requests).
const (
	MethodCreateMessage = "sampling/createMessage"
	MethodElicit        = "elicitation/create"
	MethodListRoots     = "roots/list"
)

// The requests about tasks: of revision 2025-11-25 (Tasks), and of the extension that took their place.
const (
	MethodGetTask    = "tasks/get"
	MethodListTasks  = "tasks/list"
	MethodTaskResult = "tasks/result"
	MethodCancelTask = "tasks/cancel"
	MethodUpdateTask = "tasks/update"
)

// The notifications about requests (Base Protocol), which either side may send.
const (
	NotifyCancelled = "notifications/cancelled"
	NotifyProgress  = "notifications/progress"
)

// The notifications of clients: that initialize is done (Lifecycle), and that the roots are others (Roots).
const (
	NotifyInitialized  = "notifications/initialized"
	NotifyRootsChanged = "notifications/roots/list_changed"
)

// The notifications of servers: of their lists, to those who subscribed to a resource of that, of their log, and of an
// elicitation that went on outside of the protocol.
const (
	NotifyToolsChanged     = "notifications/tools/list_changed"
	NotifyPromptsChanged   = "notifications/prompts/list_changed"
	NotifyResourcesChanged = "notifications/resources/list_changed"
	NotifyResourceUpdated  = "notifications/resources/updated"
	NotifyLog              = "notifications/message"
	NotifyElicited         = "notifications/elicitation/complete"
)

// NotifyAcknowledged is the first message of a subscription (MCP 2026-07-28, Subscriptions).
const NotifyAcknowledged = "notifications/subscriptions/acknowledged"
