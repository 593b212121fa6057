// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package catalog owns the tool definition as MCP servers list it: reading it, its canonical form and digest, what its
// annotations and a person's overrides amount to, and the name of a tool's object.
//
// It is a pure engine: no I/O, no clock, no state. It imports internal/jsonrpc for its tokenizer and nothing else of this
// project, so that manager and dispatcher compute the same digest from the same bytes.
//
// # The canonical form, version 1
//
// The canonical form of a JSON value is the UTF-8 text of that value without white space, where
//
//   - null, true and false are written as such;
//   - a string is written as RFC 8785, section 3.2.2.2, has it: the characters themselves, but \" \\ \b \f \n \r \t for
//     those seven and \u00xx with lower-case digits for the other characters below U+0020. Nothing is normalised;
//   - a number is written as its exact decimal value: 0 for zero, however signed; else an optional minus, the significant
//     digits without zeros in front or behind, the letter e, and the exponent of ten as a plain integer. 1, 1.0 and 10e-1
//     are 1e0, 1200 is 12e2, -0.50 is -5e-1. There is no bound on precision;
//   - an array is its elements in their order, joined by commas, in brackets;
//   - an object is its members sorted by key, joined by commas, in braces; each is its key as a string, a colon, its
//     value. Keys are compared unescaped and by code point, which is the order of their UTF-8 bytes (RFC 8785 differs: it
//     sorts by UTF-16 code unit).
//
// A value with a duplicate key, a lone surrogate, invalid UTF-8, a NUL in a key, an exponent beyond MaxExponent, more than
// MaxBytes, or more nesting than jsonrpc.DefaultMaxDepth has no canonical form. The digest is "v1:sha256:" and the SHA-256 of the canonical
// form in lower-case hexadecimal.
package catalog
