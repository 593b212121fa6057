// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"toolgate.dev/toolgate/internal/schema/pattern"
)

// The validator evaluates a subschema again for every way that leads to it, so allOf over $ref, or a union that contains
// itself, makes it exponential; and once started it can't be stopped. So what it will do is counted beforehand: at
// compile time for one value, and before each instance for the whole of it.

const (
	// evaluation is the cost of one evaluation of a subschema, in units. An enum's member costs one unit.
	evaluation = 16
	// baseCost and costPerByte are what one instance may cost: 250,000 evaluations, some 50 ms, and two more for each of
	// its bytes, which is more than a schema without repetitions ever needs.
	baseCost    = 250_000 * evaluation
	costPerByte = 2 * evaluation
	// maxPatternWork bounds bytes of the instance times instructions of the patterns that go through one of them: seconds at worst.
	maxPatternWork = 1_000_000_000
)

// weigh gives the units of one evaluation of s.
func weigh(s *jsonschema.Schema) uint64 {
	w := evaluation + len(s.Required) + len(s.Dependencies) + len(s.DependentRequired) + len(s.DependentSchemas)
	if s.Enum != nil {
		w += len(s.Enum.Values)
	}
	return uint64(w + evaluation*len(s.PatternProperties))
}

// reads gives the instructions that the patterns of s itself go through for each byte of a text, or of an object's names.
func reads(s *jsonschema.Schema) uint64 {
	n := pattern.Size(s.Pattern)
	for re := range s.PatternProperties {
		n += pattern.Size(re)
	}
	return uint64(n)
}

// costModel bounds from above what validation costs.
type costModel struct {
	perDeep [MaxDepth + 1]uint64 // units that one value at this depth costs at most
	perByte [MaxDepth + 1]uint64 // instructions of patterns that one byte costs at most, at this depth or above it
}

// newCostModel bounds the cost by depth, and refuses schemas that are a bomb on a single value. Costs per depth look at
// the worst member of each object, so they overestimate unions; counter decides where that matters.
func newCostModel(g *graph) (*costModel, *CompileError) {
	m := &costModel{}
	if n := g.tooManyPaths(); n != nil {
		return nil, &CompileError{Path: schemaPointer(n.sch.Location), Reason: ReasonTooComplex, Message: fmt.Sprintf(
			"applies its subschemas in more than %d ways to one value; use fewer nested allOf, anyOf, oneOf and $ref", MaxRefExpansions)}
	}
	units, read := newLevels(g), newLevels(g)
	for depth := range m.perDeep {
		m.perDeep[depth] = units.next(func(n *node) uint64 { return n.weight })
		if m.perDeep[depth] == 0 { // acyclic, and this is below its leaves
			for below := max(depth, 1); below < len(m.perByte); below++ {
				m.perByte[below] = m.perByte[below-1]
			}
			break
		}
		m.perByte[depth] = max(m.perByte[max(depth-1, 0)], read.next(func(n *node) uint64 { return n.reads }))
	}
	return m, nil
}

// levels sums something of the nodes that are applied to one value, depth by depth.
type levels struct {
	graph        *graph
	begun        bool
	here, deeper costs // of this level, and of the one before, which is of values that are one less deep
}

func newLevels(g *graph) *levels {
	return &levels{graph: g, here: make(costs, len(g.nodes)), deeper: make(costs, len(g.nodes))}
}

// next gives what the root's nodes at the next depth come to, where of gives it for one.
func (l *levels) next(of func(*node) uint64) uint64 {
	l.here, l.deeper = l.deeper, l.here
	for i := len(l.graph.nodes) - 1; i >= 0; i-- {
		n := l.graph.nodes[i]
		sum := of(n)
		if l.begun {
			sum = l.deeper.worstMember(n)
		}
		for _, same := range n.same {
			sum = addSat(sum, l.here[same.index])
		}
		l.here[i] = sum
	}
	l.begun = true
	return l.here.of(l.graph.root)
}

// tooManyPaths gives the first node with more than MaxRefExpansions evaluations on one value.
func (g *graph) tooManyPaths() *node {
	paths := make(costs, len(g.nodes))
	for i := len(g.nodes) - 1; i >= 0; i-- {
		n := g.nodes[i]
		count := uint64(1)
		for _, same := range n.same {
			count = addSat(count, paths[same.index])
		}
		if paths[i] = count; count > MaxRefExpansions {
			return n
		}
	}
	return nil
}

// costs holds a number for each node of a graph, by its index.
type costs []uint64

func (c costs) of(n *node) uint64 {
	if n == nil {
		return 0
	}
	return c[n.index]
}

func (c costs) sum(nodes []*node) uint64 {
	var total uint64
	for _, n := range nodes {
		total = addSat(total, c[n.index])
	}
	return total
}

// worstMember bounds what n costs on one member of its value, when c holds what each node costs on it.
func (c costs) worstMember(n *node) uint64 {
	object, array := c.of(n.otherwise), c.of(n.rest)
	for _, sub := range n.properties {
		object = max(object, c[sub.index])
	}
	for _, p := range n.patterns {
		object = addSat(object, c[p.node.index])
	}
	for _, sub := range n.prefix {
		array = max(array, c[sub.index])
	}
	return max(addSat(object, c.sum(n.everyKey)), addSat(array, c.sum(n.everyItem)))
}

// readable says whether the patterns may go through so many bytes of a value that is so deep.
func (m *costModel) readable(bytes, depth int) bool {
	return mulSat(uint64(bytes), m.perByte[min(depth, MaxDepth)]) <= maxPatternWork
}

// affordable says whether validating v stays within what its size allows: by the bound per depth, else by counting exactly.
func (m *costModel) affordable(root *node, v any, s *shape) bool {
	var total uint64
	deepest := 0
	for depth, values := range s.perDeep {
		total = addSat(total, mulSat(values, m.perDeep[depth]))
		if values > 0 {
			deepest = depth
		}
	}
	if !m.readable(s.bytes, deepest) {
		return false
	}
	limit := baseCost + uint64(s.bytes)*costPerByte
	if total <= limit {
		return true
	}
	c := counter{limit: limit, closures: map[*node]applied{}}
	c.count(applied{root: 1}, v)
	return c.cost <= limit
}

// applied counts how often each subschema is applied to one value.
type applied map[*node]uint64

func (a applied) add(n *node, times uint64) { a[n] = addSat(a[n], times) }

// counter counts the evaluations that an instance leads to, each subschema and value once, with its multiplicity.
type counter struct {
	limit    uint64            // stop counting above
	closures map[*node]applied // what a node applies to the same value, itself included
	cost     uint64
}

func (c *counter) closure(n *node) applied {
	if known, ok := c.closures[n]; ok {
		return known
	}
	all := applied{n: 1}
	for _, m := range n.same {
		for sub, times := range c.closure(m) {
			all.add(sub, times)
		}
	}
	c.closures[n] = all
	return all
}

func (c *counter) count(roots applied, v any) {
	if c.cost > c.limit || len(roots) == 0 {
		return
	}
	all := applied{}
	for root, times := range roots {
		for n, each := range c.closure(root) {
			all.add(n, mulSat(times, each))
		}
	}
	for n, times := range all {
		c.cost = addSat(c.cost, mulSat(times, n.weight))
	}
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			below := applied{}
			for n, times := range all {
				n.members(key, func(m *node) { below.add(m, times) })
			}
			c.count(below, member)
		}
	case []any:
		for i, element := range v {
			below := applied{}
			for n, times := range all {
				n.elements(i, func(m *node) { below.add(m, times) })
			}
			c.count(below, element)
		}
	}
}

func addSat(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return math.MaxUint64
	}
	return sum
}

func mulSat(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi != 0 {
		return math.MaxUint64
	}
	return lo
}
