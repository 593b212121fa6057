// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"maps"
	"math/bits"
	"regexp/syntax"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
)

// bound charges for one call of a function, beyond its arguments, and bounds what it gives.
type bound func(s *estimate, e ast.Expr, exprs []ast.Expr, args []Extent) Extent

// Functions names every function whose calls can be bounded, sorted: what the environment of an expression may hold.
func Functions() []string { return slices.Sorted(maps.Keys(functionBounds)) }

var functionBounds = map[string]bound{}

func init() {
	for b, names := range map[*bound][]string{
		ptr(boundScalar): {
			"!_", "-_", "@not_strictly_false", "__not_strictly_false__", "_%_", "_&&_", "_*_", "_-_", "_/_", "_||_",
			"hasValue", "optional.none", "type",
			"math.abs", "math.bitAnd", "math.bitNot", "math.bitOr", "math.bitShiftLeft", "math.bitShiftRight", "math.bitXor", "math.ceil",
			"math.floor", "math.isFinite", "math.isInf", "math.isNaN", "math.round", "math.sign", "math.sqrt", "math.trunc",
			"bool", "double", "duration", "int", "timestamp", "uint",
			"contains", "endsWith", "startsWith", "size",
		},
		ptr(boundCalendar): {
			"getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear", "getHours", "getMilliseconds", "getMinutes",
			"getMonth", "getSeconds",
		},
		ptr(boundExtreme): {"math.@max", "math.@min"},
		ptr(boundSearch):  {"indexOf", "lastIndexOf"},
		ptr(boundCompare): {"_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"},
		ptr(boundIn):      {"@in", "_in_", "in"},
		ptr(boundSets):    {"sets.contains", "sets.equivalent", "sets.intersects"},
		ptr(boundSame): {
			"dyn", "optional.of", "optional.ofNonZeroValue", "optional.unwrap", "unwrapOpt", "value", "slice", "reverse",
			"lowerAscii", "upperAscii", "trim", "substring", "charAt", "bytes", "base64.decode",
		},
		ptr(boundEither):   {"or", "orValue"},
		ptr(boundTernary):  {"_?_:_"},
		ptr(boundIndex):    {"_[_]", "_[?_]", "_?._"},
		ptr(boundElement):  {"first", "last"},
		ptr(boundConcat):   {"_+_"},
		ptr(boundInsert):   {"cel.@mapInsert"},
		ptr(boundSplit):    {"split"},
		ptr(boundReplace):  {"replace"},
		ptr(boundJoin):     {"join"},
		ptr(boundText):     {"string", "strings.quote", "base64.encode", "json.encode", "format"},
		ptr(boundPattern):  {"matches", "find", "findAll"},
		ptr(boundSort):     {"sort", "@sortByAssociatedKeys"},
		ptr(boundDistinct): {"distinct"},
		ptr(boundFlatten):  {"flatten"},
		ptr(boundRange):    {"lists.range"},
	} {
		for _, name := range names {
			functionBounds[name] = *b
		}
	}
}

func ptr(b bound) *bound { return &b }

// boundScalar goes through texts once.
func boundScalar(s *estimate, _ ast.Expr, _ []ast.Expr, args []Extent) Extent {
	for _, arg := range args {
		s.charge(arg.text / 16)
	}
	return scalar
}

// zone is what looking for a zone of time costs: some 80 microseconds where there is none of that name, as it is a file.
const zone = 2000

func boundCalendar(s *estimate, e ast.Expr, exprs []ast.Expr, args []Extent) Extent {
	if len(args) > 1 {
		s.charge(zone)
	}
	return boundScalar(s, e, exprs, args)
}

func boundExtreme(s *estimate, _ ast.Expr, _ []ast.Expr, args []Extent) Extent {
	for _, arg := range args {
		s.charge(arg.count)
	}
	return scalar
}

// boundSearch: CEL's indexOf compares at every place.
func boundSearch(s *estimate, _ ast.Expr, _ []ast.Expr, args []Extent) Extent {
	s.charge(addSat(args[0].text, mulSat(args[0].text, args[1].text)/16))
	return scalar
}

func boundCompare(s *estimate, _ ast.Expr, _ []ast.Expr, args []Extent) Extent {
	s.charge(min(args[0].whole(), args[1].whole()))
	return scalar
}

// boundIn: an element is compared with each, or looked up.
func boundIn(s *estimate, _ ast.Expr, _ []ast.Expr, args []Extent) Extent {
	s.charge(addSat(args[1].whole(), args[0].text/16))
	return scalar
}

func boundSets(s *estimate, _ ast.Expr, _ []ast.Expr, args []Extent) Extent {
	s.charge(addSat(mulSat(args[0].count, args[1].whole()), mulSat(args[1].count, args[0].whole())))
	return scalar
}

// boundSame gives the value, a part of it, or one of the same size.
func boundSame(s *estimate, _ ast.Expr, _ []ast.Expr, args []Extent) Extent {
	s.charge(addSat(args[0].text/8, args[0].count))
	return args[0]
}

func boundEither(_ *estimate, _ ast.Expr, _ []ast.Expr, args []Extent) Extent {
	return either(args[0], args[1])
}

func boundTernary(_ *estimate, _ ast.Expr, _ []ast.Expr, args []Extent) Extent {
	return either(args[1], args[2])
}

func boundIndex(_ *estimate, _ ast.Expr, exprs []ast.Expr, args []Extent) Extent {
	if exprs[1].Kind() == ast.LiteralKind {
		if name, ok := exprs[1].AsLiteral().(types.String); ok {
			return args[0].member(string(name))
		}
	}
	return args[0].element()
}

func boundElement(_ *estimate, _ ast.Expr, _ []ast.Expr, args []Extent) Extent {
	return args[0].element()
}

func boundConcat(s *estimate, _ ast.Expr, _ []ast.Expr, args []Extent) Extent {
	sum := args[0]
	for _, arg := range args[1:] {
		sum = both(sum, arg)
	}
	s.charge(addSat(sum.text/16, sum.count))
	return sum
}

// boundInsert: a key and its value become elements of the map, unlike the entries of another map.
func boundInsert(s *estimate, e ast.Expr, exprs []ast.Expr, args []Extent) Extent {
	if len(args) < 3 {
		return boundConcat(s, e, exprs, args)
	}
	s.charge(addSat(args[0].count, 2))
	return with(with(args[0], args[1]), args[2])
}

func boundSplit(s *estimate, _ ast.Expr, _ []ast.Expr, args []Extent) Extent {
	s.charge(args[0].text)
	return partsOf(args[0].text)
}

func boundReplace(s *estimate, _ ast.Expr, _ []ast.Expr, args []Extent) Extent {
	size := addSat(args[0].text, mulSat(addSat(args[0].text, 1), args[2].text))
	s.charge(size / 16)
	return textOf(size)
}

func boundJoin(s *estimate, _ ast.Expr, _ []ast.Expr, args []Extent) Extent {
	size := args[0].bytes
	if len(args) > 1 {
		size = addSat(size, mulSat(args[0].count, args[1].text))
	}
	s.charge(addSat(args[0].count, size/16))
	return textOf(size)
}

// boundText: each value becomes text, each byte at most six (an escape), each number at most some hundred digits; a format
// has at most a clause for two of its bytes, each with at most 500 characters of padding and digits.
func boundText(s *estimate, e ast.Expr, _ []ast.Expr, args []Extent) Extent {
	var size uint64
	for _, arg := range args {
		size = addSat(size, addSat(mulSat(arg.bytes, 6), mulSat(arg.nodes, 64)))
	}
	if e.AsCall().FunctionName() == "format" {
		size = addSat(size, mulSat(args[0].text, 256))
	}
	s.charge(size / 16)
	return textOf(size)
}

// boundPattern: RE2 goes through a text once, with as many states as the pattern has. What a pattern may cost is known
// only of a constant one.
func boundPattern(s *estimate, e ast.Expr, exprs []ast.Expr, args []Extent) Extent {
	if exprs[1].Kind() != ast.LiteralKind {
		return s.refuse(exprs[1], "a pattern must be a constant, so that its cost is known")
	}
	size, known := s.patterns[exprs[1].ID()]
	if !known {
		pattern, _ := exprs[1].AsLiteral().(types.String)
		size = patternSize(string(pattern))
		s.patterns[exprs[1].ID()] = size
	}
	s.charge(mulSat(args[0].text, addSat(size, 8)) / 16)
	switch e.AsCall().FunctionName() {
	case "find":
		return textOf(args[0].text)
	case "findAll":
		s.charge(args[0].text)
		return partsOf(args[0].text)
	default:
		return scalar
	}
}

// patternSize counts the instructions of a pattern, which the compiler has found to be valid.
func patternSize(pattern string) uint64 {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0 // never runs
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return 0
	}
	return uint64(len(program.Inst))
}

func boundSort(s *estimate, _ ast.Expr, _ []ast.Expr, args []Extent) Extent {
	keys := args[len(args)-1]
	s.charge(mulSat(addSat(args[0].count, keys.whole()), uint64(bits.Len64(keys.count))))
	return args[0]
}

func boundDistinct(s *estimate, _ ast.Expr, _ []ast.Expr, args []Extent) Extent {
	s.charge(mulSat(args[0].count, args[0].whole()))
	return args[0]
}

func boundFlatten(s *estimate, _ ast.Expr, _ []ast.Expr, args []Extent) Extent {
	s.charge(args[0].nodes)
	flat := args[0]
	flat.named = nil
	flat.count = flat.nodes
	for level := flat.each; level != nil && level != level.each; level = level.each {
		flat.each = eitherEach(flat.each, level, maxJoin)
	}
	return flat
}

// maxRange is the longest list that lists.range may make.
const maxRange = 10_000

func boundRange(s *estimate, e ast.Expr, exprs []ast.Expr, _ []Extent) Extent {
	if exprs[0].Kind() == ast.LiteralKind {
		if n, ok := exprs[0].AsLiteral().(types.Int); ok && n >= 0 && n <= maxRange {
			s.charge(uint64(n))
			element := scalar
			return Extent{count: uint64(n), nodes: uint64(n) + 1, each: &element}
		}
	}
	return s.refuse(e, "lists.range takes a constant of at most %d", maxRange)
}
