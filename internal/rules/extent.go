// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"encoding/json"
	"math"
	"math/bits"
)

// extent bounds a value from above: how large it may be as a text, as a collection, and with all that it holds.
type extent struct {
	text  uint64  // bytes, where it is a string or bytes
	count uint64  // elements or members, where it is a collection
	nodes uint64  // values that it holds at all depths, itself included
	bytes uint64  // of all texts that it holds at all depths, itself included
	each  *extent // of any key, element or member; nil where it holds none

	named func(name string) extent // bounds members one by one, where they are known; nil elsewhere
}

var (
	scalar = extent{nodes: 1}
	// boundless is what can't be bounded.
	boundless = &extent{text: math.MaxUint64, count: math.MaxUint64, nodes: math.MaxUint64, bytes: math.MaxUint64}
)

// assumed is what every value of a call is taken to be when a rule is compiled.
var assumed = func() *extent {
	x := &extent{text: AssumedSize, count: AssumedSize, nodes: AssumedSize, bytes: AssumedSize * AssumedSize}
	x.each = x
	return x
}()

func textOf(size uint64) extent { return extent{text: size, nodes: 1, bytes: size} }

// whole is the work of going through all of a value, in units.
func (x extent) whole() uint64 { return addSat(x.nodes, x.bytes/64) }

// element bounds any key, element or member.
func (x extent) element() extent {
	if x.each == nil {
		return scalar
	}
	return *x.each
}

// member bounds the member of a name.
func (x extent) member(name string) extent {
	if x.named == nil {
		return x.element()
	}
	return x.named(name)
}

// add widens x so that it bounds v, too.
func (x *extent) add(v any) (nodes, bytes uint64) {
	nodes = 1
	switch v := v.(type) {
	case string:
		bytes = uint64(len(v))
		x.text = max(x.text, bytes)
	case json.Number:
		bytes = uint64(len(v))
		x.text = max(x.text, bytes)
	case []string:
		for _, element := range v {
			x.addWithin(element, &nodes, &bytes)
		}
		x.count = max(x.count, uint64(len(v)))
	case []any:
		for _, element := range v {
			x.addWithin(element, &nodes, &bytes)
		}
		x.count = max(x.count, uint64(len(v)))
	case map[string]any:
		for key, member := range v {
			x.addWithin(key, &nodes, &bytes)
			x.addWithin(member, &nodes, &bytes)
		}
		x.count = max(x.count, uint64(len(v)))
	}
	x.nodes, x.bytes = max(x.nodes, nodes), max(x.bytes, bytes)
	return nodes, bytes
}

func (x *extent) addWithin(v any, nodes, bytes *uint64) {
	if x.each == nil {
		x.each = &extent{}
	}
	n, b := x.each.add(v)
	*nodes, *bytes = *nodes+n, *bytes+b
}

// maxJoin is how deep joins go; the values of a call are less deep by far.
const maxJoin = 128

// either bounds a value that is one of two.
func either(a, b extent) extent {
	a.named = nil
	a.text, a.count = max(a.text, b.text), max(a.count, b.count)
	a.nodes, a.bytes = max(a.nodes, b.nodes), max(a.bytes, b.bytes)
	a.each = eitherEach(a.each, b.each, maxJoin)
	return a
}

func eitherEach(a, b *extent, depth int) *extent {
	switch {
	case a == b || b == nil:
		return a
	case a == nil:
		return b
	case depth == 0:
		return boundless
	}
	return &extent{
		text: max(a.text, b.text), count: max(a.count, b.count), nodes: max(a.nodes, b.nodes), bytes: max(a.bytes, b.bytes),
		each: eitherEach(a.each, b.each, depth-1),
	}
}

// both bounds two values put together: a concatenation, or a collection with one more element.
func both(a, b extent) extent {
	x := either(a, b)
	x.text, x.count = addSat(a.text, b.text), addSat(a.count, b.count)
	x.nodes, x.bytes = addSat(a.nodes, b.nodes), addSat(a.bytes, b.bytes)
	return x
}

// times bounds n values put together.
func (x extent) times(n uint64) extent {
	x.named = nil
	x.text, x.count = mulSat(x.text, n), mulSat(x.count, n)
	x.nodes, x.bytes = mulSat(x.nodes, n), mulSat(x.bytes, n)
	return x
}

// partsOf bounds a list of parts of a text.
func partsOf(text uint64) extent {
	part := textOf(text)
	return extent{count: addSat(text, 1), nodes: addSat(text, 2), bytes: text, each: &part}
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
