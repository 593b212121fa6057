// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"errors"
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// expression is a compiled CEL expression, safe for concurrent use.
type expression struct {
	fast    cel.Program
	metered func() (cel.Program, error) // the same, ending at MaxCost: for calls with values over AssumedSize
	reads   reads
	cost    uint64 // at most, when no value is over AssumedSize
}

// reads says which variables an expression refers to.
type reads struct{ args, rawArgs, context bool }

// compileExpression checks text and bounds its cost. want is the type that it must give (dyn passes).
func compileExpression(text string, want *cel.Type) (*expression, []RuleError) {
	env, err := environment()
	if err != nil {
		return nil, []RuleError{{Message: err.Error()}}
	}
	if len(text) > MaxExpressionBytes {
		return nil, []RuleError{{Message: fmt.Sprintf("has %d bytes; at most %d are allowed", len(text), MaxExpressionBytes)}}
	}
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, positions(issues)
	}
	if got := checked.OutputType(); !got.IsExactType(want) && !got.IsExactType(cel.DynType) {
		return nil, []RuleError{{Message: fmt.Sprintf("gives %s, but must give %s", got, want)}}
	}
	estimate, err := env.EstimateCost(checked, sizes{})
	if err != nil {
		return nil, []RuleError{{Message: fmt.Sprintf("its cost can't be bounded: %v", err)}}
	}
	if estimate.Max > MaxCost {
		return nil, []RuleError{{Message: fmt.Sprintf(
			"may cost %s units, over the limit of %d (strings and collections are taken to have up to %d members): use fewer nested loops, or simpler conditions inside of them",
			units(estimate.Max), MaxCost, AssumedSize)}}
	}
	fast, err := env.Program(checked, cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, []RuleError{{Message: err.Error()}}
	}
	return &expression{
		fast: fast, reads: readsOf(checked), cost: estimate.Max,
		metered: sync.OnceValues(func() (cel.Program, error) {
			return env.Program(checked, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(MaxCost))
		}),
	}, nil
}

func units(cost uint64) string {
	if cost > 1_000_000_000_000 {
		return "over a trillion"
	}
	return fmt.Sprint(cost)
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

var errNotMade = errors.New("the program could not be made")

// eval evaluates the expression on one call.
func (e *expression) eval(a *activation) (ref.Val, error) {
	program := e.fast
	if a.large(e.reads) {
		metered, err := e.metered()
		if err != nil {
			return nil, errNotMade
		}
		program = metered
	}
	out, _, err := program.Eval(a)
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

// sizes tells CEL's estimator how large the values of a call are taken to be.
type sizes struct{}

// EstimateSize implements checker.CostEstimator.
func (sizes) EstimateSize(checker.AstNode) *checker.SizeEstimate {
	return &checker.SizeEstimate{Min: 0, Max: AssumedSize}
}

// EstimateCallCost implements checker.CostEstimator.
func (sizes) EstimateCallCost(function, overloadID string, target *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	return nil
}
