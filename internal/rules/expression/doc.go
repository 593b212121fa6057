// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package expression compiles what rules write in CEL, and the messages that they fill in, and evaluates both on one call.
//
// It owns what rules see of a call (Input) and under which names, the CEL environment, and the limits of one expression
// (package cost bounds what it costs). It knows nothing of rules, sets and verdicts.
//
// It is a pure engine: no clock, no I/O, no logging. It must not import any other package of this module but
// internal/schema, which decodes arguments, and internal/rules/cost.
package expression

// Problem is one reason why a text does not compile.
type Problem struct {
	Line    int // 1-based; 0 where there is no place
	Column  int // 1-based
	Message string
}
