// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"fmt"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
)

// Error says what of an expression can't be bounded.
type Error struct {
	ID   int64 // of the node, in the source info of the expression
	Text string
}

func (e *Error) Error() string { return e.Text }

// Model bounds what one evaluation of an expression costs. It is safe for concurrent use.
type Model struct {
	root     ast.Expr
	patterns map[int64]uint64 // instructions of constant patterns, by the pattern's node; complete once the model is made
}

// New makes the model of a checked expression, or says what of it can't be bounded, whatever the values.
func New(root ast.Expr) (*Model, *Error) {
	m := &Model{root: root, patterns: map[int64]uint64{}}
	s := m.estimate(func(string) Extent { return scalar })
	s.value(root)
	if s.err != nil {
		return nil, s.err
	}
	return m, nil
}

// Bound gives the units that one evaluation costs at most, saturated, when each variable is within its extent.
func (m *Model) Bound(variable func(name string) Extent) uint64 {
	s := m.estimate(variable)
	s.value(m.root)
	return s.units
}

// estimate goes through one expression. It is used once, by one goroutine.
type estimate struct {
	variable func(name string) Extent // of the call
	patterns map[int64]uint64         // of the model: filled when first met
	locals   map[string]Extent
	units    uint64
	err      *Error // the first
}

func (m *Model) estimate(variable func(name string) Extent) *estimate {
	return &estimate{variable: variable, patterns: m.patterns, locals: map[string]Extent{}}
}

func (s *estimate) charge(units uint64) { s.units = addSat(s.units, units) }

func (s *estimate) refuse(e ast.Expr, format string, args ...any) Extent {
	if s.err == nil {
		s.err = &Error{e.ID(), fmt.Sprintf(format, args...)}
	}
	return *boundless
}

// value bounds what an expression gives, and charges what it costs.
func (s *estimate) value(e ast.Expr) Extent {
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
		list := Extent{nodes: 1}
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
	case ast.UnspecifiedExprKind:
	}
	return s.refuse(e, "can't be bounded in its cost")
}

// with bounds a collection with one more element.
func with(list, element Extent) Extent {
	list.count = addSat(list.count, 1)
	list.nodes, list.bytes = addSat(list.nodes, element.nodes), addSat(list.bytes, element.bytes)
	element.named = nil
	list.each = eitherEach(list.each, &element, maxJoin)
	return list
}

func literalExtent(e ast.Expr) Extent {
	switch v := e.AsLiteral().(type) {
	case types.String:
		return textOf(uint64(len(v)))
	case types.Bytes:
		return textOf(uint64(len(v)))
	default:
		return scalar
	}
}

func (s *estimate) entries(entries []ast.EntryExpr) Extent {
	m := Extent{nodes: 1}
	for _, entry := range entries {
		m = with(m, s.value(entry.AsMapEntry().Key()))
		m = with(m, s.value(entry.AsMapEntry().Value()))
	}
	return m
}

func (s *estimate) fields(fields []ast.EntryExpr) Extent {
	m := Extent{nodes: 1}
	for _, f := range fields {
		m = with(m, s.value(f.AsStructField().Value()))
	}
	return m
}

// loop bounds a comprehension. Comprehensions come from CEL's macros alone: they add to their accumulator, or keep it, so
// what a round adds is found with an empty one.
func (s *estimate) loop(c ast.ComprehensionExpr) Extent {
	over := s.value(c.IterRange())
	rounds := over.count
	result := s.value(c.AccuInit())

	outer := s.units
	s.units = 0
	restore := s.bind(map[string]Extent{
		c.IterVar(): over.element(), c.IterVar2(): over.element(), c.AccuVar(): {},
	})
	s.value(c.LoopCondition())
	added := s.value(c.LoopStep())
	restore()
	s.units = addSat(outer, mulSat(s.units, rounds))

	if rounds > 0 {
		result = both(result, added.times(rounds))
	}
	restore = s.bind(map[string]Extent{c.AccuVar(): result})
	defer restore()
	return s.value(c.Result())
}

// bind sets local variables, and gives a function that takes them back.
func (s *estimate) bind(locals map[string]Extent) (restore func()) {
	before := map[string]*Extent{}
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
func (s *estimate) call(e ast.Expr) Extent {
	call := e.AsCall()
	exprs := call.Args()
	if call.IsMemberFunction() {
		exprs = append([]ast.Expr{call.Target()}, exprs...)
	}
	args := make([]Extent, 0, len(exprs))
	for _, arg := range exprs {
		args = append(args, s.value(arg))
	}
	bound, known := functionBounds[call.FunctionName()]
	if !known {
		return s.refuse(e, "calls %s, whose cost can't be bounded", call.FunctionName())
	}
	return bound(s, e, exprs, args)
}
