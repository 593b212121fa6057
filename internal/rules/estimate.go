// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
)

// CEL comes with an estimator of cost, and with a meter. Neither is of use against the values that a caller chooses: the
// estimator gives up on values that an expression makes itself (or, told to assume a size, misses that they grow), and
// the meter makes loops over long lists quadratic. So what an expression costs is bounded here, by going through it
// once with upper bounds in place of values. It knows the functions of our environment, and refuses what it does not know.

// cost is in units of some 50 ns: the evaluation of a node, or of 16 bytes of text.

// costError is what can't be bounded, and where it stands.
type costError struct {
	id   int64
	text string
}

func (e *costError) Error() string { return e.text }

// estimate goes through one expression. It is used once, by one goroutine.
type estimate struct {
	variable func(name string) extent // of the call
	patterns map[int64]uint64         // instructions of constant patterns, by the pattern's node; filled when first met
	locals   map[string]extent
	cost     uint64
	err      *costError // the first
}

// newEstimate gives an estimate over the variables of a call.
func newEstimate(patterns map[int64]uint64, variable func(name string) extent) *estimate {
	return &estimate{variable: variable, patterns: patterns, locals: map[string]extent{}}
}

func (s *estimate) charge(units uint64) { s.cost = addSat(s.cost, units) }

func (s *estimate) refuse(e ast.Expr, format string, args ...any) extent {
	if s.err == nil {
		s.err = &costError{e.ID(), fmt.Sprintf(format, args...)}
	}
	return *boundless
}

// value bounds what an expression gives, and charges what it costs.
func (s *estimate) value(e ast.Expr) extent {
	s.charge(1)
	switch e.Kind() {
	case ast.LiteralKind:
		return literalExtent(e)
	case ast.IdentKind:
		name := e.AsIdent()
		if local, ok := s.locals[name]; ok {
			return local
		}
		return s.variable(name)
	case ast.SelectKind:
		operand := s.value(e.AsSelect().Operand())
		if e.AsSelect().IsTestOnly() {
			return scalar
		}
		return operand.member(e.AsSelect().FieldName())
	case ast.CallKind:
		return s.call(e)
	case ast.ListKind:
		list := extent{nodes: 1}
		for _, element := range e.AsList().Elements() {
			list = with(list, s.value(element))
		}
		return list
	case ast.MapKind:
		return s.entries(e.AsMap().Entries())
	case ast.StructKind:
		return s.fields(e.AsStruct().Fields())
	case ast.ComprehensionKind:
		return s.loop(e.AsComprehension())
	default:
		return s.refuse(e, "can't be bounded in its cost")
	}
}

// with bounds a collection with one more element.
func with(list, element extent) extent {
	list.count = addSat(list.count, 1)
	list.nodes, list.bytes = addSat(list.nodes, element.nodes), addSat(list.bytes, element.bytes)
	element.named = nil
	list.each = eitherEach(list.each, &element, maxJoin)
	return list
}

func literalExtent(e ast.Expr) extent {
	switch v := e.AsLiteral().(type) {
	case types.String:
		return textOf(uint64(len(v)))
	case types.Bytes:
		return textOf(uint64(len(v)))
	default:
		return scalar
	}
}

func (s *estimate) entries(entries []ast.EntryExpr) extent {
	m := extent{nodes: 1}
	for _, entry := range entries {
		m = with(m, s.value(entry.AsMapEntry().Key()))
		m = with(m, s.value(entry.AsMapEntry().Value()))
	}
	return m
}

func (s *estimate) fields(fields []ast.EntryExpr) extent {
	m := extent{nodes: 1}
	for _, f := range fields {
		m = with(m, s.value(f.AsStructField().Value()))
	}
	return m
}

// loop bounds a comprehension. Comprehensions come from CEL's macros alone: they add to their accumulator, or keep it, so
// what a round adds is found with an empty one.
func (s *estimate) loop(c ast.ComprehensionExpr) extent {
	over := s.value(c.IterRange())
	rounds := over.count
	result := s.value(c.AccuInit())

	outer := s.cost
	s.cost = 0
	restore := s.bind(map[string]extent{
		c.IterVar(): over.element(), c.IterVar2(): over.element(), c.AccuVar(): {},
	})
	s.value(c.LoopCondition())
	added := s.value(c.LoopStep())
	restore()
	s.cost = addSat(outer, mulSat(s.cost, rounds))

	if rounds > 0 {
		result = both(result, added.times(rounds))
	}
	restore = s.bind(map[string]extent{c.AccuVar(): result})
	defer restore()
	return s.value(c.Result())
}

// bind sets local variables, and gives a function that takes them back.
func (s *estimate) bind(locals map[string]extent) (restore func()) {
	before := map[string]*extent{}
	for name, value := range locals {
		before[name] = nil
		if outer, ok := s.locals[name]; ok {
			before[name] = &outer
		}
		s.locals[name] = value
	}
	return func() {
		for name, value := range before {
			if value == nil {
				delete(s.locals, name)
			} else {
				s.locals[name] = *value
			}
		}
	}
}

// call bounds a function call: the target, if there is one, is the first argument.
func (s *estimate) call(e ast.Expr) extent {
	call := e.AsCall()
	exprs := call.Args()
	if call.IsMemberFunction() {
		exprs = append([]ast.Expr{call.Target()}, exprs...)
	}
	args := make([]extent, 0, len(exprs))
	for _, arg := range exprs {
		args = append(args, s.value(arg))
	}
	bound, known := functionBounds[call.FunctionName()]
	if !known {
		return s.refuse(e, "calls %s, whose cost can't be bounded", call.FunctionName())
	}
	return bound(s, e, exprs, args)
}
