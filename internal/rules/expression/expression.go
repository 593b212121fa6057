// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"fmt"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"toolgate.dev/toolgate/internal/rules/cost"
)

// assumed is what every variable of a call is taken to be when a rule is compiled.
var assumed = cost.Uniform(AssumedSize)

// Expression is a compiled CEL expression, safe for concurrent use. What it costs is bounded when it is compiled, for
// values up to AssumedSize, and before an evaluation with larger values, for their true sizes.
type Expression struct {
	program cel.Program
	model   *cost.Model
	reads   reads
	cost    uint64 // at most, in units of package cost, when no value is over AssumedSize
}

// reads says which variables an expression refers to.
type reads struct{ args, rawArgs, context bool }

// Condition compiles an expression that gives true or false.
func Condition(text string) (*Expression, []Problem) { return compile(text, cel.BoolType) }

// Text compiles an expression that gives a string.
func Text(text string) (*Expression, []Problem) { return compile(text, cel.StringType) }

// compile checks text and bounds its cost. want is the type that it must give (dyn passes).
func compile(text string, want *cel.Type) (*Expression, []Problem) {
	env, err := environment()
	if err != nil {
		return nil, []Problem{{Message: err.Error()}}
	}
	if size := utf8.RuneCountInString(text); size > MaxSize {
		return nil, []Problem{{Message: fmt.Sprintf("has %d characters; at most %d are allowed", size, MaxSize)}}
	}
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, positions(issues)
	}
	if got := checked.OutputType(); !got.IsExactType(want) && !got.IsExactType(cel.DynType) {
		return nil, []Problem{{Message: fmt.Sprintf("gives %s, but must give %s", got, want)}}
	}
	if errs := literals(checked); len(errs) > 0 {
		return nil, errs
	}
	model, unbounded := cost.New(checked.NativeRep().Expr())
	if unbounded != nil {
		return nil, []Problem{at(checked, unbounded.ID, unbounded.Text)}
	}
	e := &Expression{model: model, reads: readsOf(checked)}
	if e.cost = model.Bound(func(string) cost.Extent { return assumed }); e.cost > MaxCost {
		return nil, []Problem{{Message: fmt.Sprintf(
			"may cost %s units, over the limit of %d (texts are taken to have up to %d bytes, collections as many members): use fewer nested loops, or simpler conditions inside of them",
			Units(e.cost), MaxCost, AssumedSize)}}
	}
	if e.program, err = env.Program(checked, cel.EvalOptions(cel.OptOptimize)); err != nil {
		return nil, []Problem{{Message: err.Error()}}
	}
	return e, nil
}

// at places an error at a node of the expression.
func at(checked *cel.Ast, id int64, message string) Problem {
	return placed(checked.NativeRep().SourceInfo().GetStartLocation(id), message)
}

// placed counts lines and columns from 1. What the compiler says of an expression as a whole has no place (common.NoLocation).
func placed(place common.Location, message string) Problem {
	if place.Line() < 1 || place.Column() < 0 {
		return Problem{Message: message}
	}
	return Problem{Line: place.Line(), Column: place.Column() + 1, Message: message}
}

// Units writes a cost.
func Units(n uint64) string {
	if n > 1_000_000_000_000 {
		return "over a trillion"
	}
	return fmt.Sprint(n)
}

// positions turns the compiler's issues into errors with line and column, both from 1.
func positions(issues *cel.Issues) []Problem {
	var errs []Problem
	for _, issue := range issues.Errors() {
		errs = append(errs, placed(issue.Location, issue.Message))
	}
	if len(errs) == 0 {
		errs = append(errs, Problem{Message: issues.Err().Error()})
	}
	return errs
}

// literals finds values of our own kinds that the expression makes: rules read them and never make them.
func literals(checked *cel.Ast) []Problem {
	var errs []Problem
	ast.PreOrderVisit(checked.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.StructKind && kindsByName[e.AsStruct().TypeName()] != nil {
			errs = append(errs, at(checked, e.ID(), "values of type "+e.AsStruct().TypeName()+" can't be made"))
		}
	}))
	return errs
}

// readsOf finds the variables that an expression refers to.
func readsOf(checked *cel.Ast) reads {
	var r reads
	ast.PreOrderVisit(checked.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.IdentKind {
			return
		}
		switch name := e.AsIdent(); {
		case name == varArgs:
			r.args = true
		case name == varRawArgs:
			r.rawArgs = true
		case objectVariables[name] != nil:
			r.context = true
		}
	}))
	return r
}

// Cost is what one evaluation may cost, in units of package cost, when no value of the call is over AssumedSize.
func (e *Expression) Cost() uint64 { return e.cost }

// eval evaluates the expression on one call.
func (e *Expression) eval(a *Activation) (ref.Val, error) {
	if a.largest(e.reads) > AssumedSize {
		if bound := e.model.Bound(a.extent); bound > MaxCost {
			return nil, fmt.Errorf("the values of this call are too large for the rule: it may cost %s units, over the limit of %d",
				Units(bound), MaxCost)
		}
	}
	out, _, err := e.program.Eval(a)
	return out, err
}

// Holds evaluates a Condition. Anything but true or false is an error.
func (e *Expression) Holds(a *Activation) (bool, error) {
	out, err := e.eval(a)
	if err != nil {
		return false, err
	}
	b, ok := out.(types.Bool)
	if !ok {
		return false, fmt.Errorf("the condition gives %s, not a bool", out.Type().TypeName())
	}
	return bool(b), nil
}

// Text evaluates a Text. Anything but a string is an error.
func (e *Expression) Text(a *Activation) (string, error) {
	out, err := e.eval(a)
	if err != nil {
		return "", err
	}
	s, ok := out.(types.String)
	if !ok {
		return "", fmt.Errorf("the message gives %s, not a string", out.Type().TypeName())
	}
	return string(s), nil
}
