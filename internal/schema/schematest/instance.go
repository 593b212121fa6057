// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schematest makes instances from JSON Schemas, for tests of whatever validates them. It is imported by tests only.
package schematest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"toolgate.dev/toolgate/internal/schema"
	"toolgate.dev/toolgate/internal/schema/violation"
)

// attempts bounds how many combinations of alternatives Instance tries.
const attempts = 256

// Instance makes a valid instance of the schema: every required member, and no other unless it must. It gives an error
// where it finds none. The same schema always gives the same instance.
func Instance(raw []byte) ([]byte, error) {
	compiled, err := schema.Compile(raw, schema.Options{})
	if err != nil {
		return nil, fmt.Errorf("making an instance: %w", err)
	}
	doc, err := decode(raw)
	if err != nil {
		return nil, fmt.Errorf("making an instance: %w", err)
	}
	var last []violation.Violation
	for choice := range attempts {
		g := &generator{root: doc, choice: choice}
		instance, err := json.Marshal(g.value(doc, 0))
		if err != nil {
			return nil, fmt.Errorf("making an instance: %w", err)
		}
		if last = compiled.Validate(instance); last == nil {
			return instance, nil
		}
		if g.choice == choice && choice > 0 {
			break // nothing left to choose
		}
	}
	return nil, fmt.Errorf("making an instance: no attempt fits: %s", violation.Explain(last))
}

// Required lists the members that the schema's root requires, in the schema's order.
func Required(raw []byte) ([]string, error) {
	var root struct {
		Required []string `json:"required"`
	}
	if err := json.Unmarshal(raw, &root); err != nil {
		return nil, fmt.Errorf("reading the required members: %w", err)
	}
	return root.Required, nil
}

// Without gives the object without one of its members.
func Without(instance []byte, member string) ([]byte, error) {
	var obj map[string]json.RawMessage
	if err := json.Unmarshal(instance, &obj); err != nil {
		return nil, fmt.Errorf("leaving out a member: %w", err)
	}
	if _, ok := obj[member]; !ok {
		return nil, errors.New("leaving out a member: it is not there")
	}
	delete(obj, member)
	return json.Marshal(obj)
}

func decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var doc any
	if err := d.Decode(&doc); err != nil {
		return nil, err
	}
	return doc, nil
}

// merged folds $ref, allOf and one alternative of anyOf and oneOf into one flat schema.
func (g *generator) merged(v any, depth int) map[string]any {
	obj, _ := v.(map[string]any)
	flat := map[string]any{}
	for key, value := range obj {
		flat[key] = value
	}
	if depth > maxDepth {
		return flat
	}
	if ref, ok := obj["$ref"].(string); ok {
		g.fold(flat, g.resolve(ref), depth)
	}
	all, _ := obj["allOf"].([]any)
	for _, sub := range all {
		g.fold(flat, sub, depth)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if options, _ := obj[keyword].([]any); len(options) > 0 {
			g.fold(flat, options[g.pick(len(options))], depth)
		}
	}
	return flat
}

func (g *generator) fold(flat map[string]any, v any, depth int) {
	for key, value := range g.merged(v, depth+1) {
		switch have := flat[key].(type) {
		case map[string]any: // properties
			more, _ := value.(map[string]any)
			joined := map[string]any{}
			for _, members := range []map[string]any{have, more} {
				for name, sub := range members {
					joined[name] = sub
				}
			}
			flat[key] = joined
		case []any: // required
			if more, ok := value.([]any); ok && key == "required" {
				flat[key] = slices.Concat(have, more)
			}
		case nil:
			flat[key] = value
		}
	}
}
