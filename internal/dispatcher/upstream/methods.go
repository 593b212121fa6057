// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

// The subscription to a resource (up to revision 2025-11-25), which a connection of revision 2026-07-28 takes as well.
const (
	MethodSubscribe   = "resources/subscribe"
	MethodUnsubscribe = "resources/unsubscribe"
)

// What a server tells of its lists, and those who subscribed to a resource of that.
const (
	ToolsChanged     = "notifications/tools/list_changed"
	PromptsChanged   = "notifications/prompts/list_changed"
	ResourcesChanged = "notifications/resources/list_changed"
	ResourceUpdated  = "notifications/resources/updated"
)
