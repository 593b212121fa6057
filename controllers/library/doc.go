// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package library remembers what several reconcilers need and what is costly to compute twice: which RuleSets compile, the
// schemas of tools, the document that a server's objects ask for, and what its last documents held.
//
// It owns the key under which each of these is known, and the sequence that a new document gets. All of it can be computed
// again, so a restart loses nothing. It does no I/O, and must not import a client or controller-runtime.
package library
