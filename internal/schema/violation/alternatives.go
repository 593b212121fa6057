// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package violation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// branch is one alternative of an anyOf or oneOf that did not fit.
type branch struct {
	vs []Violation
	// wrongKind counts violations that say that the value was not meant for this alternative: of type, const or enum,
	// at the value itself or, as a discriminator, at one of its members.
	wrongKind int
}

// alternatives tells why no alternative fits, in as few words as help: all of them where they differ in type or constants
// alone, else the one that comes closest.
func (c collector) alternatives(e *jsonschema.ValidationError) []Violation {
	own := c.violation(e, "", "")
	branches := make([]branch, 0, len(e.Causes))
	for _, cause := range e.Causes {
		branches = append(branches, newBranch(own.Path, c.render(cause)))
	}
	if len(branches) == 0 {
		own.Message = "fits no alternative"
		return []Violation{own}
	}
	if merged, ok := mergeSimple(own.Path, branches); ok {
		own.Message, own.Expected = "fits no alternative", merged
		return []Violation{own}
	}
	best := slices.MinFunc(branches, func(a, b branch) int {
		if a.wrongKind != b.wrongKind {
			return a.wrongKind - b.wrongKind
		}
		return len(a.vs) - len(b.vs)
	})
	if tag, ok := discriminator(own.Path, best, branches); ok {
		return []Violation{tag}
	}
	own.Message = fmt.Sprintf("fits none of %d alternatives", len(branches))
	own.Expected = "what the closest alternative asks for"
	return append([]Violation{own}, best.vs...)
}

func newBranch(path string, vs []Violation) branch {
	b := branch{vs: vs}
	for _, v := range vs {
		if isKind(v) && (v.Path == path || isMember(path, v.Path)) {
			b.wrongKind++
		}
		if v.Path == path && v.Keyword == "type" {
			b.wrongKind += 1000 // another type altogether
		}
	}
	return b
}

func isKind(v Violation) bool { return v.Keyword == "const" || v.Keyword == "enum" }

func isMember(path, candidate string) bool {
	rest, below := strings.CutPrefix(candidate, path+"/")
	return below && !strings.Contains(rest, "/")
}

// mergeSimple joins what the alternatives expect where each says one thing about the value itself.
func mergeSimple(path string, branches []branch) (string, bool) {
	var wants []string
	for _, b := range branches {
		if len(b.vs) != 1 || b.vs[0].Path != path || b.vs[0].Keyword != "type" && !isKind(b.vs[0]) {
			return "", false
		}
		wants = append(wants, b.vs[0].Expected)
	}
	return joinOr(wants), true
}

// discriminator merges the constants that all alternatives want in one and the same member.
func discriminator(path string, best branch, branches []branch) (Violation, bool) {
	for _, tag := range best.vs {
		if !isKind(tag) || !isMember(path, tag.Path) {
			continue
		}
		var wants []string
		for _, b := range branches {
			for _, v := range b.vs {
				if v.Path == tag.Path && isKind(v) {
					wants = append(wants, v.Expected)
				}
			}
		}
		if len(wants) == len(branches) {
			tag.Expected = joinOr(wants)
			return tag, true
		}
	}
	return Violation{}, false
}

// joinOr joins distinct texts by "or", keeping their order.
func joinOr(texts []string) string {
	var distinct []string
	for _, t := range texts {
		if t != "" && !slices.Contains(distinct, t) {
			distinct = append(distinct, t)
		}
	}
	return strings.Join(distinct, " or ")
}
