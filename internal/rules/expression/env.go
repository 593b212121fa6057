// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
)

// Limits of one CEL expression, held when it is compiled.
const (
	MaxSize        = 8192 // characters
	maxNodes       = 2000
	maxNesting     = 64
	maxPatternSize = 2000 // instructions of one regular expression
	// MaxCost is what one evaluation may cost, in units of some 50 ns. A rule is refused when it may cost more on values up
	// to AssumedSize (bytes of a text, values within a collection); on a call with larger values for which it may, the
	// rule fails with an error that says so.
	MaxCost     = 1_000_000
	AssumedSize = 256
)

// Variables that rules see.
const (
	varTool      = "tool"
	varArgs      = "args"
	varRawArgs   = "rawArgs"
	varServer    = "server"
	varCaller    = "caller"
	varClient    = "client"
	varCall      = "call"
	varConfirmed = "confirmed"
)

// environment is the CEL environment of all rules. Beside CEL's own functions it has those that users of Kubernetes know:
// strings, sets, lists, math, base64, cel.bind, comprehensions over two variables, optional values, find and findAll.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	base, err := cel.NewEnv(
		cel.OptionalTypes(),
		cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true),
		cel.ParserExpressionSizeLimit(MaxSize),
		cel.ParserRecursionLimit(maxNesting),
		cel.ExpressionNodeLimit(maxNodes),
		cel.ExpressionNestingDepthLimit(maxNesting),
		cel.RegexProgramSizeLimit(maxPatternSize),
		cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateRegexLiterals()),
		ext.Strings(ext.StringsVersion(5)),
		ext.Sets(),
		ext.Lists(ext.ListsVersion(4)),
		ext.Math(ext.MathVersion(3)),
		ext.Encoders(ext.EncodersVersion(1)),
		ext.Bindings(ext.BindingsVersion(0)),
		ext.TwoVarComprehensions(),
		cel.Lib(findLibrary{}),
	)
	if err != nil {
		return nil, fmt.Errorf("making the CEL environment: %w", err)
	}
	vars := []cel.EnvOption{
		cel.CustomTypeProvider(provider{base.CELTypeProvider()}),
		cel.CustomTypeAdapter(adapter{base.CELTypeAdapter()}),
		cel.Variable(varArgs, cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable(varRawArgs, cel.MapType(cel.StringType, cel.DynType)),
	}
	for name, kind := range objectVariables {
		vars = append(vars, cel.Variable(name, types.NewObjectType(kind.name)))
	}
	env, err := base.Extend(vars...)
	if err != nil {
		return nil, fmt.Errorf("making the CEL environment: %w", err)
	}
	return env, nil
})
