// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"encoding/json"
	"strings"
)

// types is a set of the types of JSON; a number is a whole one or a fraction.
type types uint8

const (
	typeNull types = 1 << iota
	typeBoolean
	typeObject
	typeArray
	typeString
	typeWhole
	typeFraction

	typeNumber = typeWhole | typeFraction
	typeAny    = typeNull | typeBoolean | typeObject | typeArray | typeString | typeNumber
)

var typeNames = []struct {
	name string
	mask types
}{
	{"null", typeNull},
	{"boolean", typeBoolean},
	{"object", typeObject},
	{"array", typeArray},
	{"string", typeString},
	{"number", typeNumber},
	{"integer", typeWhole},
}

func named(name any) types {
	for _, t := range typeNames {
		if t.name == name {
			return t.mask
		}
	}
	return 0
}

// declaredTypes are those of the type keyword; all where there is none.
func declaredTypes(v any) types {
	switch v := v.(type) {
	case string:
		return named(v)
	case []any:
		var all types
		for _, name := range v {
			all |= named(name)
		}
		return all
	default:
		return typeAny
	}
}

func typeOf(v any) types {
	switch v := v.(type) {
	case nil:
		return typeNull
	case bool:
		return typeBoolean
	case map[string]any:
		return typeObject
	case []any:
		return typeArray
	case string:
		return typeString
	case json.Number:
		if r := rat(v); r != nil && r.IsInt() {
			return typeWhole
		}
		return typeFraction
	default:
		return typeAny
	}
}

// typesOf are the types that a value of the set can have, as far as its type keywords and its listed values say.
func (c *comparison) typesOf(s set) types {
	all := typeAny
	for _, p := range s.parts {
		all &= declaredTypes(p.object()["type"])
		if values, ok := enumerated(p); ok {
			var of types
			for _, v := range values {
				of |= typeOf(v)
			}
			all &= of
		}
	}
	return all
}

// names are the words for the types of a set. Fractions alone have none, and are numbers.
func (t types) names() []string {
	var out []string
	for _, name := range typeNames {
		if t&name.mask == name.mask || name.mask == typeNumber && t&typeFraction != 0 {
			out = append(out, name.name)
			t &^= name.mask
		}
	}
	return out
}

// words are the types of a set for people.
func (t types) words() string {
	if t == typeAny {
		return "any"
	}
	if t == 0 {
		return "nothing"
	}
	return strings.Join(t.names(), " or ")
}

// types says whether the reader's type keyword takes all types of the writer.
func (c *comparison) types(a set, part node) *Change {
	v, ok := part.object()["type"]
	if !ok {
		return nil
	}
	have, want := c.typesOf(a), declaredTypes(v)
	if have&^want == 0 {
		return nil
	}
	from, to := have, want
	if c.side == Results {
		from, to = want, have
	}
	path := part.path + "/type"
	if c.side == Results && len(a.parts) > 0 {
		path = a.parts[0].path + "/type"
	}
	change := breaking(path, from.words()+" becomes "+to.words())
	return &change
}
