// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"regexp"

	"github.com/google/cel-go/cel"
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
			cel.BinaryBinding(noPattern))),
		cel.Function("findAll", cel.MemberOverload(overloadFindAll, []*cel.Type{cel.StringType, cel.StringType},
			cel.ListType(cel.StringType), cel.BinaryBinding(noPattern))),
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

// noPattern stands where no constant pattern was compiled, which the bound on the cost rules out.
func noPattern(_, _ ref.Val) ref.Val { return types.NewErr("the pattern is no constant") }

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
