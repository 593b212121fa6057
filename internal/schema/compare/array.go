// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package compare

import "strconv"

// prefixOf is how many items a part describes one by one, and restOf the keyword of those after them.
func prefixOf(p node) (keyword string, n int) {
	for _, keyword := range []string{"prefixItems", "items"} {
		if list, ok := p.object()[keyword].([]any); ok {
			return keyword, len(list)
		}
	}
	return "", 0
}

func restOf(p node) string {
	if _, isList := p.object()["items"].([]any); isList {
		return "additionalItems"
	}
	return "items"
}

// item is what a set says of the item at a place.
func (s set) item(i int) set {
	var out set
	for _, p := range s.parts {
		keyword, n := prefixOf(p)
		if i < n {
			out.add(p.at(keyword, strconv.Itoa(i)), 0)
		} else if rest := restOf(p); p.has(rest) {
			out.add(p.at(rest), 0)
		}
	}
	return out
}

// longest is the greatest number of items that some part describes one by one.
func (s set) longest() int {
	most := 0
	for _, p := range s.parts {
		_, n := prefixOf(p)
		most = max(most, n)
	}
	return most
}

// elements compares what both say of arrays.
func (c *comparison) elements(a, b, rest set) []Change {
	var found []Change
	most, bounded := -1, false
	if limit := strictest(a, "maxItems", -1); limit != nil && limit.IsInt() && limit.Num().IsInt64() {
		most, bounded = int(limit.Num().Int64()), true
	}
	// The place after the last one that is described stands for all that follow.
	for i := range max(a.longest(), b.longest()) + 1 {
		if bounded && i >= most {
			break
		}
		found = append(found, c.within(a.item(i), b.item(i))...)
	}
	for _, part := range rest.parts {
		found = append(found, c.limits(a, part, "minItems", "maxItems", 0)...)
		if part.object()["uniqueItems"] == true && !says(a, "uniqueItems", true) && (!bounded || most > 1) {
			found = append(found, breaking(part.path+"/uniqueItems", "items must be unique now"))
		}
		if part.has("contains") && !c.contains(a, part) {
			found = append(found, undecided(part.path+"/contains"))
		}
		if part.has("unevaluatedItems") && part.object()["unevaluatedItems"] != true {
			found = append(found, undecided(part.path+"/unevaluatedItems"))
		}
	}
	return found
}

// contains says that the writer asks for the same items, and for as many.
func (c *comparison) contains(a set, part node) bool {
	least, most := 1, -1
	if n, ok := countOf(part.object()["minContains"]); ok {
		least = n
	}
	if n, ok := countOf(part.object()["maxContains"]); ok {
		most = n
	}
	if least == 0 && most < 0 {
		return true
	}
	for _, p := range a.parts {
		if !p.has("contains") || !c.same(p.at("contains"), part.at("contains")) {
			continue
		}
		ownLeast, ownMost := 1, -1
		if n, ok := countOf(p.object()["minContains"]); ok {
			ownLeast = n
		}
		if n, ok := countOf(p.object()["maxContains"]); ok {
			ownMost = n
		}
		if ownLeast >= least && (most < 0 || ownMost >= 0 && ownMost <= most) {
			return true
		}
	}
	return false
}
