// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"encoding/json"
	"math/big"
	"net/url"
	"slices"
	"strings"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

// texts are the keywords that validate nothing and only speak to people, and those that only matter through a reference.
var texts = map[string]bool{
	"title": true, "description": true, "examples": true, "example": true, "$comment": true, "deprecated": true,
	"readOnly": true, "writeOnly": true, "$schema": true, "$defs": true, "definitions": true, "$id": true, "id": true,
	"default": true,
}

// same says whether two subschemas surely have the same values: they differ in texts alone, and so does what they refer to.
func (c *comparison) same(a, b node) bool { return c.alike(a, b, nil) }

// sameHere is same but for what is among the other parts of a set anyway: $ref and allOf. A part that looks at what others
// evaluate is the same only with them.
func (c *comparison) sameHere(a, b node) bool {
	for _, keyword := range []string{"unevaluatedProperties", "unevaluatedItems"} {
		if a.has(keyword) || b.has(keyword) {
			return c.same(a, b)
		}
	}
	return c.alike(a, b, map[string]bool{"$ref": true, "allOf": true})
}

func (c *comparison) alike(a, b node, skip map[string]bool) bool {
	if c.spent() || a.doc.dialect != b.doc.dialect {
		return false
	}
	x, isObject := a.v.(map[string]any)
	y, both := b.v.(map[string]any)
	if !isObject || !both {
		return !isObject && !both && equal(a.v, b.v)
	}
	for keyword := range x {
		if _, ok := y[keyword]; !ok && !texts[keyword] && !skip[keyword] {
			return false
		}
	}
	for keyword := range y {
		if texts[keyword] || skip[keyword] {
			continue
		}
		if _, ok := x[keyword]; !ok || !c.alikeIn(keyword, a, b) {
			return false
		}
	}
	return true
}

// alikeIn compares what stands in one keyword of both.
func (c *comparison) alikeIn(keyword string, a, b node) bool {
	x, y := a.at(keyword), b.at(keyword)
	switch keyword {
	case "$ref":
		return c.alikeRef(a, b)
	case "$dynamicRef", "$recursiveRef":
		// Which subschema they reach depends on the whole.
		return equal(x.v, y.v) && equal(a.doc.root, b.doc.root)
	}
	switch positionOf(keyword, x.v) {
	case oneSchema:
		return c.alike(x, y, nil)
	case manySchemas:
		xs, ys := a.children(keyword), b.children(keyword)
		if len(xs) != len(ys) || !sameKeys(x.v, y.v) {
			return false
		}
		for i := range xs {
			if !c.alike(xs[i], ys[i], nil) {
				return false
			}
		}
		return true
	case noSchema:
	}
	// dependencies hold lists and schemas alike; what their references reach is not looked up.
	return equal(x.v, y.v) && (keyword != "dependencies" || !refers(x.v) || equal(a.doc.root, b.doc.root))
}

// refers says whether a reference stands anywhere in a value.
func refers(v any) bool { return refersTo(v, func(any) bool { return true }) }

// refersIntoTexts says whether a reference may lead to what stands in a text, which is then no mere text: one that only goes
// through a member of such a name counts as well.
func refersIntoTexts(v any) bool {
	return refersTo(v, func(target any) bool {
		ref, _ := target.(string)
		_, fragment, _ := strings.Cut(ref, "#")
		pointer, err := url.PathUnescape(fragment)
		return err != nil || slices.ContainsFunc(strings.Split(pointer, "/")[1:], func(token string) bool {
			return kindOf(jsonrpc.UnescapeToken(token)) == Patch
		})
	})
}

// refersTo says whether a reference to such a target stands anywhere in a value.
func refersTo(v any, such func(target any) bool) bool {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if (key == "$ref" || key == "$dynamicRef" || key == "$recursiveRef") && such(value) || refersTo(value, such) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(value any) bool { return refersTo(value, such) })
	}
	return false
}

func (c *comparison) alikeRef(a, b node) bool {
	x, _ := a.object()["$ref"].(string)
	y, _ := b.object()["$ref"].(string)
	to, ok := a.follow(x)
	other, followed := b.follow(y)
	if !ok || !followed {
		return x == y && equal(a.doc.root, b.doc.root)
	}
	key := "=" + to.path + "\x01" + other.path
	if c.busy[key] {
		return true // it was asked on the way here: nothing but that can tell them apart
	}
	c.busy[key] = true
	defer delete(c.busy, key)
	return c.alike(to, other, nil)
}

func sameKeys(a, b any) bool {
	x, isMap := a.(map[string]any)
	y, both := b.(map[string]any)
	if isMap != both {
		return false
	}
	for key := range x {
		if _, ok := y[key]; !ok {
			return false
		}
	}
	return len(x) == len(y)
}

// position is where subschemas stand in a keyword.
type position int

const (
	noSchema position = iota
	oneSchema
	manySchemas
)

// positionOf says it for a keyword with a value: some keywords hold a schema or a list, by dialect and by taste.
func positionOf(keyword string, v any) position {
	_, isList := v.([]any)
	switch keyword {
	case "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "not", "propertyNames", "then",
		"unevaluatedItems", "unevaluatedProperties":
		return oneSchema
	case "items":
		if isList {
			return manySchemas
		}
		return oneSchema
	case "allOf", "anyOf", "oneOf", "prefixItems", "$defs", "definitions", "dependentSchemas", "patternProperties", "properties":
		return manySchemas
	default:
		return noSchema
	}
}

// equal compares JSON values; numbers by what they are worth.
func equal(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for key, v := range x {
			w, there := y[key]
			if !there || !equal(v, w) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, equal)
	case json.Number:
		y, ok := b.(json.Number)
		return ok && (x == y || rat(x) != nil && rat(y) != nil && rat(x).Cmp(rat(y)) == 0)
	default:
		return a == b
	}
}

// rat is a number exactly; nil for what is none.
func rat(v any) *big.Rat {
	n, ok := v.(json.Number)
	if !ok {
		return nil
	}
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		return nil
	}
	return r
}
