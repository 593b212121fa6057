// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"math/big"
)

// scalars looks at the keywords of one part of the reader that need no other schema.
func (c *comparison) scalars(a set, part node) []Change {
	var found []Change
	for _, keyword := range []string{"enum", "const"} {
		if part.has(keyword) {
			found = append(found, breaking(part.path+"/"+keyword, "only listed values fit, and any did"))
		}
	}
	have := c.typesOf(a)
	if have&typeNumber != 0 {
		found = append(found, numbers(a, part, have)...)
	}
	if have&typeString != 0 {
		found = append(found, c.limits(a, part, "minLength", "maxLength", 0)...)
		for _, keyword := range []string{"pattern", "format", "contentEncoding", "contentMediaType"} {
			if v, ok := part.object()[keyword]; ok && !says(a, keyword, v) {
				found = append(found, breaking(part.path+"/"+keyword, keyword+" "+show(v)+" was not asked for"))
			}
		}
	}
	return found
}

// says whether some part of a set has a keyword with a value.
func says(s set, keyword string, v any) bool {
	for _, p := range s.parts {
		if have, ok := p.object()[keyword]; ok && equal(have, v) {
			return true
		}
	}
	return false
}

// bound is a limit of a number; a nil at is none.
type bound struct {
	at        *big.Rat
	exclusive bool
}

// lower and upper are the bounds of one part, whichever dialect spells them.
func lower(p node) bound { return boundOf(p, "minimum", "exclusiveMinimum", 1) }
func upper(p node) bound { return boundOf(p, "maximum", "exclusiveMaximum", -1) }

func boundOf(p node, inclusive, exclusive string, sign int) bound {
	obj := p.object()
	b := bound{at: rat(obj[inclusive])}
	switch x := obj[exclusive].(type) {
	case bool: // draft-04
		b.exclusive = x
	default:
		if at := rat(x); at != nil && (b.at == nil || at.Cmp(b.at)*sign >= 0) {
			b = bound{at, true}
		}
	}
	return b
}

// tighter says whether b leaves no more room than other, on a side with that sign.
func (b bound) tighter(other bound, sign int) bool {
	switch {
	case other.at == nil:
		return true
	case b.at == nil:
		return false
	}
	order := b.at.Cmp(other.at) * sign
	return order > 0 || order == 0 && (b.exclusive || !other.exclusive)
}

func numbers(a set, part node, have types) []Change {
	var found []Change
	for _, edge := range []struct {
		of                   func(node) bound
		inclusive, exclusive string
		sign                 int
	}{
		{lower, "minimum", "exclusiveMinimum", 1},
		{upper, "maximum", "exclusiveMaximum", -1},
	} {
		want, kept := edge.of(part), false
		for _, p := range a.parts {
			kept = kept || edge.of(p).tighter(want, edge.sign)
		}
		if want.at != nil && !kept {
			keyword := edge.inclusive
			if want.exclusive && rat(part.object()[edge.exclusive]) != nil {
				keyword = edge.exclusive
			}
			found = append(found, breaking(part.path+"/"+keyword, "is "+show(part.object()[keyword])+", which leaves less room"))
		}
	}
	if step := rat(part.object()["multipleOf"]); step != nil && step.Sign() != 0 && !multiples(a, have, step) {
		found = append(found, breaking(part.path+"/multipleOf", "only multiples of "+show(part.object()["multipleOf"])+" fit"))
	}
	return found
}

// multiples says that every number of a is a multiple of step.
func multiples(a set, have types, step *big.Rat) bool {
	whole := func(of *big.Rat) bool { return new(big.Rat).Quo(of, step).IsInt() }
	if have&typeFraction == 0 && whole(big.NewRat(1, 1)) {
		return true
	}
	for _, p := range a.parts {
		if own := rat(p.object()["multipleOf"]); own != nil && whole(own) {
			return true
		}
	}
	return false
}

// limits looks at a pair of counts. least is what the writer surely has without saying so.
func (c *comparison) limits(a set, part node, low, high string, least int) []Change {
	var found []Change
	if want := rat(part.object()[low]); want != nil && want.Sign() > 0 {
		have := strictest(a, low, 1)
		if own := big.NewRat(int64(least), 1); have == nil || have.Cmp(own) < 0 {
			have = own
		}
		if have.Cmp(want) < 0 {
			found = append(found, breaking(part.path+"/"+low, "is "+show(part.object()[low])+", and less was enough"))
		}
	}
	if want := rat(part.object()[high]); want != nil {
		if have := strictest(a, high, -1); have == nil || have.Cmp(want) > 0 {
			found = append(found, breaking(part.path+"/"+high, "is "+show(part.object()[high])+", and more was allowed"))
		}
	}
	return found
}

// strictest is the greatest (sign 1) or least (sign -1) value of a count in a set; nil for none.
func strictest(s set, keyword string, sign int) *big.Rat {
	var out *big.Rat
	for _, p := range s.parts {
		if v := rat(p.object()[keyword]); v != nil && (out == nil || v.Cmp(out)*sign > 0) {
			out = v
		}
	}
	return out
}
