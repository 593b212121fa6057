// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package compare_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/schema"
	"toolgate.dev/toolgate/internal/schema/compare"
	"toolgate.dev/toolgate/internal/schema/violation"
)

// maker makes schemas, changes of schemas, and values of schemas.
type maker struct{ *rand.Rand }

func (m maker) one(of ...any) any { return of[m.IntN(len(of))] }
func (m maker) chance(n int) bool { return m.IntN(n) == 0 }
func (m maker) name() string      { return string("abxy"[m.IntN(4)]) }

type members = map[string]any

// schema makes one with a few keywords.
func (m maker) schema(depth int) any {
	s := members{}
	switch kind := m.IntN(8); {
	case kind == 0 && depth > 0:
		s[m.one("anyOf", "oneOf", "allOf").(string)] = []any{m.schema(depth - 1), m.schema(depth - 1)}
	case kind == 1:
		s["enum"] = []any{m.scalar(), m.scalar()}
	case kind == 2 && depth > 0:
		s["type"] = "array"
		m.some(s, "items", func() any { return m.schema(depth - 1) })
		m.some(s, "prefixItems", func() any { return []any{m.schema(depth - 1)} })
		m.some(s, "maxItems", func() any { return m.IntN(4) })
		m.some(s, "minItems", func() any { return m.IntN(3) })
		m.some(s, "uniqueItems", func() any { return true })
	case kind < 5 && depth > 0:
		m.object(s, depth)
	default:
		s["type"] = m.one("string", "integer", "number", "boolean", "null", []any{"string", "null"})
		for range m.IntN(3) {
			m.limit(s)
		}
	}
	if m.chance(6) {
		m.limit(s)
	}
	if m.chance(12) && depth > 0 {
		s["not"] = m.schema(0)
	}
	if m.chance(15) && depth > 0 {
		s["if"], s["then"], s["else"] = m.schema(0), m.schema(0), m.schema(0)
	}
	if m.chance(20) {
		return members{"$ref": "#/$defs/D"}
	}
	return s
}

func (m maker) some(s members, keyword string, value func() any) {
	if m.chance(2) {
		s[keyword] = value()
	}
}

func (m maker) object(s members, depth int) {
	s["type"] = "object"
	properties := members{}
	for range m.IntN(4) {
		properties[m.name()] = m.schema(depth - 1)
	}
	s["properties"] = properties
	m.some(s, "required", func() any { return []any{m.name()} })
	if m.chance(3) {
		s["additionalProperties"] = m.one(false, m.schema(0))
	}
	if m.chance(5) {
		s["patternProperties"] = members{"^x": m.schema(depth - 1)}
	}
	if m.chance(6) {
		s["propertyNames"] = members{"maxLength": m.IntN(3)}
	}
	if m.chance(6) {
		s["dependentRequired"] = members{m.name(): []any{m.name()}}
	}
	if m.chance(6) {
		s["dependentSchemas"] = members{m.name(): m.schema(0)}
	}
	if m.chance(8) {
		s["unevaluatedProperties"] = false
	}
}

func (m maker) limit(s members) {
	keyword := m.one("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "multipleOf", "pattern",
		"minProperties", "maxProperties", "minItems", "maxItems").(string)
	switch keyword {
	case "pattern":
		s[keyword] = m.one("^a", "b$", ".")
	case "multipleOf":
		s[keyword] = m.one(1, 2, 4, 0.5)
	default:
		s[keyword] = m.IntN(4)
	}
}

func (m maker) scalar() any { return m.one("a", "ab", "b", "", 0, 1, 2, 1.5, 4, true, false, nil) }

// edit changes one thing somewhere.
func (m maker) edit(v any, depth int) any {
	s, ok := v.(members)
	if !ok || depth == 0 || m.chance(6) {
		return m.schema(1)
	}
	out := maps.Clone(s)
	keywords := slices.Sorted(maps.Keys(out))
	if len(keywords) == 0 || m.chance(4) {
		m.limit(out)
		return out
	}
	keyword := keywords[m.IntN(len(keywords))]
	switch v := out[keyword].(type) {
	case members:
		switch {
		case keyword == "properties" || keyword == "patternProperties" || keyword == "$defs":
			members := maps.Clone(v)
			name := m.name()
			if keyword != "properties" {
				for name = range members {
					break
				}
			}
			members[name] = m.edit(members[name], depth-1)
			out[keyword] = members
		case strings.HasPrefix(keyword, "dependent"):
			delete(out, keyword)
		default:
			out[keyword] = m.edit(v, depth-1)
		}
	case []any:
		if keyword == "anyOf" || keyword == "oneOf" || keyword == "allOf" {
			list := slices.Clone(v)
			if m.chance(2) {
				list = append(list, m.schema(depth-1))
			} else {
				list[0] = m.edit(list[0], depth-1)
			}
			out[keyword] = list
		} else {
			delete(out, keyword)
		}
	case int:
		out[keyword] = max(v+m.IntN(3)-1, 0)
	default:
		delete(out, keyword)
	}
	return out
}

// value makes something that may be valid: of declared members alone, with names and values near every limit.
func (m maker) value(root members, v any, depth int) any {
	s, _ := v.(members)
	if depth > 6 || s == nil {
		return m.scalar()
	}
	if s["$ref"] != nil {
		return m.value(root, root["$defs"].(members)["D"], depth+1)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if list, ok := s[keyword].([]any); ok {
			return m.value(root, list[m.IntN(len(list))], depth+1)
		}
	}
	if list, ok := s["allOf"].([]any); ok {
		first := m.value(root, list[0], depth+1)
		for _, other := range list[1:] {
			if a, ok := first.(members); ok {
				if b, ok := m.value(root, other, depth+1).(members); ok {
					maps.Copy(a, b)
				}
			}
		}
		return first
	}
	if list, ok := s["enum"].([]any); ok {
		return list[m.IntN(len(list))]
	}
	switch s["type"] {
	case "object":
		return m.filled(root, s, depth)
	case "array":
		out := []any{}
		prefix, _ := s["prefixItems"].([]any)
		for i := range m.IntN(4) {
			item := s["items"]
			if i < len(prefix) {
				item = prefix[i]
			}
			out = append(out, m.value(root, item, depth+1))
		}
		return out
	default:
		return m.scalar()
	}
}

func (m maker) filled(root, s members, depth int) any {
	out := members{}
	properties, _ := s["properties"].(members)
	for name, sub := range properties {
		if m.chance(2) {
			out[name] = m.value(root, sub, depth+1)
		}
	}
	if patterns, ok := s["patternProperties"].(members); ok && m.chance(2) {
		if _, declared := properties["xq"]; !declared {
			out["xq"] = m.value(root, patterns["^x"], depth+1)
		}
	}
	if rest, ok := s["additionalProperties"].(members); ok && m.chance(2) && len(rest) > 0 {
		for _, name := range []string{"a", "q"} {
			if _, declared := properties[name]; !declared {
				out[name] = m.value(root, rest, depth+1)
			}
		}
	}
	if required, ok := s["required"].([]any); ok {
		name := required[0].(string)
		if _, there := out[name]; !there && properties[name] != nil {
			out[name] = m.value(root, properties[name], depth+1)
		}
	}
	return out
}

// whole gives a schema a root and a definition.
func (m maker) whole(properties, def any) members {
	root := members{}
	m.object(root, 2)
	root["properties"] = properties
	root["$defs"] = members{"D": def}
	return root
}

// TestWhatIsNotBreakingBreaksNothing makes pairs of schemas; where a comparison says that nothing breaks, every value that
// was valid must be valid, by the validator that calls are held to.
func TestWhatIsNotBreakingBreaksNothing(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(1, 2))}
	pairs, fine, tried := 0, 0, 0
	for range 400 {
		before := m.whole(members{"a": m.schema(2), "b": m.schema(1)}, m.schema(0))
		after := m.edit(before, 4).(members)
		if after["$defs"] == nil {
			after["$defs"] = before["$defs"]
		}
		after["type"] = "object"
		old, now := text(t, before), text(t, after)
		is, err := schema.Compile(now, schema.Options{})
		was, oldErr := schema.Compile(old, schema.Options{})
		if err != nil || oldErr != nil {
			continue
		}
		pairs++
		for _, side := range []struct {
			side           compare.Side
			from           members
			accepts, takes *schema.Schema
		}{{compare.Arguments, before, was, is}, {compare.Results, after, is, was}} {
			if compare.Worst(compare.Schemas(old, now, side.side, "")) == compare.Breaking {
				continue
			}
			fine++
			for range 12 {
				value := text(t, m.value(side.from, side.from, 0))
				if side.accepts.Validate(value) != nil {
					continue
				}
				tried++
				if vs := side.takes.Validate(value); vs != nil {
					t.Fatalf("%s: from\n%s\nto\n%s\nis %v, and %s no longer fits: %s", side.side, old, now,
						compare.Schemas(old, now, side.side, ""), value, violation.Explain(vs))
				}
			}
		}
	}
	t.Logf("%d pairs, %d not breaking, %d values", pairs, fine, tried)
	if fine < pairs/5 || tried < 1000 {
		t.Errorf("of %d pairs only %d are not breaking, with %d values: this shows little", pairs, fine, tried)
	}
}

func text(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(fmt.Errorf("writing a value: %w", err))
	}
	return data
}
