// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schema compiles the JSON Schemas of MCP tools and validates arguments and results against them.
//
// It owns which dialects are read (draft-04, -06, -07, 2019-09, 2020-12), and the limits that a schema and an instance must
// keep so that compiling and validating stay cheap. The words in which a violation is told to a model are those of violation.
// Compiling, bounding and validating share one graph of subschemas, and so are one package.
// It reads no file and no network: a $ref that leaves the schema is refused, whatever its scheme.
//
// It is a pure engine, called by the manager and the dispatcher alike: no clock, no I/O, no logging. It must not import
// Kubernetes packages, the API types, or any other package of this module but internal/jsonrpc, quick, pattern and violation.
package schema
