// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package violation

import (
	"strings"
	"unicode/utf8"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

// Quote writes a name as JSON, so that no control character gets through.
func Quote(s string) string {
	return value(Clip(s, MaxNameBytes))
}

// Clip shortens s to at most n bytes and an ellipsis, between characters.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// Pointer writes reference tokens as an RFC 6901 pointer.
func Pointer(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(jsonrpc.EscapeToken(t))
	}
	return b.String()
}
