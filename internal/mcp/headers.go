// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/base64"
	"strings"
)

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

// A header that repeats a text which could not stand in a header as it is carries it in base64 between these (MCP 2026-07-28,
// Transports, Custom Headers from Tool Parameters).
const encodedPrefix, encodedSuffix = "=?base64?", "?="

// EncodeHeader writes a text so that it survives as the value of a header that repeats it.
func EncodeHeader(text string) string {
	plain := strings.TrimSpace(text) == text && strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) < 0
	if plain && !strings.HasPrefix(text, encodedPrefix) {
		return text
	}
	return encodedPrefix + base64.StdEncoding.EncodeToString([]byte(text)) + encodedSuffix
}

// DecodeHeader reads the value of a header that repeats a text; false where it is encoded and no base64.
func DecodeHeader(value string) (text string, ok bool) {
	encoded, begins := strings.CutPrefix(value, encodedPrefix)
	encoded, ends := strings.CutSuffix(encoded, encodedSuffix)
	if !begins || !ends {
		return value, true
	}
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	return string(decoded), err == nil
}

// TargetKey is the member of a request's params that a header repeats as HeaderName; "" where none does.
func TargetKey(method string) string {
	switch method {
	case MethodCallTool, MethodGetPrompt:
		return "name"
	case MethodReadResource:
		return "uri"
	default:
		return ""
	}
}
