// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rules compiles rule sets and decides calls by them.
//
// It owns: the verdict (classes, priorities, ties, errors), the CEL environment that rules see, the limits on what a rule
// may cost (package cost bounds what it does cost), and the words of a rule's message. Set is part of the registry
// document: the manager renders it, the dispatcher compiles it, and both call Compile, so that what the dispatcher would
// refuse is refused in the API.
//
// It is a pure engine: no clock, no I/O, no logging. It must not import Kubernetes packages, the API types, or any other
// package of this module but internal/schema, whose schemas are rules too, and its own cost.
package rules
