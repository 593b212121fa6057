// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/schema"
	"toolgate.dev/toolgate/internal/schema/pattern"
)

// document is one schema as JSON.
type document struct {
	root    any
	prefix  string
	dialect string
	// rebased says that a subschema has an id, so that a reference need not mean what it says.
	rebased  bool
	patterns *pattern.Engine
}

func read(raw []byte, prefix string) (*document, error) {
	compiled, err := schema.Compile(raw, schema.Options{})
	if err != nil {
		return nil, fmt.Errorf("comparing schemas: %w", err)
	}
	root, err := schema.Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("comparing schemas: %w", err)
	}
	d := &document{root: root, prefix: prefix, dialect: compiled.Dialect(), patterns: pattern.NewEngine()}
	if top, ok := root.(map[string]any); ok {
		for key, value := range top {
			d.rebased = d.rebased || key != "$id" && key != "id" && hasID(value)
		}
	}
	return d, nil
}

// hasID finds ids wherever they stand; to find one where there is none only makes the comparison more careful.
func hasID(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if _, isText := value.(string); isText && (key == "$id" || key == "id") || hasID(value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasID)
	}
	return false
}

// legacy says whether the members beside a $ref count for nothing, as up to draft-07.
func (d *document) legacy() bool { return strings.HasPrefix(d.dialect, "draft-0") }

// since says from which dialect on a keyword validates: before it, it is a member like any other.
var since = map[string]string{
	"const": "draft-06", "contains": "draft-06", "propertyNames": "draft-06",
	"if": "draft-07", "then": "draft-07", "else": "draft-07",
	"dependentRequired": "2019-09", "dependentSchemas": "2019-09", "minContains": "2019-09", "maxContains": "2019-09",
	"unevaluatedItems": "2019-09", "unevaluatedProperties": "2019-09",
	"prefixItems": "2020-12",
}

// effective leaves out what the dialect does not know.
func (d *document) effective(obj map[string]any) map[string]any {
	for keyword, first := range since {
		if _, ok := obj[keyword]; ok && age(d.dialect) < age(first) {
			obj = omit(obj, keyword)
		}
	}
	return obj
}

// age orders dialects, the oldest first.
func age(dialect string) int {
	return slices.Index([]string{"draft-04", "draft-06", "draft-07", "2019-09", "2020-12"}, dialect)
}

func (d *document) node() node { return node{doc: d, path: d.prefix, v: d.root} }
func (d *document) set() set   { return setOf(d.node()) }

// node is one subschema.
type node struct {
	doc  *document
	path string
	v    any
}

func (n node) object() map[string]any {
	obj, _ := n.v.(map[string]any)
	return obj
}

// at is what stands in a member of the subschema.
func (n node) at(tokens ...string) node {
	out := node{doc: n.doc, path: n.path, v: n.v}
	for _, token := range tokens {
		switch v := out.v.(type) {
		case map[string]any:
			out.v = v[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return node{}
			}
			out.v = v[i]
		default:
			return node{}
		}
		out.path += "/" + jsonrpc.EscapeToken(token)
	}
	return out
}

func (n node) has(keyword string) bool {
	_, ok := n.object()[keyword]
	return ok
}

// children are the subschemas in a keyword that holds a list or a map of them, in a fixed order.
func (n node) children(keyword string) []node {
	var out []node
	switch v := n.object()[keyword].(type) {
	case []any:
		for i := range v {
			out = append(out, n.at(keyword, strconv.Itoa(i)))
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out = append(out, n.at(keyword, key))
		}
	}
	return out
}

// follow gives what a $ref leads to, if that can be told from the text.
func (n node) follow(ref string) (node, bool) {
	fragment, local := strings.CutPrefix(ref, "#")
	if !local || n.doc.rebased || fragment != "" && fragment[0] != '/' {
		return node{}, false
	}
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return node{}, false
	}
	target := n.doc.node()
	if fragment != "" {
		for _, token := range strings.Split(fragment[1:], "/") {
			target = target.at(jsonrpc.UnescapeToken(token))
		}
	}
	switch target.v.(type) {
	case map[string]any, bool:
		return target, true
	default:
		return node{}, false
	}
}

// maxFlat bounds how deep $ref and allOf are followed on one value.
const maxFlat = 64

// set is a conjunction of subschemas: the values that are valid by each of them. What $ref and allOf apply to the same value
// is among the parts.
type set struct {
	// at is where the first of them stands.
	at    string
	parts []node
	// never says that it holds no value.
	never bool
	// lost are references that can't be followed.
	lost []string
}

func setOf(nodes ...node) set {
	var s set
	for _, n := range nodes {
		s.add(n, 0)
	}
	return s
}

func (s *set) add(n node, depth int) {
	if s.at == "" {
		s.at = n.path
	}
	obj, isObject := n.v.(map[string]any)
	if !isObject {
		s.never = s.never || n.v == false
		return
	}
	ref, isRef := obj["$ref"].(string)
	if isRef {
		target, ok := n.follow(ref)
		if ok && depth < maxFlat {
			s.add(target, depth+1)
		} else {
			s.lost = append(s.lost, n.path+"/$ref")
		}
		if n.doc.legacy() {
			return
		}
	}
	for _, keyword := range []string{"$dynamicRef", "$recursiveRef"} {
		if n.has(keyword) {
			s.lost = append(s.lost, n.path+"/"+keyword)
		}
	}
	n.v = n.doc.effective(obj)
	s.parts = append(s.parts, n)
	for _, sub := range n.children("allOf") {
		if depth < maxFlat {
			s.add(sub, depth+1)
		} else {
			s.lost = append(s.lost, sub.path)
		}
	}
}

// with is the set with more conditions.
func (s set) with(nodes ...node) set {
	out := set{at: s.at, parts: slices.Clone(s.parts), never: s.never, lost: slices.Clone(s.lost)}
	for _, n := range nodes {
		out.add(n, 0)
	}
	return out
}

// key names the set.
func (s set) key() string {
	paths := make([]string, 0, len(s.parts))
	for _, p := range s.parts {
		paths = append(paths, p.path)
	}
	slices.Sort(paths)
	return strings.Join(slices.Compact(paths), "\x00")
}
