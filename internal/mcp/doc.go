// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mcp is the vocabulary of the Model Context Protocol: the names of its methods, the keys that it keeps in _meta, its
// revisions, its error codes and its headers. A new revision of the protocol begins here.
//
// It holds words alone, and how one is written in a header. What they do stands where they are used, and which of them Toolgate serves is for the dispatcher to
// say. It imports nothing of the project. The tests' own servers and clients spell the protocol themselves, so that a word that
// is wrong here does not agree with itself; so does the tokenizer (internal/jsonrpc), to which a test here compares the keys.
package mcp
