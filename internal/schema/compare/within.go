// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"encoding/json"
	"strings"

	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/schema"
)

// maxSteps bounds one comparison: alternatives within alternatives multiply.
const maxSteps = 20_000

// comparison is the state of one comparison. The writer is whose values are looked at, the reader is who must take them.
type comparison struct {
	side Side
	// named says that the writer means no members but those that it describes.
	named bool
	steps int
	// busy are the questions that are being answered: a schema that contains itself asks them again, and nothing but what
	// is found on the way speaks against them.
	busy map[string]bool
	// compiled are the reader's and writer's schemas that single values were tried on.
	compiled map[standing]*schema.Schema
	tried    int
}

// spent counts one step and says whether there were too many.
func (c *comparison) spent() bool {
	c.steps++
	return c.steps > maxSteps
}

func breaking(path, text string) Change {
	return Change{Path: place(path), Kind: Breaking, Text: text}
}

func undecided(path string) Change {
	return breaking(path, "can't be compared, so it counts as breaking")
}

// within says what keeps the values of a from all being values of b; nothing if they are.
func (c *comparison) within(a, b set) []Change {
	if a.never {
		return nil
	}
	if c.spent() {
		return []Change{undecided(pathOf(b, a))}
	}
	if b.never {
		return []Change{breaking(pathOf(b, a), "takes nothing any more")}
	}
	key := a.key() + "\x01" + b.key()
	if c.busy[key] {
		return nil
	}
	c.busy[key] = true
	defer delete(c.busy, key)
	found := c.here(a, b)
	if len(found) == 0 {
		return nil
	}
	parts := c.alternatives(a)
	if parts == nil {
		return found
	}
	// Each alternative of the writer may fit where the whole can't be seen to.
	var each []Change
	for _, part := range parts {
		each = append(each, c.within(part, b)...)
	}
	return each
}

// pathOf is where the first of the sets stands that stands anywhere.
func pathOf(sets ...set) string {
	for _, s := range sets {
		if s.at != "" {
			return s.at
		}
	}
	return ""
}

// here is within without taking the writer's alternatives one by one.
func (c *comparison) here(a, b set) []Change {
	if len(b.lost) > 0 {
		return []Change{undecided(b.lost[0])}
	}
	var rest set
	for _, part := range b.parts {
		if !c.hasSame(a, part) {
			rest.parts = append(rest.parts, part)
		}
	}
	if len(rest.parts) == 0 {
		return nil
	}
	if values, finite := c.values(a); finite {
		return c.listed(a, values, rest)
	}
	var found []Change
	for _, part := range rest.parts {
		if change := c.types(a, part); change != nil {
			found = append(found, *change)
			continue
		}
		found = append(found, c.scalars(a, part)...)
		found = append(found, c.combined(a, part)...)
	}
	if len(found) == 0 || !typeChanged(found) {
		types := c.typesOf(a)
		if types&typeObject != 0 {
			found = append(found, c.members(a, b, rest)...)
		}
		if types&typeArray != 0 {
			found = append(found, c.elements(a, b, rest)...)
		}
	}
	return found
}

func typeChanged(found []Change) bool {
	for _, f := range found {
		if len(f.Path) > 5 && f.Path[len(f.Path)-5:] == "/type" {
			return true
		}
	}
	return false
}

func (c *comparison) hasSame(a set, part node) bool {
	for _, p := range a.parts {
		if c.sameHere(p, part) {
			return true
		}
	}
	return false
}

// alternatives are the sets that together hold what a holds; nil where a has none.
func (c *comparison) alternatives(a set) []set {
	for i, p := range a.parts {
		for _, keyword := range []string{"anyOf", "oneOf"} {
			branches := p.children(keyword)
			if len(branches) == 0 {
				continue
			}
			without := p
			without.v = omit(p.object(), keyword)
			without.path = p.path + mark + keyword
			var out []set
			for _, branch := range branches {
				part := set{at: a.at, never: a.never, lost: a.lost}
				part.parts = append(part.parts, a.parts[:i]...)
				part.parts = append(part.parts, without)
				part.parts = append(part.parts, a.parts[i+1:]...)
				part.add(branch, 0)
				out = append(out, part)
			}
			return out
		}
	}
	names := c.typesOf(a).names()
	if a.allTypes() || len(names) < 2 {
		return nil
	}
	out := make([]set, 0, len(names))
	for _, name := range names {
		only := node{doc: a.parts[0].doc, path: a.parts[0].path + mark + name, v: map[string]any{"type": name}}
		out = append(out, a.with(only))
	}
	return out
}

// allTypes says that nothing is said of the type.
func (s set) allTypes() bool {
	for _, p := range s.parts {
		if p.has("type") {
			return false
		}
	}
	return true
}

func omit(obj map[string]any, keyword string) map[string]any {
	out := make(map[string]any, len(obj))
	for key, value := range obj {
		if key != keyword {
			out[key] = value
		}
	}
	return out
}

// combined looks at the keywords of one part of the reader that apply other schemas to the same value.
func (c *comparison) combined(a set, part node) []Change {
	var found []Change
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if branches := part.children(keyword); len(branches) > 0 && !c.inOne(a, branches, keyword == "oneOf", 0) {
			found = append(found, breaking(part.path+"/"+keyword, "not all that was valid surely fits "+exactly(keyword)))
		}
	}
	if part.has("not") && !c.disjoint(a, setOf(part.at("not")), 0) {
		found = append(found, undecided(part.path+"/not"))
	}
	if part.has("if") {
		for _, keyword := range []string{"then", "else"} {
			if part.has(keyword) && len(c.within(c.conditioned(a, part, keyword), setOf(part.at(keyword)))) > 0 {
				found = append(found, undecided(part.path+"/"+keyword))
			}
		}
	}
	return found
}

// conditioned is what is known of those values of a that the reader's then or else applies to: the writer may have the same
// condition.
func (c *comparison) conditioned(a set, part node, keyword string) set {
	out := a
	for _, p := range a.parts {
		if !p.has("if") || !c.same(p.at("if"), part.at("if")) {
			continue
		}
		if keyword == "then" {
			out = out.with(p.at("if"))
		}
		if p.has(keyword) {
			out = out.with(p.at(keyword))
		}
	}
	return out
}

func exactly(keyword string) string {
	if keyword == "oneOf" {
		return "exactly one alternative"
	}
	return "an alternative"
}

// mark begins what tells a part that was made here from the one that it was made of.
const mark = "\x02"

// place is where a part stands that may have been made here.
func place(path string) string {
	for {
		before, rest, made := strings.Cut(path, mark)
		if !made {
			return path
		}
		path = before
		if _, below, ok := strings.Cut(rest, "/"); ok {
			path += "/" + below
		}
	}
}

// maxSplits bounds how often the writer is taken apart for one union of the reader.
const maxSplits = 4

// inOne says that each value of a is surely a value of one of the branches, and of no other where only one may fit.
func (c *comparison) inOne(a set, branches []node, only bool, splits int) bool {
	for i, branch := range branches {
		if c.spent() {
			return false
		}
		if len(c.within(a, setOf(branch))) == 0 && (!only || c.fitsNoOther(a, branches, i)) {
			return true
		}
	}
	if splits >= maxSplits {
		return false
	}
	parts := c.alternatives(a)
	if parts == nil {
		parts = c.singles(a)
	}
	for _, part := range parts {
		if !part.never && !c.inOne(part, branches, only, splits+1) {
			return false
		}
	}
	return len(parts) > 0
}

func (c *comparison) fitsNoOther(a set, branches []node, i int) bool {
	for j, other := range branches {
		if j != i && !c.disjoint(a, setOf(other), 0) {
			return false
		}
	}
	return true
}

// singles are the values of a finite set, each as a set of its own.
func (c *comparison) singles(a set) []set {
	values, finite := c.values(a)
	if !finite || len(values) < 2 || len(a.parts) == 0 {
		return nil
	}
	p := a.parts[0]
	var out []set
	for _, v := range values {
		text, err := json.Marshal(v)
		if err != nil {
			return nil
		}
		// Other sets begin with the same part and have other values, so its place among them is no name for a value.
		path := p.path + mark + jsonrpc.EscapeToken(string(text))
		out = append(out, a.with(node{doc: p.doc, path: path, v: map[string]any{"const": v}}))
	}
	return out
}
