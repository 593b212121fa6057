// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wildjson makes valid JSON of the kinds that proxies have damaged: numbers that no double holds, escapes where none
// are needed, white space of every kind, characters that editors strip, long strings. The same source of randomness gives the
// same bytes. It imports nothing of ours.
package wildjson

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Generator makes values.
type Generator struct {
	Rand *rand.Rand
	// Lines lets white space hold line breaks.
	Lines bool
}

const (
	maxDepth = 5
	// One string in longEvery is long, one in hugeEvery is huge.
	longEvery, longBytes = 1_500, 64 << 10
	hugeEvery, hugeBytes = 60_000, 1 << 20
)

// Object gives an object.
func (g *Generator) Object() []byte { return g.object(nil, 0) }

// Arguments gives an object whose first member is seed.
func (g *Generator) Arguments(seed uint64) []byte {
	return g.object(fmt.Appendf(nil, `"seed"%s:%s%d`, g.space(), g.space(), seed), 0)
}

// Content gives a list of content blocks as the results of tools have it.
func (g *Generator) Content() []byte {
	dst := append([]byte("["), g.space()...)
	for i := range 1 + g.Rand.IntN(3) {
		if i > 0 {
			dst = append(append(dst, ','), g.space()...)
		}
		text := append([]byte(`"type":"text",`+g.space()+`"text":`), g.text(false)...)
		dst = append(dst, g.object(text, maxDepth-2)...)
	}
	return append(append(dst, g.space()...), ']')
}

// object gives an object that begins with a member that is given, if there is one.
func (g *Generator) object(first []byte, depth int) []byte {
	dst := append([]byte("{"), g.space()...)
	dst = append(dst, first...)
	for i := range g.Rand.IntN(6) {
		if i > 0 || first != nil {
			dst = append(append(dst, ','), g.space()...)
		}
		// The number keeps two keys from being one, and from being one but for case.
		dst = fmt.Appendf(dst, `"%d%s`, i, g.text(true)[1:])
		dst = append(append(append(dst, g.space()...), ':'), g.space()...)
		dst = append(dst, g.value(depth+1)...)
		dst = append(dst, g.space()...)
	}
	return append(dst, '}')
}

func (g *Generator) value(depth int) []byte {
	kinds := 8
	if depth >= maxDepth {
		kinds = 6
	}
	switch g.Rand.IntN(kinds) {
	case 0, 1:
		return g.text(false)
	case 2, 3:
		return []byte(g.number())
	case 4:
		return []byte([]string{"true", "false"}[g.Rand.IntN(2)])
	case 5:
		return []byte("null")
	case 6:
		return g.object(nil, depth)
	default:
		dst := append([]byte("["), g.space()...)
		for i := range g.Rand.IntN(4) {
			if i > 0 {
				dst = append(append(dst, ','), g.space()...)
			}
			dst = append(dst, g.value(depth+1)...)
		}
		return append(append(dst, g.space()...), ']')
	}
}

// space gives white space between tokens: often none, sometimes an indentation.
func (g *Generator) space() string {
	if g.Rand.IntN(4) > 0 {
		return ""
	}
	kinds := []string{" ", "\t", "  \t ", "\n", "\r\n", "\n    ", "\r", "\n\n\t"}
	if !g.Lines {
		kinds = kinds[:3]
	}
	return kinds[g.Rand.IntN(len(kinds))]
}

// numbers are those that do not survive a double, or a second writer.
var numbers = []string{
	"0", "-0", "-0.0", "1.0", "1e0", "1E+00", "9007199254740993", "-9007199254740993", "9223372036854775808", "18446744073709551616",
	"12345678901234567890", "0.1", "0.10", "1e-7", "1E400", "-1e-400", "3.141592653589793238462643383279502884197",
	"1000000000000000000000000000000000000001", "4.7", "1e5", "100000e-5",
}

func (g *Generator) number() string {
	if g.Rand.IntN(2) == 0 {
		return numbers[g.Rand.IntN(len(numbers))]
	}
	return fmt.Sprintf("%d%0*d", 1+g.Rand.IntN(9), 1+g.Rand.IntN(30), g.Rand.IntN(1_000_000))
}

const nul = `\u0000`

// pieces are what strings are put together from, as they stand between the quotes.
var pieces = []string{
	"a", "Z", "0", " ", "plain text", "/", `\/`, `\\`, `\"`, `\b\f\n\r\t`, nul, `\u001f`, `\u0041`, `\u00e9`, `\u2028`,
	`\ud83d\ude00`, `\uD834\uDD1E`, `\u005c`, `\u0022`, "\u007f", "\u00a0", "\u3000", "\u2028", "\u2029", "\ufeff", "\ufffd", "\u200b",
	"é", "e\u0301", "ß", "ſ", "\u212a", "日本語", "עברית", "\u202eabc\u202c", "\u2066x\u2069", "👩\u200d👩\u200d👧\u200d👦", "🏳️\u200d🌈", "\U0010ffff", "\ue000",
	"<script>&amp;</script>", "%00%0a", "{\\\"json\\\":true}", "data: x", "</pre>", "'", "`", "$(id)", "../..", "key:",
}

// text gives a string with its quotes. Keys have no NUL, which is refused there.
func (g *Generator) text(key bool) []byte {
	var b strings.Builder
	b.WriteByte('"')
	least := 0
	switch {
	case g.Rand.IntN(hugeEvery) == 0:
		least = hugeBytes
	case g.Rand.IntN(longEvery) == 0:
		least = longBytes
	}
	for n := g.Rand.IntN(8); n > 0 || b.Len() < least; n-- {
		if piece := g.piece(); !key || piece != nul {
			b.WriteString(piece)
		}
	}
	b.WriteByte('"')
	return []byte(b.String())
}

func (g *Generator) piece() string {
	if g.Rand.IntN(16) == 0 {
		// Any character of the first planes but the surrogates and what must be escaped.
		if r := rune(0xa0 + g.Rand.IntN(0x1ffff)); r < 0xd800 || r > 0xdfff {
			return string(r)
		}
	}
	return pieces[g.Rand.IntN(len(pieces))]
}

// OneLine gives valid JSON as framing by lines has it: CR and LF, which are white space between tokens, become spaces.
func OneLine(raw []byte) []byte {
	out := append([]byte(nil), raw...)
	for i, b := range out {
		if b == '\r' || b == '\n' {
			out[i] = ' '
		}
	}
	return out
}
