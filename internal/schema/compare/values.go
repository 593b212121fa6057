// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"encoding/json"
	"strings"

	"toolgate.dev/toolgate/internal/schema"
)

// Bounds of what is tried value by value.
const (
	maxValues    = 1000
	maxTriedText = 8 << 20 // bytes of all schemas that values are tried on
)

// standing names one subschema of one side.
type standing struct {
	doc  *document
	path string
}

// enumerated are the values that a part lists, if it lists any.
func enumerated(p node) ([]any, bool) {
	obj := p.object()
	if v, ok := obj["const"]; ok {
		return []any{v}, true
	}
	list, ok := obj["enum"].([]any)
	return list, ok
}

// values are all values that a set can have, if they are few and known. Some of them may not be values of it after all.
func (c *comparison) values(s set) ([]any, bool) {
	for _, p := range s.parts {
		if list, ok := enumerated(p); ok && len(list) <= maxValues {
			return list, true
		}
	}
	if have := c.typesOf(s); have&^(typeNull|typeBoolean) == 0 {
		var out []any
		if have&typeNull != 0 {
			out = append(out, nil)
		}
		if have&typeBoolean != 0 {
			out = append(out, false, true)
		}
		return out, true
	}
	return nil, false
}

// listed tries the values of a finite writer one by one.
func (c *comparison) listed(a set, values []any, b set) []Change {
	var found []Change
	for _, v := range values {
		if ok, decided, _ := c.takes(a, v); decided && !ok {
			continue
		}
		ok, decided, where := c.takes(b, v)
		switch {
		case !decided:
			found = append(found, undecided(where))
		case !ok && c.side == Results:
			found = append(found, breaking(listedAt(a), show(v)+" is new"))
		case !ok:
			found = append(found, breaking(where, show(v)+" no longer fits"))
		}
		if len(found) == 8 { // enough to tell
			break
		}
	}
	return found
}

// listedAt is the keyword that lists a set's values.
func listedAt(s set) string {
	for _, p := range s.parts {
		for _, keyword := range []string{"const", "enum", "type"} {
			if p.has(keyword) {
				return p.path + "/" + keyword
			}
		}
	}
	return s.at
}

// takes tries one value on a set by the validator itself. where is the keyword that refuses it, or the part that can't be
// tried.
func (c *comparison) takes(s set, v any) (ok, decided bool, where string) {
	if s.never {
		return false, true, pathOf(s)
	}
	if len(s.lost) > 0 {
		return false, false, s.lost[0]
	}
	instance, err := json.Marshal(v)
	if err != nil {
		return false, false, pathOf(s)
	}
	for _, p := range s.parts {
		if typeAlone(p) {
			if typeOf(v)&^declaredTypes(p.object()["type"]) != 0 {
				return false, true, p.path + "/type"
			}
			continue
		}
		compiled := c.compile(p)
		if compiled == nil {
			return false, false, p.path
		}
		if vs := compiled.Validate(instance); len(vs) > 0 {
			return false, true, p.under(vs[0].SchemaPath)
		}
	}
	return true, true, ""
}

// under is where a keyword stands that a part's own validator names: the definitions are those of the whole.
func (n node) under(pointer string) string {
	if strings.HasPrefix(pointer, "/$defs/") || strings.HasPrefix(pointer, "/definitions/") {
		return n.doc.prefix + pointer
	}
	return n.path + pointer
}

// typeAlone says that a part says nothing but of which type a value is.
func typeAlone(p node) bool {
	for keyword := range p.object() {
		if keyword != "type" && keyword != "$ref" && keyword != "allOf" && !texts[keyword] {
			return false
		}
	}
	return true
}

// dialects are the names of dialects by what schema.Schema.Dialect calls them.
var dialects = map[string]string{
	"draft-04": "http://json-schema.org/draft-04/schema#",
	"draft-06": "http://json-schema.org/draft-06/schema#",
	"draft-07": "http://json-schema.org/draft-07/schema#",
	"2019-09":  "https://json-schema.org/draft/2019-09/schema",
	"2020-12":  "https://json-schema.org/draft/2020-12/schema",
}

// compile makes a part stand for itself, with the definitions that it may refer to. nil where it can't.
func (c *comparison) compile(p node) *schema.Schema {
	key := standing{p.doc, p.path}
	if known, ok := c.compiled[key]; ok {
		return known
	}
	if c.tried > maxTriedText || p.doc.rebased || p.looksBeside() {
		return nil
	}
	alone := omit(omit(p.object(), "$ref"), "allOf")
	alone["$schema"] = dialects[p.doc.dialect]
	if root, ok := p.doc.root.(map[string]any); ok {
		for _, keyword := range []string{"$defs", "definitions"} {
			delete(alone, keyword)
			if defs, ok := root[keyword]; ok {
				alone[keyword] = defs
			}
		}
	}
	var compiled *schema.Schema
	if raw, err := json.Marshal(alone); err == nil {
		c.tried += len(raw)
		if s, err := schema.Compile(raw, schema.Options{}); err == nil {
			compiled = s
		}
	}
	c.compiled[key] = compiled
	return compiled
}

// looksBeside says that what a part refuses depends on others, which were parts of the same schema.
func (n node) looksBeside() bool {
	return (n.has("unevaluatedProperties") || n.has("unevaluatedItems")) && (n.has("$ref") || n.has("allOf") || strings.Contains(n.path, mark))
}

// disjoint says that surely no value is in both sets. Unlike everything else here it takes schemas at their word: a member
// that neither declares may be there.
func (c *comparison) disjoint(a, b set, depth int) bool {
	if a.never || b.never {
		return true
	}
	both := c.typesOf(a) & c.typesOf(b)
	if both == 0 {
		return true
	}
	if c.spent() || depth > maxFlat {
		return false
	}
	if c.allRefused(a, b) || c.allRefused(b, a) {
		return true
	}
	if both == typeObject {
		for _, name := range append(required(a), required(b)...) {
			if c.disjoint(surely(a, name), surely(b, name), depth+1) {
				return true
			}
		}
	}
	return both&^typeNumber == 0 && apart(a, b)
}

// allRefused says that a has few values and b takes none of them.
func (c *comparison) allRefused(a, b set) bool {
	values, finite := c.values(a)
	if !finite {
		return false
	}
	for _, v := range values {
		if ok, decided, _ := c.takes(b, v); ok || !decided {
			return false
		}
	}
	return true
}

// apart says that the numbers of two sets do not meet.
func apart(a, b set) bool {
	for _, pair := range [][2]set{{a, b}, {b, a}} {
		for _, low := range pair[0].parts {
			for _, high := range pair[1].parts {
				from, to := lower(low), upper(high)
				if from.at == nil || to.at == nil {
					continue
				}
				if order := from.at.Cmp(to.at); order > 0 || order == 0 && (from.exclusive || to.exclusive) {
					return true
				}
			}
		}
	}
	return false
}
