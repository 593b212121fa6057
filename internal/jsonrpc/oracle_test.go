// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// decode reads a checked value with this package's own accessors, into the types that encoding/json uses with UseNumber.
func decode(raw []byte) any {
	switch {
	case IsObject(raw):
		m := map[string]any{}
		for key, value := range Members(raw) {
			m[key] = decode(value)
		}
		return m
	case IsArray(raw):
		a := []any{}
		for element := range Elements(raw) {
			a = append(a, decode(element))
		}
		return a
	case IsNull(raw):
		return nil
	}
	if s, ok := String(raw); ok {
		return s
	}
	if b, ok := Bool(raw); ok {
		return b
	}
	return json.Number(trim(raw))
}

// reference reads data with encoding/json.
func reference(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// genJSON draws the text of a strict JSON value: its object keys are distinct, its spelling is not canonical.
func genJSON(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		kinds := 6
		if depth == 0 {
			kinds = 4
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return rapid.SampledFrom([]string{"true", "false", "null"}).Draw(t, "literal")
		case 1, 2:
			return genNumber().Draw(t, "number")
		case 3:
			return spell(t, rapid.String().Draw(t, "string"))
		case 4:
			return "[" + joinJSON(t, rapid.SliceOfN(genJSON(depth-1), 0, 5).Draw(t, "elements")) + "]"
		}
		return genObject(depth).Draw(t, "object")
	})
}

func genObject(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		keys := rapid.SliceOfNDistinct(genKey(), 0, 16, rapid.ID[string]).Draw(t, "keys")
		members := make([]string, len(keys))
		for i, key := range keys {
			members[i] = spell(t, key) + genSpace(t) + ":" + genSpace(t) + genJSON(max(0, depth-1)).Draw(t, "value")
		}
		return "{" + joinJSON(t, members) + "}"
	})
}

func genKey() *rapid.Generator[string] {
	return rapid.Map(rapid.OneOf(rapid.StringMatching(`[a-d]{0,2}`), rapid.StringMatching(`[a-zA-Z_/]{1,9}`), rapid.String()),
		func(s string) string { return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "?") })
}

func genNumber() *rapid.Generator[string] {
	return rapid.StringMatching(`-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,12})?([eE][+-]?[0-9]{1,3})?`)
}

func genSpace(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", "", " ", "\n", "\r\n", "\t", "  \n "}).Draw(t, "space")
}

func joinJSON(t *rapid.T, parts []string) string {
	var b strings.Builder
	b.WriteString(genSpace(t))
	for i, part := range parts {
		if i > 0 {
			b.WriteString("," + genSpace(t))
		}
		b.WriteString(part + genSpace(t))
	}
	return b.String()
}

// spell writes s as a JSON string, with escapes where there need be none.
func spell(t *rapid.T, s string) string {
	s = strings.ToValidUTF8(s, "?")
	if rapid.Bool().Draw(t, "minimal") {
		return string(AppendString(nil, s))
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		if r >= 0x10000 {
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04X`, 0xd800+r>>10, 0xdc00+r&0x3ff)
			continue
		}
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	b.WriteByte('"')
	return b.String()
}
