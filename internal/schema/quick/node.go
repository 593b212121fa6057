// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package quick

import (
	"math/big"
	"reflect"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// types are those that a value may have, a bit each.
type types uint8

const (
	null types = 1 << iota
	boolean
	number
	integer
	text
	array
	object

	anyType = null | boolean | number | integer | text | array | object
)

var typeNames = map[string]types{
	"null": null, "boolean": boolean, "number": number | integer, "integer": integer, "string": text, "array": array, "object": object,
}

// node is one subschema. A nil node is the one that takes anything.
type node struct {
	unknown bool // it says something that is not understood here
	types   types
	all     []*node // $ref and allOf: every one must take the value
	some    []*node // anyOf: one of them must; nil for none

	// Strings. maxLength is -1 for none.
	minLength, maxLength int
	values               map[string]bool // enum, const; nil for none
	pattern              jsonschema.Regexp

	// Numbers.
	bounded         bool
	least, greatest int64

	// Arrays and objects; the maxima are -1 for none.
	minItems, maxItems           int
	items                        *node
	members                      map[string]member
	required                     uint64 // bits of members
	minProperties, maxProperties int
	closed                       bool // no member but those that are named
	others                       *node
}

// member is a property that a schema names or requires.
type member struct {
	node *node
	bit  uint64 // of required; 0 for one that is optional
}

// understood are the fields of a compiled schema that a node takes over, and those that assert nothing. A schema in which any
// other one is set is not known, also where a later release of the library adds it.
var understood = map[string]bool{
	"DraftVersion": true, "Location": true, "ID": true, "Anchor": true, "DynamicAnchor": true, "RecursiveAnchor": true,
	"Title": true, "Description": true, "Default": true, "Comment": true, "ReadOnly": true, "WriteOnly": true, "Examples": true, "Deprecated": true,
	"Bool": true, "Ref": true, "AllOf": true, "AnyOf": true, "Types": true, "Enum": true, "Const": true,
	"MinLength": true, "MaxLength": true, "Pattern": true,
	"Minimum": true, "Maximum": true, "ExclusiveMinimum": true, "ExclusiveMaximum": true,
	"Items": true, "Items2020": true, "MinItems": true, "MaxItems": true,
	"Properties": true, "AdditionalProperties": true, "Required": true, "MinProperties": true, "MaxProperties": true,
}

// maker makes one node of each subschema.
type maker map[*jsonschema.Schema]*node

func (m maker) node(s *jsonschema.Schema) *node {
	if s == nil {
		return nil
	}
	if n, made := m[s]; made {
		return n
	}
	n := &node{types: anyType, maxLength: -1, maxItems: -1, maxProperties: -1}
	m[s] = n
	n.unknown = !onlyUnderstood(s) || !n.fill(m, s)
	return n
}

func onlyUnderstood(s *jsonschema.Schema) bool {
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() && !understood[f.Name] && !v.Field(i).IsZero() {
			return false
		}
	}
	return true
}

// fill takes the schema's keywords over, and says no where it cannot.
func (n *node) fill(m maker, s *jsonschema.Schema) bool {
	if s.Bool != nil {
		return *s.Bool
	}
	if s.Types != nil {
		n.types = 0
		for _, name := range s.Types.ToStrings() {
			n.types |= typeNames[name]
		}
	}
	if s.Ref != nil {
		n.all = append(n.all, m.node(s.Ref))
	}
	for _, sub := range s.AllOf {
		n.all = append(n.all, m.node(sub))
	}
	for _, sub := range s.AnyOf {
		n.some = append(n.some, m.node(sub))
	}
	return n.fillString(s) && n.fillNumber(s) && n.fillArray(m, s) && n.fillObject(m, s)
}

func (n *node) fillString(s *jsonschema.Schema) bool {
	setInt(&n.minLength, s.MinLength)
	setInt(&n.maxLength, s.MaxLength)
	n.pattern = s.Pattern
	switch {
	case s.Enum != nil && s.Const != nil:
		return false
	case s.Enum != nil:
		return n.fillValues(s.Enum.Values)
	case s.Const != nil:
		return n.fillValues([]any{*s.Const})
	}
	return true
}

// fillValues takes strings over. Of any other value equality is not the bytes' alone.
func (n *node) fillValues(values []any) bool {
	n.values = make(map[string]bool, len(values))
	for _, v := range values {
		s, ok := v.(string)
		if !ok {
			return false
		}
		n.values[s] = true
	}
	n.types &= text
	return true
}

// farthest bounds the bounds of numbers, so that one more or less still fits int64. No number that is read is beyond it.
const farthest = 1 << 62

func (n *node) fillNumber(s *jsonschema.Schema) bool {
	n.least, n.greatest = -farthest, farthest
	for _, bound := range []struct {
		value *big.Rat
		low   bool
		by    int64 // what makes an exclusive bound an inclusive one
	}{{s.Minimum, true, 0}, {s.ExclusiveMinimum, true, 1}, {s.Maximum, false, 0}, {s.ExclusiveMaximum, false, -1}} {
		if bound.value == nil {
			continue
		}
		value := bound.value.Num()
		if !bound.value.IsInt() || !value.IsInt64() || value.Int64() < -farthest || value.Int64() > farthest {
			return false
		}
		n.bounded = true
		if bound.low {
			n.least = max(n.least, value.Int64()+bound.by)
		} else {
			n.greatest = min(n.greatest, value.Int64()+bound.by)
		}
	}
	return true
}

func (n *node) fillArray(m maker, s *jsonschema.Schema) bool {
	setInt(&n.minItems, s.MinItems)
	setInt(&n.maxItems, s.MaxItems)
	n.items = m.node(s.Items2020)
	switch items := s.Items.(type) {
	case nil:
		return true
	case *jsonschema.Schema:
		n.items = m.node(items)
		return true
	default:
		return false
	}
}

func (n *node) fillObject(m maker, s *jsonschema.Schema) bool {
	setInt(&n.minProperties, s.MinProperties)
	setInt(&n.maxProperties, s.MaxProperties)
	switch others := s.AdditionalProperties.(type) {
	case nil:
	case bool:
		n.closed = !others
	case *jsonschema.Schema:
		n.others = m.node(others)
	default:
		return false
	}
	n.members = make(map[string]member, len(s.Properties))
	for name, sub := range s.Properties {
		n.members[name] = member{node: m.node(sub)}
	}
	if len(s.Required) > 64 {
		return false
	}
	for i, name := range s.Required {
		known, named := n.members[name]
		if !named {
			known.node = n.others
			if n.closed {
				return false // it can never be there; the validator says so better
			}
		}
		known.bit |= 1 << i
		n.required |= known.bit
		n.members[name] = known
	}
	return true
}

func setInt(into, value *int) {
	if value != nil {
		*into = *value
	}
}
