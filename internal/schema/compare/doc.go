// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package compare says what differs between two JSON Schemas of a tool, where, and whether it breaks anybody.
//
// It owns the rules by which a difference is a patch, minor or breaking. A schema of arguments breaks its callers if
// anything that was valid before is not valid now; a schema of results breaks its readers if anything that is valid now was
// not valid before. Both are one question: is every value of one schema a value of the other? That can't always be decided;
// what isn't is breaking and says so.
//
// Members that a schema neither declares nor describes by additionalProperties are nobody's promise: a new optional
// parameter is no break, though a caller may have sent a member of that name before.
//
// It is one package because each keyword is judged by asking the same question of what stands below it.
//
// It is a pure engine, bounded in what it looks at: no clock, no I/O. It imports internal/schema, its patterns and
// internal/jsonrpc, and nothing else of this project.
package compare
