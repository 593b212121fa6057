// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jsonrpc owns the strict tokenizer and the envelope of MCP messages: JSON-RPC 2.0 over JSON as RFC 8259 has it.
//
// It refuses whatever two readers could understand differently: duplicate keys at any depth (compared unescaped),
// invalid UTF-8, a byte order mark, lone surrogates, NUL in keys, trailing data, batches, and keys that differ from a
// protocol key by case alone. What it accepts it never decodes and encodes again: values are sub-slices of the input, and
// the Append and Replace functions copy them byte for byte.
//
// The tokenizer notes the members of the protocol while it reads, so that a message is read once: that is why it and the
// envelope are one package.
//
// Slices that this package returns alias the input. The input must not change while they are in use.
//
// The package is a leaf: it imports nothing else of this project and, so that no second reader takes part in a decision,
// no other JSON package.
package jsonrpc
