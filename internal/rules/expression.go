// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// expression is a compiled CEL expression, safe for concurrent use.
//
// CEL can meter an evaluation, but that makes each one several times slower and loops over long lists quadratic. So cost
// is only ever estimated: when compiled, for values up to AssumedSize, and before an evaluation with larger values, for
// their true sizes.
type expression struct {
	program cel.Program
	checked *cel.Ast
	reads   reads
	cost    uint64 // at most, when no value is over AssumedSize
	comfort int    // values up to this size keep the cost under MaxCost
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
	e := &expression{checked: checked, reads: readsOf(checked), comfort: AssumedSize}
	if e.cost, err = estimate(checked, uniform(AssumedSize)); err != nil {
		return nil, []RuleError{{Message: fmt.Sprintf("its cost can't be bounded: %v", err)}}
	}
	if e.cost > MaxCost {
		return nil, []RuleError{{Message: fmt.Sprintf(
			"may cost %s units, over the limit of %d (strings and collections are taken to have up to %d members): use fewer nested loops, or simpler conditions inside of them",
			units(e.cost), MaxCost, AssumedSize)}}
	}
	for size := 8 * AssumedSize; size <= maxComfort; size *= 8 {
		if cost, err := estimate(checked, uniform(size)); err != nil || cost > MaxCost {
			break
		}
		e.comfort = size
	}
	if e.program, err = env.Program(checked, cel.EvalOptions(cel.OptOptimize)); err != nil {
		return nil, []RuleError{{Message: err.Error()}}
	}
	return e, nil
}

// estimate gives the most that an evaluation costs when values have these sizes.
//
// The elements of a list that the expression makes itself have no path. For them CEL may know a size, or nothing at all,
// so both are tried: to let CEL tell, and to take them to be as large as any value of the call. Each gives a bound.
func estimate(checked *cel.Ast, of sizes) (uint64, error) {
	env, err := environment()
	if err != nil {
		return 0, err
	}
	pessimist, err := env.EstimateCost(checked, estimator{of, true})
	if err != nil || pessimist.Max <= MaxCost {
		return pessimist.Max, err
	}
	trusting, err := env.EstimateCost(checked, estimator{of, false})
	return min(pessimist.Max, trusting.Max), err
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

// literals finds values of our own kinds that the expression makes: rules read them and never make them.
func literals(checked *cel.Ast) []RuleError {
	var errs []RuleError
	tree := checked.NativeRep()
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.StructKind && kindsByName[e.AsStruct().TypeName()] != nil {
			at := tree.SourceInfo().GetStartLocation(e.ID())
			errs = append(errs, RuleError{Line: at.Line(), Column: at.Column() + 1,
				Message: "values of type " + e.AsStruct().TypeName() + " can't be made"})
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
	if a.largest(e.reads) > e.comfort {
		cost, err := estimate(e.checked, a.sizes(e.reads))
		if err != nil {
			return nil, fmt.Errorf("bounding the cost: %w", err)
		}
		if cost > MaxCost {
			return nil, fmt.Errorf("the values of this call are too large for the rule: it may cost %s units, over the limit of %d",
				units(cost), MaxCost)
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

// sizes tells how large a value is, by the path to it: a variable, then names of fields or members, and @items and the
// like. It gives false for a path that starts with none of our variables. Only the first three steps of a path can be relied
// upon: the estimator shares the memory of longer ones.
type sizes func(path []string) (size int, known bool)

// uniform takes every value to be of one size.
func uniform(size int) sizes {
	return func(path []string) (int, bool) {
		return size, len(path) == 0 || path[0] == varArgs || path[0] == varRawArgs || objectVariables[path[0]] != nil
	}
}

// estimator tells sizes to CEL's own cost estimation.
type estimator struct {
	sizes     sizes
	pessimist bool // take what has no path to be as large as the largest value
}

// EstimateSize implements checker.CostEstimator.
func (e estimator) EstimateSize(node checker.AstNode) *checker.SizeEstimate {
	size, known := e.sizes(node.Path())
	if !known && !e.pessimist {
		return nil
	}
	if !known {
		size, _ = e.sizes(nil)
	}
	return &checker.SizeEstimate{Min: 0, Max: uint64(size)}
}

// EstimateCallCost implements checker.CostEstimator.
func (estimator) EstimateCallCost(_, _ string, _ *checker.AstNode, _ []checker.AstNode) *checker.CallEstimate {
	return nil
}
