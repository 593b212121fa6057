// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"slices"
	"strconv"
)

// gone says of a member that it is declared no more.
const gone = "is gone"

// applied are all subschemas that a node may apply to the same value: its alternatives and conditions too.
func applied(nodes []node) []node {
	seen := map[string]bool{}
	var out []node
	for queue := slices.Clone(nodes); len(queue) > 0 && len(out) < maxSteps; {
		n := queue[0]
		queue = queue[1:]
		if n.object() == nil || seen[n.path] {
			continue
		}
		seen[n.path] = true
		out = append(out, n)
		if ref, ok := n.object()["$ref"].(string); ok {
			if target, ok := n.follow(ref); ok {
				queue = append(queue, target)
			}
			if n.doc.legacy() {
				continue
			}
		}
		queue = append(queue, n.children("allOf")...)
		queue = append(queue, n.conditional()...)
	}
	return out
}

// conditional are the subschemas that a node applies to some of its values: its alternatives and conditions.
func (n node) conditional() []node {
	var out []node
	for _, keyword := range []string{"anyOf", "oneOf", "dependentSchemas", "dependencies"} {
		out = append(out, n.children(keyword)...)
	}
	for _, keyword := range []string{"if", "then", "else"} {
		if n.has(keyword) {
			out = append(out, n.at(keyword))
		}
	}
	return out
}

// conditional are all subschemas that a set applies to some of its values. They are no parts of it, and those that it is
// taken apart by are parts by then.
func (s set) conditional() []node {
	var out []node
	for _, p := range s.parts {
		out = append(out, p.conditional()...)
	}
	return applied(out)
}

// removed tells members that are declared no more, wherever they stood: to send or read them has no meaning now, even
// where nothing refuses them.
func (c *comparison) removed(before, after *document) []Change {
	return c.gone([]node{before.node()}, []node{after.node()}, map[string]bool{})
}

func (c *comparison) gone(before, after []node, seen map[string]bool) []Change {
	key := set{parts: before}.key() + "\x01" + set{parts: after}.key()
	if seen[key] || c.spent() {
		return nil // within tells that there were too many steps
	}
	seen[key] = true
	before, after = applied(before), applied(after)
	var found []Change
	for _, name := range (set{parts: before}).properties() {
		from, to := described(before, name), described(after, name)
		if len(to) == 0 {
			found = append(found, breaking(from[0].path, gone))
			continue
		}
		found = append(found, c.gone(from, to, seen)...)
	}
	return append(found, c.goneBelow(before, after, seen)...)
}

// goneBelow goes on below items and members that have no names of their own.
func (c *comparison) goneBelow(before, after []node, seen map[string]bool) []Change {
	from, to := unnamed(before), unnamed(after)
	if len(from) == 0 || len(to) == 0 {
		return nil // what is no array or map any more has another type, or is described less
	}
	return c.gone(from, to, seen)
}

// described is what stands for a member of that name.
func described(nodes []node, name string) []node {
	var out []node
	for _, n := range nodes {
		if hasKey(n, "properties", name) {
			out = append(out, n.at("properties", name))
			continue
		}
		for _, pattern := range keys(n, "patternProperties") {
			if yes, decided := n.doc.matches(pattern, name); yes && decided {
				out = append(out, n.at("patternProperties", pattern))
			}
		}
		if rest := n.at("additionalProperties"); n.has("additionalProperties") && rest.object() != nil && !emptySchema(rest.v) {
			out = append(out, rest)
		}
	}
	return out
}

func unnamed(nodes []node) []node {
	var out []node
	for _, n := range nodes {
		for _, keyword := range []string{"items", "additionalItems", "additionalProperties"} {
			if sub := n.at(keyword); sub.object() != nil {
				out = append(out, sub)
			}
		}
		for _, keyword := range []string{"items", "prefixItems"} {
			if list, ok := n.object()[keyword].([]any); ok {
				for i := range list {
					out = append(out, n.at(keyword, strconv.Itoa(i)))
				}
			}
		}
		out = append(out, n.children("patternProperties")...)
	}
	return out
}
