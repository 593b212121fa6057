// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package violation

import (
	"strings"
	"unicode/utf8"
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

// EscapeToken writes a reference token as RFC 6901 section 3 asks.
func EscapeToken(token string) string {
	if !strings.ContainsAny(token, "~/") {
		return token
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(token)
}

// Pointer writes reference tokens as an RFC 6901 pointer.
func Pointer(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(EscapeToken(t))
	}
	return b.String()
}
