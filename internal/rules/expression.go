// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"toolgate.dev/toolgate/internal/rules/cost"
)

// assumed is what every variable of a call is taken to be when a rule is compiled.
var assumed = cost.Uniform(AssumedSize)

// expression is a compiled CEL expression, safe for concurrent use. What it costs is bounded when it is compiled, for
// values up to AssumedSize, and before an evaluation with larger values, for their true sizes.
type expression struct {
	program cel.Program
	model   *cost.Model
	reads   reads
	cost    uint64 // at most, in units of package cost, when no value is over AssumedSize
}

// reads says which variables an expression refers to.
type reads struct{ args, rawArgs, context bool }

// compileExpression checks text and bounds its cost. want is the type that it must give (dyn passes).
func compileExpression(text string, want *cel.Type) (*expression, []RuleError) {
	env, err := environment()
	if err != nil {
		return nil, []RuleError{{Message: err.Error()}}
	}
	if size := utf8.RuneCountInString(text); size > MaxExpressionSize {
		return nil, []RuleError{{Message: fmt.Sprintf("has %d characters; at most %d are allowed", size, MaxExpressionSize)}}
	}
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, positions(issues)
	}
	if got := checked.OutputType(); !got.IsExactType(want) && !got.IsExactType(cel.DynType) {
		return nil, []RuleError{{Message: fmt.Sprintf("gives %s, but must give %s", got, want)}}
	}
	if errs := literals(checked); len(errs) > 0 {
		return nil, errs
	}
	model, unbounded := cost.New(checked.NativeRep().Expr())
	if unbounded != nil {
		return nil, []RuleError{at(checked, unbounded.ID, unbounded.Text)}
	}
	e := &expression{model: model, reads: readsOf(checked)}
	if e.cost = model.Bound(func(string) cost.Extent { return assumed }); e.cost > MaxCost {
		return nil, []RuleError{{Message: fmt.Sprintf(
			"may cost %s units, over the limit of %d (texts are taken to have up to %d bytes, collections as many members): use fewer nested loops, or simpler conditions inside of them",
			units(e.cost), MaxCost, AssumedSize)}}
	}
	if e.program, err = env.Program(checked, cel.EvalOptions(cel.OptOptimize)); err != nil {
		return nil, []RuleError{{Message: err.Error()}}
	}
	return e, nil
}

// at places an error at a node of the expression.
func at(checked *cel.Ast, id int64, message string) RuleError {
	place := checked.NativeRep().SourceInfo().GetStartLocation(id)
	return RuleError{Line: place.Line(), Column: place.Column() + 1, Message: message}
}

func units(n uint64) string {
	if n > 1_000_000_000_000 {
		return "over a trillion"
	}
	return fmt.Sprint(n)
}

// positions turns the compiler's issues into errors with line and column, both from 1.
func positions(issues *cel.Issues) []RuleError {
	var errs []RuleError
	for _, issue := range issues.Errors() {
		errs = append(errs, RuleError{Line: issue.Location.Line(), Column: issue.Location.Column() + 1, Message: issue.Message})
	}
	if len(errs) == 0 {
		errs = append(errs, RuleError{Message: issues.Err().Error()})
	}
	return errs
}

// literals finds values of our own kinds that the expression makes: rules read them and never make them.
func literals(checked *cel.Ast) []RuleError {
	var errs []RuleError
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

// eval evaluates the expression on one call.
func (e *expression) eval(a *activation) (ref.Val, error) {
	if a.largest(e.reads) > AssumedSize {
		if bound := e.model.Bound(a.extent); bound > MaxCost {
			return nil, fmt.Errorf("the values of this call are too large for the rule: it may cost %s units, over the limit of %d",
				units(bound), MaxCost)
		}
	}
	out, _, err := e.program.Eval(a)
	return out, err
}

// holds evaluates a condition. Anything but true or false is an error.
func (e *expression) holds(a *activation) (bool, error) {
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
