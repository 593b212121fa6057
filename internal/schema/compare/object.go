// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// properties are the names that the parts of a set declare, sorted.
func (s set) properties() []string {
	names := map[string]bool{}
	for _, p := range s.parts {
		declared, _ := p.object()["properties"].(map[string]any)
		for name := range declared {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// required are the names that the parts of a set ask for, sorted.
func required(s set) []string {
	var out []string
	for _, p := range s.parts {
		list, _ := p.object()["required"].([]any)
		for _, name := range list {
			if name, ok := name.(string); ok {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// matches says whether a pattern of properties matches a name, as the validator reads patterns. One that it never came by,
// and that is none, is decided neither way.
func (d *document) matches(pattern, name string) (yes, decided bool) {
	re, err := d.patterns.Compile(pattern)
	if err != nil {
		return false, false
	}
	return re.MatchString(name), true
}

// member is what a set says of a member of that name, and whether it says anything: a name that nothing declares, and that no
// additionalProperties describes, is nobody's promise.
func (s set) member(name string) (m set, declared bool) {
	for _, p := range s.parts {
		own := false
		if sub := p.at("properties", name); sub.doc != nil && hasKey(p, "properties", name) {
			m.add(sub, 0)
			own, declared = true, true
		}
		for _, pattern := range keys(p, "patternProperties") {
			yes, decided := p.doc.matches(pattern, name)
			if !decided {
				m.lost = append(m.lost, p.at("patternProperties", pattern).path)
				own = true // for all that is known, so that additionalProperties need not apply
			}
			if yes {
				m.add(p.at("patternProperties", pattern), 0)
				own, declared = true, true
			}
		}
		if rest := p.at("additionalProperties"); !own && p.has("additionalProperties") && rest.v != true {
			m.add(rest, 0)
			declared = declared || !emptySchema(rest.v)
		}
	}
	return m, declared
}

// emptySchema says of additionalProperties that it promises nothing.
func emptySchema(v any) bool {
	obj, ok := v.(map[string]any)
	return ok && len(obj) == 0
}

// surely is member without what may not apply.
func surely(s set, name string) set {
	m, _ := s.member(name)
	m.lost = nil
	return m
}

func hasKey(p node, keyword, key string) bool {
	obj, _ := p.object()[keyword].(map[string]any)
	_, ok := obj[key]
	return ok
}

func keys(p node, keyword string) []string {
	obj, _ := p.object()[keyword].(map[string]any)
	return slices.Sorted(maps.Keys(obj))
}

// rest is what a set says of members that it neither names nor describes by a pattern.
func (s set) rest() set {
	var m set
	for _, p := range s.parts {
		if p.has("additionalProperties") {
			m.add(p.at("additionalProperties"), 0)
		}
	}
	return m
}

// members compares what both say of objects. rest are the parts of the reader that the writer has not word for word. A
// member that the writer declares for some of its values alone may be anything as far as can be seen here; to take the
// alternatives one by one shows more.
func (c *comparison) members(a, b, rest set) []Change {
	some := a.conditional()
	names := slices.Concat(a.properties(), set{parts: some}.properties(), rest.properties())
	slices.Sort(names)
	var found []Change
	for _, name := range slices.Compact(names) {
		from, declared := a.member(name)
		if !declared && len(described(some, name)) == 0 {
			continue
		}
		to, expected := b.member(name)
		switch {
		case from.never:
		case to.never && expected && c.side == Results:
			found = append(found, breaking(pathOf(from, b), "is new, where no other members were to be expected"))
		case to.never:
			found = append(found, breaking(pathOf(from, b), gone))
		default:
			found = append(found, c.within(from, to)...)
		}
	}
	for _, part := range rest.parts {
		found = append(found, c.patterned(a, part)...)
		found = append(found, c.undeclared(a, some, part)...)
		found = append(found, c.asked(a, part)...)
		found = append(found, c.limits(a, part, "minProperties", "maxProperties", len(required(a)))...)
		found = append(found, c.names(a, part)...)
		found = append(found, c.dependent(a, some, part)...)
		found = append(found, c.unevaluated(a, part)...)
	}
	return found
}

// patterned compares members that the writer describes by a pattern with whatever the reader may say of them.
func (c *comparison) patterned(a set, part node) []Change {
	var found []Change
	for _, p := range a.parts {
		for _, pattern := range keys(p, "patternProperties") {
			from := setOf(p.at("patternProperties", pattern))
			for _, other := range keys(part, "patternProperties") {
				found = append(found, c.within(from, setOf(part.at("patternProperties", other)))...)
			}
			if part.has("additionalProperties") && !hasKey(part, "patternProperties", pattern) {
				found = append(found, c.within(from, setOf(part.at("additionalProperties")))...)
			}
		}
	}
	return found
}

// undeclared compares the members that the writer does not name. some are the subschemas of the writer that apply to some
// values.
func (c *comparison) undeclared(a set, some []node, part node) []Change {
	from := a.rest()
	if from.never || c.named && from.at == "" && !slices.ContainsFunc(some, describesUnnamed) {
		return nil
	}
	var found []Change
	for _, pattern := range keys(part, "patternProperties") {
		if !says(a, "patternProperties", part.object()["patternProperties"]) {
			found = append(found, c.within(from, setOf(part.at("patternProperties", pattern)))...)
		}
	}
	if !part.has("additionalProperties") {
		return found
	}
	to := part.at("additionalProperties")
	if breaks := c.within(from, setOf(to)); len(breaks) > 0 {
		if len(from.parts) == 0 {
			breaks = []Change{breaking(to.path, "members that are not declared no longer fit")}
		}
		found = append(found, breaks...)
	}
	return found
}

func describesUnnamed(n node) bool {
	return n.has("additionalProperties") || n.has("patternProperties")
}

// asked looks at what the reader requires.
func (c *comparison) asked(a set, part node) []Change {
	have := required(a)
	var found []Change
	list, _ := part.object()["required"].([]any)
	for _, v := range list {
		name, _ := v.(string)
		switch {
		case slices.Contains(have, name):
		case c.side == Results:
			found = append(found, breaking(part.path+"/required", quote(name)+" need not be there any more"))
		default:
			found = append(found, breaking(part.path+"/required", quote(name)+" is required now"))
		}
	}
	return found
}

// names looks at propertyNames of the reader.
func (c *comparison) names(a set, part node) []Change {
	if !part.has("propertyNames") {
		return nil
	}
	to := setOf(part.at("propertyNames"))
	var from set
	for _, p := range a.parts {
		if p.has("propertyNames") {
			from.add(p.at("propertyNames"), 0)
		}
	}
	if len(from.parts) > 0 && len(c.within(from.with(onlyStrings(part)), to)) == 0 || c.namesFit(a, to) {
		return nil
	}
	return []Change{breaking(part.path+"/propertyNames", "names that were allowed need not fit any more")}
}

func onlyStrings(of node) node {
	return node{doc: of.doc, path: of.path + mark + "names", v: map[string]any{"type": "string"}}
}

// namesFit says that a has declared names alone, and that each fits.
func (c *comparison) namesFit(a, names set) bool {
	if !a.closed() {
		return false
	}
	for _, name := range a.properties() {
		if ok, decided, _ := c.takes(names, name); !ok || !decided {
			return false
		}
	}
	return true
}

// closed says that objects of the set have no members but those it names.
func (s set) closed() bool {
	for _, p := range s.parts {
		if len(keys(p, "patternProperties")) > 0 {
			return false
		}
	}
	return s.rest().never
}

// dependent looks at what the reader asks of objects that have a certain member. some are the subschemas of the writer that
// apply to some values.
func (c *comparison) dependent(a set, some []node, part node) []Change {
	var found []Change
	for _, keyword := range []string{"dependentRequired", "dependentSchemas", "dependencies"} {
		for _, name := range keys(part, keyword) {
			if _, declared := a.member(name); !declared && len(described(some, name)) == 0 {
				continue // nobody's promise
			}
			to := part.at(keyword, name)
			if !c.depends(a, keyword, name, to) {
				found = append(found, breaking(to.path, "more may be asked of an object that has "+quote(name)))
			}
		}
	}
	return found
}

func (c *comparison) depends(a set, keyword, name string, to node) bool {
	list, isList := to.v.([]any)
	if !isList {
		having := a
		for _, p := range a.parts {
			if hasKey(p, keyword, name) {
				having = having.with(p.at(keyword, name))
			}
		}
		return len(c.within(having, setOf(to))) == 0
	}
	have := required(a)
	for _, p := range a.parts {
		own, _ := p.at(keyword, name).v.([]any)
		for _, v := range own {
			if text, ok := v.(string); ok {
				have = append(have, text)
			}
		}
	}
	return !slices.ContainsFunc(list, func(v any) bool {
		text, _ := v.(string)
		return !slices.Contains(have, text)
	})
}

// unevaluated looks at unevaluatedProperties of the reader, which can be seen to hold in one case alone: the writer has none
// but declared members, and the reader declares them beside it.
func (c *comparison) unevaluated(a set, part node) []Change {
	if !part.has("unevaluatedProperties") || part.object()["unevaluatedProperties"] == true {
		return nil
	}
	shut := (a.closed() || a.evaluated()) && !slices.ContainsFunc(a.parts, describesMore)
	for _, name := range a.properties() {
		shut = shut && hasKey(part, "properties", name)
	}
	if shut {
		return nil
	}
	return []Change{undecided(part.path + "/unevaluatedProperties")}
}

// describesMore says that a part describes members that are none of its properties.
func describesMore(p node) bool { return len(p.conditional()) > 0 || p.has("patternProperties") }

// evaluated says that unevaluatedProperties leaves a set no members but those that its parts are seen to describe, none of
// them by what describes all others, too.
func (s set) evaluated() bool {
	shut := false
	for _, p := range s.parts {
		rest, said := p.object()["unevaluatedProperties"]
		// Alternatives beside the one that is looked at may fit as well, and then what they describe is evaluated, too.
		oneOfSeveral := strings.Contains(p.path[strings.LastIndex(p.path, "/")+1:], mark+"anyOf")
		if p.has("additionalProperties") || said && rest != false || oneOfSeveral {
			return false
		}
		shut = shut || said
	}
	return shut && len(s.lost) == 0
}

// countOf is a value of JSON as a number of items.
func countOf(v any) (int, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	r := rat(n)
	if r == nil || !r.IsInt() || !r.Num().IsInt64() || r.Num().Int64() > 1<<30 {
		return 0, false
	}
	return int(r.Num().Int64()), true
}
