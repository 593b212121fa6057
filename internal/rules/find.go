// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"math"
	"regexp"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// findLibrary adds find and findAll as Kubernetes has them: `'a1b2'.find('[0-9]')` is '1', or ” where nothing matches;
// `'a1b2'.findAll('[0-9]')` is ['1', '2']. Patterns are RE2's, so time is linear in the text.
type findLibrary struct{}

const (
	overloadFind    = "string_find_string"
	overloadFindAll = "string_find_all_string"
)

// LibraryName implements cel.SingletonLibrary.
func (findLibrary) LibraryName() string { return "toolgate.find" }

// CompileOptions implements cel.Library.
func (findLibrary) CompileOptions() []cel.EnvOption {
	return []cel.EnvOption{
		cel.Function("find", cel.MemberOverload(overloadFind, []*cel.Type{cel.StringType, cel.StringType}, cel.StringType,
			cel.BinaryBinding(withPattern(find)))),
		cel.Function("findAll", cel.MemberOverload(overloadFindAll, []*cel.Type{cel.StringType, cel.StringType},
			cel.ListType(cel.StringType), cel.BinaryBinding(withPattern(findAll)))),
		cel.CostEstimatorOptions(
			checker.OverloadCostEstimate(overloadFind, estimateFind),
			checker.OverloadCostEstimate(overloadFindAll, estimateFind),
		),
	}
}

// ProgramOptions implements cel.Library: constant patterns are compiled once.
func (findLibrary) ProgramOptions() []cel.ProgramOption {
	return []cel.ProgramOption{cel.OptimizeRegex(constantPattern("find", find), constantPattern("findAll", findAll))}
}

func find(re *regexp.Regexp, s string) ref.Val { return types.String(re.FindString(s)) }

func findAll(re *regexp.Regexp, s string) ref.Val {
	return types.NewStringList(types.DefaultTypeAdapter, re.FindAllString(s, -1))
}

// withPattern compiles the second argument at each call.
func withPattern(apply func(*regexp.Regexp, string) ref.Val) func(ref.Val, ref.Val) ref.Val {
	return func(target, pattern ref.Val) ref.Val {
		s, isText := target.Value().(string)
		p, isPattern := pattern.Value().(string)
		if !isText || !isPattern {
			return types.NoSuchOverloadErr()
		}
		re, err := regexp.Compile(p)
		if err != nil {
			return types.NewErr("the pattern can't be used: %s", err.Error())
		}
		return apply(re, s)
	}
}

// constantPattern compiles the pattern when the program is made.
func constantPattern(function string, apply func(*regexp.Regexp, string) ref.Val) *interpreter.RegexOptimization {
	return &interpreter.RegexOptimization{
		Function:   function,
		RegexIndex: 1,
		Factory: func(call interpreter.InterpretableCall, pattern string) (interpreter.InterpretableCall, error) {
			re, err := regexp.Compile(pattern)
			if err != nil {
				return nil, err
			}
			return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(values ...ref.Val) ref.Val {
				s, ok := values[0].Value().(string)
				if !ok {
					return types.NoSuchOverloadErr()
				}
				return apply(re, s)
			}), nil
		},
	}
}

// patternCostFactor is what CEL itself charges for `matches`, per character of the text and of the pattern.
const patternCostFactor = 0.1 * 0.25

func estimateFind(estimator checker.CostEstimator, target *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	if target == nil || len(args) != 1 {
		return nil
	}
	text, pattern := sizeOfNode(estimator, *target), sizeOfNode(estimator, args[0])
	cost := uint64(math.Ceil(float64(text.Max+1) * float64(pattern.Max+1) * patternCostFactor))
	return &checker.CallEstimate{
		CostEstimate: checker.CostEstimate{Min: 1, Max: cost},
		ResultSize:   &checker.SizeEstimate{Min: 0, Max: text.Max + 1},
	}
}

func sizeOfNode(estimator checker.CostEstimator, node checker.AstNode) checker.SizeEstimate {
	if size := node.ComputedSize(); size != nil {
		return *size
	}
	if size := estimator.EstimateSize(node); size != nil {
		return *size
	}
	return checker.UnknownSizeEstimate()
}
