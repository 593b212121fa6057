// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"encoding/json"
	"math"
	"math/bits"
)

// Extent bounds a value from above: how large it may be as a text, as a collection, and with all that it holds. The zero
// Extent is that of no value; Add widens it.
type Extent struct {
	text  uint64  // bytes, where it is a string or bytes
	count uint64  // elements or members, where it is a collection
	nodes uint64  // values that it holds at all depths, itself included
	bytes uint64  // of all texts that it holds at all depths, itself included
	each  *Extent // of any key, element or member; nil where it holds none

	named func(name string) Extent // bounds members one by one, where they are known; nil elsewhere
}

var (
	scalar = Extent{nodes: 1}
	// boundless is what can't be bounded.
	boundless = &Extent{text: math.MaxUint64, count: math.MaxUint64, nodes: math.MaxUint64, bytes: math.MaxUint64}
)

// Uniform bounds a value in which no text has more than size bytes and no collection holds more than size values.
func Uniform(size uint64) Extent {
	x := &Extent{text: size, count: size, nodes: size, bytes: mulSat(size, size)}
	x.each = x
	return *x
}

// Object bounds an object by its members. Each is measured by itself when the expression names it, so the Extent serves one
// goroutine.
func Object(members map[string]any) Extent {
	var x Extent
	x.Add(members)
	measured := map[string]Extent{}
	x.named = func(name string) Extent {
		known, ok := measured[name]
		if !ok {
			known.Add(members[name])
			measured[name] = known
		}
		return known
	}
	return x
}

func textOf(size uint64) Extent { return Extent{text: size, nodes: 1, bytes: size} }

// whole is the work of going through all of a value, in units.
func (x Extent) whole() uint64 { return addSat(x.nodes, x.bytes/64) }

// element bounds any key, element or member.
func (x Extent) element() Extent {
	if x.each == nil {
		return scalar
	}
	return *x.each
}

// member bounds the member of a name.
func (x Extent) member(name string) Extent {
	if x.named == nil {
		return x.element()
	}
	return x.named(name)
}

// Add widens x so that it bounds v, too: a string, a json.Number, a []string, or a []any or map[string]any of these. Any
// other value is a scalar. It returns how many values v holds, itself included, and the bytes of their texts.
func (x *Extent) Add(v any) (nodes, bytes uint64) {
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

func (x *Extent) addWithin(v any, nodes, bytes *uint64) {
	if x.each == nil {
		x.each = &Extent{}
	}
	n, b := x.each.Add(v)
	*nodes, *bytes = *nodes+n, *bytes+b
}

// maxJoin is how deep joins go; the values of a call are less deep by far.
const maxJoin = 128

// either bounds a value that is one of two.
func either(a, b Extent) Extent {
	a.named = nil
	a.text, a.count = max(a.text, b.text), max(a.count, b.count)
	a.nodes, a.bytes = max(a.nodes, b.nodes), max(a.bytes, b.bytes)
	a.each = eitherEach(a.each, b.each, maxJoin)
	return a
}

func eitherEach(a, b *Extent, depth int) *Extent {
	switch {
	case a == b || b == nil:
		return a
	case a == nil:
		return b
	case depth == 0:
		return boundless
	}
	return &Extent{
		text: max(a.text, b.text), count: max(a.count, b.count), nodes: max(a.nodes, b.nodes), bytes: max(a.bytes, b.bytes),
		each: eitherEach(a.each, b.each, depth-1),
	}
}

// both bounds two values put together: a concatenation, or a collection with one more element.
func both(a, b Extent) Extent {
	x := either(a, b)
	x.text, x.count = addSat(a.text, b.text), addSat(a.count, b.count)
	x.nodes, x.bytes = addSat(a.nodes, b.nodes), addSat(a.bytes, b.bytes)
	return x
}

// times bounds n values put together.
func (x Extent) times(n uint64) Extent {
	x.named = nil
	x.text, x.count = mulSat(x.text, n), mulSat(x.count, n)
	x.nodes, x.bytes = mulSat(x.nodes, n), mulSat(x.bytes, n)
	return x
}

// partsOf bounds a list of parts of a text.
func partsOf(text uint64) Extent {
	part := textOf(text)
	return Extent{count: addSat(text, 1), nodes: addSat(text, 2), bytes: text, each: &part}
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
