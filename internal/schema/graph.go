// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// node is one compiled subschema as an edge list: which subschemas it applies to the same value, and which to the
// value's members.
type node struct {
	sch    *jsonschema.Schema
	index  int     // in graph.nodes
	weight uint64  // units that one evaluation costs, without other nodes
	reads  uint64  // instructions of patterns that one evaluation goes through for each byte, without other nodes
	same   []*node // $ref, allOf, anyOf, oneOf, not, if/then/else, dependent schemas

	properties map[string]*node
	patterns   []patternNode
	otherwise  *node   // additionalProperties
	everyKey   []*node // propertyNames, unevaluatedProperties: may be applied to every member
	prefix     []*node // items by position
	rest       *node   // items after them
	everyItem  []*node // contains, unevaluatedItems

	state visitState
}

type patternNode struct {
	pattern jsonschema.Regexp
	node    *node
}

type visitState uint8

const (
	unvisited visitState = iota
	visiting
	visited
)

// graph is every subschema that can be reached from the root. After order, a node comes before the nodes that it
// applies to the same value.
type graph struct {
	root     *node
	nodes    []*node
	byURL    map[string]*node
	dynamic  []*jsonschema.Schema // subschemas that a dynamic reference may reach
	bySchema map[*jsonschema.Schema]*node
}

// newGraph collects the graph from the compiled root. dynamic are the subschemas with a dynamic or recursive anchor.
func newGraph(root *jsonschema.Schema, dynamic []*jsonschema.Schema) (*graph, *CompileError) {
	g := &graph{dynamic: dynamic, byURL: map[string]*node{}, bySchema: map[*jsonschema.Schema]*node{}}
	g.root = g.add(root)
	for i := 0; i < len(g.nodes); i++ { // grows while it runs
		g.link(g.nodes[i])
	}
	ordered := make([]*node, 0, len(g.nodes))
	for _, n := range g.nodes {
		if !n.orderInto(&ordered) {
			return nil, &CompileError{Path: schemaPointer(n.sch.Location), Reason: ReasonTooComplex,
				Message: "refers to itself without going into a member of the value, so it can never be decided"}
		}
	}
	slices.Reverse(ordered)
	for i, n := range ordered {
		n.index = i
	}
	g.nodes = ordered
	return g, nil
}

// Subschema is the one at a URL, nil where it is not known (violation.Places).
func (g *graph) Subschema(url string) *jsonschema.Schema {
	if n := g.byURL[url]; n != nil {
		return n.sch
	}
	return nil
}

// Pointer is the place of a subschema in the schema.
func (g *graph) Pointer(url string) string { return schemaPointer(url) }

// Applies says whether a keyword holds subschemas.
func (g *graph) Applies(keyword string) bool {
	return slices.Contains(oneSchema, keyword) || slices.Contains(listOfSchemas, keyword) || slices.Contains(mapOfSchemas, keyword)
}

// orderInto appends n after everything that it applies to the same value; it gives false for a cycle.
func (n *node) orderInto(ordered *[]*node) bool {
	switch n.state {
	case visited:
		return true
	case visiting:
		return false
	case unvisited:
		n.state = visiting
	}
	for _, m := range n.same {
		if !m.orderInto(ordered) {
			return false
		}
	}
	n.state = visited
	*ordered = append(*ordered, n)
	return true
}

func (g *graph) add(sch *jsonschema.Schema) *node {
	if sch == nil {
		return nil
	}
	if n, known := g.bySchema[sch]; known {
		return n
	}
	n := &node{sch: sch}
	g.bySchema[sch] = n
	g.byURL[sch.Location] = n
	g.nodes = append(g.nodes, n)
	return n
}

func (g *graph) addAll(schemas ...*jsonschema.Schema) []*node {
	var nodes []*node
	for _, sch := range schemas {
		if n := g.add(sch); n != nil {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// link fills the edges of n.
func (g *graph) link(n *node) {
	s := n.sch
	n.same = g.addAll(s.Ref, s.Not, s.If, s.Then, s.Else)
	n.same = append(n.same, g.addAll(s.AllOf...)...)
	n.same = append(n.same, g.addAll(s.AnyOf...)...)
	n.same = append(n.same, g.addAll(s.OneOf...)...)
	for _, name := range sortedKeys(s.DependentSchemas) {
		n.same = append(n.same, g.add(s.DependentSchemas[name]))
	}
	for _, name := range sortedKeys(s.Dependencies) {
		if sub, ok := s.Dependencies[name].(*jsonschema.Schema); ok {
			n.same = append(n.same, g.add(sub))
		}
	}
	g.linkDynamic(n)
	g.linkObject(n)
	g.linkArray(n)
	n.weight, n.reads = weigh(s), reads(s)
}

// linkDynamic takes every subschema that the reference might reach: which one it does depends on the way to it.
func (g *graph) linkDynamic(n *node) {
	if ref := n.sch.DynamicRef; ref != nil {
		n.same = append(n.same, g.add(ref.Ref))
		for _, sch := range g.dynamic {
			if ref.Anchor != "" && sch.DynamicAnchor == ref.Anchor && sch != ref.Ref {
				n.same = append(n.same, g.add(sch))
			}
		}
	}
	if ref := n.sch.RecursiveRef; ref != nil {
		n.same = append(n.same, g.add(ref))
		for _, sch := range g.dynamic {
			if ref.RecursiveAnchor && sch.RecursiveAnchor && sch != ref {
				n.same = append(n.same, g.add(sch))
			}
		}
	}
}

func (g *graph) linkObject(n *node) {
	s := n.sch
	if len(s.Properties) > 0 {
		n.properties = make(map[string]*node, len(s.Properties))
		for _, name := range sortedKeys(s.Properties) {
			n.properties[name] = g.add(s.Properties[name])
		}
	}
	for re, sub := range s.PatternProperties {
		n.patterns = append(n.patterns, patternNode{re, g.add(sub)})
	}
	if sub, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
		n.otherwise = g.add(sub)
	}
	n.everyKey = g.addAll(s.PropertyNames, s.UnevaluatedProperties)
}

func (g *graph) linkArray(n *node) {
	s := n.sch
	n.prefix = g.addAll(s.PrefixItems...)
	n.rest = g.add(s.Items2020)
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		n.rest = g.add(items)
	case []*jsonschema.Schema:
		n.prefix = g.addAll(items...)
		if sub, ok := s.AdditionalItems.(*jsonschema.Schema); ok {
			n.rest = g.add(sub)
		}
	}
	n.everyItem = g.addAll(s.Contains, s.UnevaluatedItems)
}

// members gives the nodes that n applies to the member key of an object.
func (n *node) members(key string, yield func(*node)) {
	sub, declared := n.properties[key]
	if declared {
		yield(sub)
	}
	for _, p := range n.patterns {
		if p.pattern.MatchString(key) {
			declared = true
			yield(p.node)
		}
	}
	if !declared && n.otherwise != nil {
		yield(n.otherwise)
	}
	for _, m := range n.everyKey {
		yield(m)
	}
}

// elements gives the nodes that n applies to the element i of an array.
func (n *node) elements(i int, yield func(*node)) {
	if i < len(n.prefix) {
		yield(n.prefix[i])
	} else if n.rest != nil {
		yield(n.rest)
	}
	for _, m := range n.everyItem {
		yield(m)
	}
}

// declared collects the property names of everything that n applies to the same value, but what `not` holds.
func (n *node) declared(names map[string]bool, seen map[*node]bool) {
	if seen[n] {
		return
	}
	seen[n] = true
	for name := range n.properties {
		names[name] = true
	}
	for _, m := range n.same {
		if m.sch != n.sch.Not {
			m.declared(names, seen)
		}
	}
}
