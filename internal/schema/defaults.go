// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// WithDefaults gives instance with absent members filled in from `default`, top-level and nested, for the eyes of rules
// alone: it must never be forwarded. Where nothing is to fill, it gives instance itself. Instance must have been accepted
// by jsonrpc.Check and by Validate.
//
// Defaults come from properties that surely apply: through $ref and allOf, never through a branch (anyOf, oneOf, if). A
// default that does not fit its own subschema is not filled in, nor are defaults inside of a default.
func (s *Schema) WithDefaults(instance []byte) ([]byte, error) {
	if !s.defaults {
		return instance, nil
	}
	v, _, err := decode(instance)
	if err != nil {
		return nil, fmt.Errorf("filling in defaults: the value %w", err)
	}
	f := filler{}
	if v = f.fill(v, []*jsonschema.Schema{s.root}); !f.changed {
		return instance, nil
	}
	filled, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("filling in defaults: %w", err)
	}
	return filled, nil
}

// filler fills defaults into a decoded value, in place.
type filler struct{ changed bool }

// surely gives what the schemas apply to the value whatever it is.
func surely(schemas []*jsonschema.Schema) []*jsonschema.Schema {
	for i := 0; i < len(schemas); i++ { // grows while it runs
		sub := schemas[i].AllOf
		if ref := schemas[i].Ref; ref != nil {
			sub = append([]*jsonschema.Schema{ref}, sub...)
		}
		for _, s := range sub {
			if !slices.Contains(schemas, s) {
				schemas = append(schemas, s)
			}
		}
	}
	return schemas
}

func (f *filler) fill(v any, schemas []*jsonschema.Schema) any {
	schemas = surely(schemas)
	switch v := v.(type) {
	case map[string]any:
		f.fillObject(v, schemas)
	case []any:
		for i := range v {
			if below := elementSchemas(schemas, i); len(below) > 0 {
				v[i] = f.fill(v[i], below)
			}
		}
	}
	return v
}

func (f *filler) fillObject(obj map[string]any, schemas []*jsonschema.Schema) {
	below := map[string][]*jsonschema.Schema{}
	for _, s := range schemas {
		for name, sub := range s.Properties {
			below[name] = append(below[name], sub)
		}
	}
	for name, subs := range below {
		if member, present := obj[name]; present {
			obj[name] = f.fill(member, subs)
			continue
		}
		if value, ok := defaultOf(subs); ok {
			obj[name] = value
			f.changed = true
		}
	}
}

// defaultOf gives the first default, in the order of the schema's own applicators, that fits all of the subschemas.
func defaultOf(subs []*jsonschema.Schema) (any, bool) {
	for _, sub := range surely(slices.Clone(subs)) {
		if sub.Default == nil {
			continue
		}
		for _, other := range subs {
			if other.Validate(*sub.Default) != nil {
				return nil, false
			}
		}
		return *sub.Default, true
	}
	return nil, false
}

// elementSchemas gives what the schemas surely apply to the element i of an array.
func elementSchemas(schemas []*jsonschema.Schema, i int) []*jsonschema.Schema {
	var below []*jsonschema.Schema
	for _, s := range schemas {
		if sub := elementSchema(s, i); sub != nil {
			below = append(below, sub)
		}
	}
	return below
}

func elementSchema(s *jsonschema.Schema, i int) *jsonschema.Schema {
	if i < len(s.PrefixItems) {
		return s.PrefixItems[i]
	}
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		return items
	case []*jsonschema.Schema:
		if i < len(items) {
			return items[i]
		}
		sub, _ := s.AdditionalItems.(*jsonschema.Schema)
		return sub
	default:
		return s.Items2020
	}
}
