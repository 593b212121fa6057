// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Error codes that JSON-RPC 2.0, section 5.1, defines.
const (
	CodeParseError     int64 = -32700
	CodeInvalidRequest int64 = -32600
	CodeMethodNotFound int64 = -32601
	CodeInvalidParams  int64 = -32602
	CodeInternalError  int64 = -32603
)

// Cause classes a SyntaxError, for metrics and for tests.
type Cause string

// The causes of a SyntaxError.
const (
	CauseSyntax       Cause = "syntax"        // not JSON by the grammar of RFC 8259
	CauseEncoding     Cause = "encoding"      // invalid UTF-8, or a byte order mark
	CauseSurrogate    Cause = "surrogate"     // an escaped surrogate without its other half
	CauseDuplicateKey Cause = "duplicate-key" // one key twice in one object
	CauseNULKey       Cause = "nul-in-key"    // U+0000 in a key
	CauseTrailing     Cause = "trailing-data" // more than one value
	CauseDepth        Cause = "too-deep"      // more nesting than Limits.MaxDepth
	CauseSize         Cause = "too-large"     // more bytes than Limits.MaxBytes
	CauseNumber       Cause = "number-range"  // a number beyond Limits.MaxDigits or Limits.MaxExponent
)

// SyntaxError says where and why an input is not one strict JSON value. Its JSON-RPC code is CodeParseError.
type SyntaxError struct {
	Cause  Cause
	Offset int    // index of the offending byte in the input
	Path   string // JSON Pointer (RFC 6901) of the value or member being read; a long key or path ends in "…"
	Reason string // what is wrong and what would be right

	tokens []string // reference tokens of Path, innermost first, until finish joins them
}

// Error gives the reason with its path and offset.
func (e *SyntaxError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("invalid JSON at byte %d: %s", e.Offset, e.Reason)
	}
	return fmt.Sprintf("invalid JSON at byte %d (%s): %s", e.Offset, e.Path, e.Reason)
}

// within records that the error lies inside the member or element that token names.
func (e *SyntaxError) within(token string) *SyntaxError {
	e.tokens = append(e.tokens, token)
	return e
}

func (e *SyntaxError) finish() *SyntaxError {
	e.Path, e.tokens = pointer(e.tokens), nil
	return e
}

// InvalidError says why strict JSON is not a JSON-RPC 2.0 message as MCP has it. Its JSON-RPC code is CodeInvalidRequest.
type InvalidError struct {
	ID     ID     // of the message, where it could be read; else zero, which is written as null
	Path   string // JSON Pointer (RFC 6901) of the offending member; "" is the message itself
	Reason string // what is wrong and what would be right
}

// Error gives the reason with its path.
func (e *InvalidError) Error() string {
	if e.Path == "" {
		return "invalid message: " + e.Reason
	}
	return fmt.Sprintf("invalid message (%s): %s", e.Path, e.Reason)
}

// CollisionError says that a key inside the arguments of a call could be read as another key by a reader that ignores
// case.
type CollisionError struct {
	Path  string // JSON Pointer (RFC 6901) of the offending member, from the root of the arguments
	Key   string // the key as sent, unescaped
	Other string // the declared property or the other key that it folds to
}

// Error names both keys and the place.
func (e *CollisionError) Error() string {
	return fmt.Sprintf("%s: key %s differs only in case from %s; a reader that ignores case would confuse them",
		e.Path, strconv.Quote(shorten(e.Key)), strconv.Quote(shorten(e.Other)))
}

// Bounds on what a path adds to an error: keys are the sender's, and may be megabytes.
const (
	maxShownKey    = 100 // bytes
	maxShownTokens = 32
)

// pointer writes a JSON Pointer of reference tokens that come innermost first.
func pointer(tokens []string) string {
	var b strings.Builder
	for i, token := range slices.Backward(tokens) {
		if len(tokens)-i > maxShownTokens {
			b.WriteString("/…")
			break
		}
		b.WriteByte('/')
		b.WriteString(EscapeToken(shorten(token)))
	}
	return b.String()
}

var tokenEscaper, tokenUnescaper = strings.NewReplacer("~", "~0", "/", "~1"), strings.NewReplacer("~1", "/", "~0", "~")

// EscapeToken writes a name as a reference token of a JSON Pointer (RFC 6901, section 3).
func EscapeToken(name string) string { return tokenEscaper.Replace(name) }

// UnescapeToken reads a reference token of a JSON Pointer as the name that it stands for (RFC 6901, section 4).
func UnescapeToken(token string) string { return tokenUnescaper.Replace(token) }

func shorten(key string) string {
	if len(key) <= maxShownKey {
		return key
	}
	return strings.ToValidUTF8(key[:maxShownKey], "") + "…"
}
