// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

// DigestPrefix begins every digest: the version of the canonical form and the hash function.
const DigestPrefix = "v1:sha256:"

// Bounds of what has a canonical form. The largest list of 118 tools seen in the field has 160 kB.
const (
	MaxBytes    = 1 << 20   // of one definition as it is written
	MaxExponent = 1_000_000 // magnitude of the exponent that a number is written with
)

var limits = jsonrpc.Limits{MaxBytes: MaxBytes, MaxExponent: MaxExponent}

// Digest returns the digest of a tool definition: DigestPrefix and 64 hexadecimal digits. It covers every member, known or
// not, and depends on the value alone, not on white space, the order of keys, or how strings and numbers are spelt. The
// package comment defines the form. Any JSON value has a digest; the error wraps a *jsonrpc.SyntaxError.
func Digest(def []byte) (string, error) {
	if err := jsonrpc.Check(def, limits); err != nil {
		return "", fmt.Errorf("digesting a definition: %w", err)
	}
	return digestChecked(def), nil
}

// CatalogueDigest returns the digest of a set of tools: that of the JSON array of the pairs [name, digest], sorted by name
// and then by digest. The order of the tools does not matter; a tool that stands twice does.
func CatalogueDigest(tools []Tool) string {
	sorted := slices.Clone(tools)
	slices.SortFunc(sorted, func(a, b Tool) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Digest, b.Digest))
	})
	text := []byte{'['}
	for i, t := range sorted {
		if i > 0 {
			text = append(text, ',')
		}
		text = jsonrpc.AppendString(append(text, '['), t.Name)
		text = jsonrpc.AppendString(append(text, ','), t.Digest)
		text = append(text, ']')
	}
	return hash(append(text, ']'))
}

func digestChecked(raw []byte) string {
	return hash(appendCanonical(make([]byte, 0, len(raw)), raw))
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return DigestPrefix + hex.EncodeToString(sum[:])
}

// appendCanonical appends the canonical form of a checked value.
func appendCanonical(dst, raw []byte) []byte {
	switch {
	case jsonrpc.IsObject(raw):
		return appendObject(dst, raw)
	case jsonrpc.IsArray(raw):
		dst = append(dst, '[')
		n := 0
		for element := range jsonrpc.Elements(raw) {
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = appendCanonical(dst, element)
			n++
		}
		return append(dst, ']')
	}
	if raw[0] == '"' && raw[len(raw)-1] == '"' && bytes.IndexByte(raw, '\\') < 0 {
		return append(dst, raw...) // without escapes a string is written as the canonical form has it
	}
	if s, ok := jsonrpc.String(raw); ok {
		return jsonrpc.AppendString(dst, s)
	}
	if v, ok := jsonrpc.Bool(raw); ok {
		return strconv.AppendBool(dst, v)
	}
	if jsonrpc.IsNull(raw) {
		return append(dst, "null"...)
	}
	return appendNumber(dst, raw)
}

func appendObject(dst, raw []byte) []byte {
	type member struct {
		key string
		raw []byte
	}
	var room [12]member // as many as nearly every object has
	members := room[:0]
	for key, value := range jsonrpc.Members(raw) {
		members = append(members, member{key, value})
	}
	slices.SortFunc(members, func(a, b member) int { return cmp.Compare(a.key, b.key) })
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonrpc.AppendString(dst, m.key)
		dst = appendCanonical(append(dst, ':'), m.raw)
	}
	return append(dst, '}')
}
