// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rules compiles rule sets and decides calls by them.
//
// It owns: the shape of a set, whom it governs, and the verdict (classes, priorities, ties, errors). What a rule sees of a
// call, its CEL and its message are in package expression. Set is part of the registry document: the manager renders it, the
// dispatcher compiles it, and both call Compile, so that what the dispatcher would refuse is refused in the API.
//
// It is a pure engine: no clock, no I/O, no logging. It must not import Kubernetes packages, the API types, or any other
// package of this module but internal/schema, whose schemas are rules too, and its own expression.
package rules
