// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cost bounds from above what the evaluation of a CEL expression costs, in units of some 50 ns: the evaluation of
// one node, or of 16 bytes of text.
//
// CEL comes with an estimator of cost, and with a meter. Neither is of use against the values that a caller chooses: the
// estimator gives up on values that an expression makes itself (or, told to assume a size, misses that they grow), and
// the meter makes loops over long lists quadratic. So the expression is gone through once with upper bounds, Extents, in
// place of values. The package knows the functions of the rules' environment and refuses what it does not know.
//
// It is a pure engine of internal/rules and imports nothing else of this module.
package cost
