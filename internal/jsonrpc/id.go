// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"bytes"
)

// ID is the id of a request: the bytes of a JSON string or of a JSON integer, kept verbatim. MCP (Base Protocol, Requests)
// allows nothing else: not null, no fraction, no exponent. The zero ID stands for no id and is written as null, which
// JSON-RPC 2.0, section 5, demands of an error whose request had no readable id.
//
// IDs are compared with Equal, or by their Key in maps: one string has many spellings.
type ID struct {
	raw []byte
}

// IDFromString returns the id that is the string s.
func IDFromString(s string) ID {
	return ID{raw: AppendString(nil, s)}
}

// ParseID returns the id whose JSON is raw, and false if raw is neither a string nor an integer. The raw value must be part
// of a checked value; the ID aliases it.
func ParseID(raw []byte) (ID, bool) {
	raw = trim(raw)
	if len(raw) > 0 && raw[0] == '"' || isInteger(raw) {
		return ID{raw: raw}, true
	}
	return ID{}, false
}

// Raw returns the JSON of the id as it was sent, nil for the zero ID.
func (i ID) Raw() []byte { return i.raw }

// IsZero reports whether there is no id.
func (i ID) IsZero() bool { return len(i.raw) == 0 }

// IsString reports whether the id is a JSON string.
func (i ID) IsString() bool { return len(i.raw) > 0 && i.raw[0] == '"' }

// Int returns the value of an integer id, and false for a string, for no id, and beyond int64.
func (i ID) Int() (int64, bool) { return Int(i.raw) }

// Equal reports whether both ids are the same string or the same integer, however they are spelt. The string "1" and the
// integer 1 differ.
func (i ID) Equal(other ID) bool {
	return bytes.Equal(i.raw, other.raw) || i.Key() == other.Key()
}

// Key returns a text that two ids share if and only if they are Equal, for use as a map key; "" for the zero ID.
func (i ID) Key() string {
	switch {
	case i.IsZero():
		return ""
	case i.IsString():
		s, _ := String(i.raw)
		return `"` + s
	case string(i.raw) == "-0":
		return "0"
	}
	return string(i.raw)
}

// String returns the JSON of the id, "null" for the zero ID.
func (i ID) String() string {
	if i.IsZero() {
		return "null"
	}
	return string(i.raw)
}

// Clone returns the id with bytes of its own, to be kept longer than the message that it came in.
func (i ID) Clone() ID {
	return ID{raw: bytes.Clone(i.raw)}
}
