// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// oneLine keeps a value from breaking out of its place in the text.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}

// Clip makes a text fit to be quoted in a message: short, and on one line.
func Clip(s string) string { return oneLine(Shorten(s, maxFieldBytes)) }

// Shorten cuts s to n bytes and an ellipsis, between characters.
func Shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
