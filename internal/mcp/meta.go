// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

// MetaPrefix begins the keys of _meta that MCP keeps for itself (Base Protocol, _meta): they belong to one hop.
const MetaPrefix = "io.modelcontextprotocol/"

// The keys of _meta by which each request of revision 2026-07-28 says in which revision it is and who sends it (Base Protocol).
// The client's name may be missing.
const (
	MetaVersion      = MetaPrefix + "protocolVersion"
	MetaCapabilities = MetaPrefix + "clientCapabilities"
	MetaClientInfo   = MetaPrefix + "clientInfo"
)

// MetaServerInfo is the key by which a result of revision 2026-07-28 says who the server is (Discovery).
const MetaServerInfo = MetaPrefix + "serverInfo"

// MetaSubscription names the subscription of a message: the id of the request that opened it (MCP 2026-07-28, Subscriptions).
const MetaSubscription = MetaPrefix + "subscriptionId"

// ProgressToken is the key of a request's _meta that asks for notifications of progress, and the member of their params that
// says of what (Progress).
const ProgressToken = "progressToken"

// ExtensionTasks is the extension of revision 2026-07-28 by which a client takes tasks in place of results.
const ExtensionTasks = MetaPrefix + "tasks"
