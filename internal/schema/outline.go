// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

// Where subschemas stand, over all dialects that are read.
var (
	oneSchema = []string{
		"additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
		"propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
	}
	listOfSchemas = []string{"allOf", "anyOf", "items", "oneOf", "prefixItems"}
	mapOfSchemas  = []string{"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
	countKeywords = []string{
		"maxContains", "maxItems", "maxLength", "maxProperties", "minContains", "minItems", "minLength", "minProperties",
	}
	refKeywords = []string{"$dynamicRef", "$recursiveRef", "$ref"}
)

// maxDynamicAnchors bounds the subschemas that a dynamic reference may reach: each such reference counts as one to all.
const maxDynamicAnchors = 64

// outline is what a first walk over a schema's text finds: enough to choose the dialect, and to say where a reference
// stands that the compiler can't resolve.
type outline struct {
	subschemas     int
	draft07        bool         // uses a keyword or a form that 2020-12 gave up
	draft04        bool         // has a boolean exclusiveMinimum or exclusiveMaximum
	refs           []schemaText // every reference
	dialects       []schemaText // every $schema
	dynamicAnchors []string     // pointers to the subschemas that a dynamic reference may reach
}

// schemaText is a string in the schema, and the pointer to it.
type schemaText struct{ path, text string }

// outlineOf walks every subschema, in a fixed order.
func outlineOf(doc any) (*outline, *CompileError) {
	o := &outline{}
	if err := o.walk("", doc); err != nil {
		return nil, err
	}
	return o, nil
}

func (o *outline) walk(path string, v any) *CompileError {
	obj, isObject := v.(map[string]any)
	if _, isBool := v.(bool); isBool || isObject {
		o.subschemas++
	}
	if o.subschemas > MaxSubschemas {
		return &CompileError{Path: path, Reason: ReasonTooMany, Message: fmt.Sprintf("has more than %d subschemas", MaxSubschemas)}
	}
	if !isObject {
		return nil
	}
	if err := checkCounts(path, obj); err != nil {
		return err
	}
	if o.note(path, obj); len(o.dynamicAnchors) > maxDynamicAnchors {
		return &CompileError{Path: path, Reason: ReasonTooComplex, Message: fmt.Sprintf(
			"is one of more than %d targets of dynamic references", maxDynamicAnchors)}
	}
	return o.descend(path, obj)
}

func (o *outline) note(path string, obj map[string]any) {
	for _, kw := range refKeywords {
		if ref, ok := obj[kw].(string); ok {
			o.refs = append(o.refs, schemaText{path + "/" + kw, ref})
		}
	}
	if dialect, ok := obj["$schema"].(string); ok {
		o.dialects = append(o.dialects, schemaText{path + "/$schema", dialect})
	}
	_, anchored := obj["$dynamicAnchor"].(string)
	if recursive, _ := obj["$recursiveAnchor"].(bool); recursive || anchored {
		o.dynamicAnchors = append(o.dynamicAnchors, path)
	}
	_, hasItemsList := obj["items"].([]any)
	o.draft07 = o.draft07 || hasItemsList || obj["additionalItems"] != nil || obj["dependencies"] != nil
	_, boolMin := obj["exclusiveMinimum"].(bool)
	_, boolMax := obj["exclusiveMaximum"].(bool)
	o.draft04 = o.draft04 || boolMin || boolMax
}

func (o *outline) descend(path string, obj map[string]any) *CompileError {
	for _, kw := range oneSchema {
		if err := o.walk(path+"/"+kw, obj[kw]); err != nil {
			return err
		}
	}
	for _, kw := range listOfSchemas {
		list, _ := obj[kw].([]any)
		for i, sub := range list {
			if err := o.walk(path+"/"+kw+"/"+strconv.Itoa(i), sub); err != nil {
				return err
			}
		}
	}
	for _, kw := range mapOfSchemas {
		members, _ := obj[kw].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if err := o.walk(path+"/"+kw+"/"+jsonrpc.EscapeToken(name), members[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkCounts refuses counts that do not fit the validator's int, which would wrap silently.
func checkCounts(path string, obj map[string]any) *CompileError {
	for _, kw := range countKeywords {
		n, isNumber := obj[kw].(json.Number)
		if !isNumber {
			continue // absent, or the metaschema says what is wrong
		}
		if r, ok := new(big.Rat).SetString(n.String()); ok && r.IsInt() && !r.Num().IsInt64() {
			return &CompileError{Path: path + "/" + kw, Reason: ReasonNumber, Message: "must be at most 9223372036854775807"}
		}
	}
	return nil
}

// findRef finds the reference that leads to url: the compiler tells the resolved URL alone. It gives url itself, without a
// place, where none is found.
func (o *outline) findRef(url string) schemaText {
	base, _, _ := strings.Cut(url, "#")
	best := schemaText{text: url}
	for _, ref := range o.refs {
		if ref.text == url {
			return ref
		}
		text, fragment, hasFragment := strings.Cut(ref.text, "#")
		sameFragment := hasFragment && strings.HasSuffix(url, "#"+fragment)
		if best.path == "" && (text != "" && strings.HasSuffix(base, text) || text == "" && sameFragment) {
			best = ref
		}
	}
	return best
}
