// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

// The headers of streamable HTTP (Transports) in Go's canonical form, which is how a server is sent them. HeaderLastEvent is
// that of event streams in general (HTML, Server-sent events).
const (
	HeaderSession   = "Mcp-Session-Id"
	HeaderVersion   = "Mcp-Protocol-Version"
	HeaderLastEvent = "Last-Event-Id"
)

// HeaderVersionText is HeaderVersion as the specification spells it, for what people and browsers read.
const HeaderVersionText = "MCP-Protocol-Version"

// The headers that repeat what the body of a request says (MCP 2026-07-28, Transports, Standard Headers): its method, and the
// name of what is called or got, or the URI of what is read.
const (
	HeaderMethod = "Mcp-Method"
	HeaderName   = "Mcp-Name"
)

// HeaderParamPrefix begins the headers that repeat arguments, and KeyParamHeader is the member of a property's schema that asks
// for one and names it (MCP 2026-07-28, Transports, Custom Headers from Tool Parameters).
const (
	HeaderParamPrefix = "Mcp-Param-"
	KeyParamHeader    = "x-mcp-header"
)
