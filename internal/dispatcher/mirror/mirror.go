// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mirror compares the headers of a request of revision 2026-07-28 with what its body says: they repeat it, so that
// machines on the way can route by them, and decide nothing (MCP 2026-07-28, Transports, Standard Headers).
//
// It knows no session and no server, and never imports Kubernetes, the API or the launcher.
package mirror

import (
	"fmt"
	"iter"
	"math"
	"net/http"
	"strconv"

	"toolgate.dev/toolgate/internal/dispatcher/edge"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
)

// Mismatch is the refusal of a header that says something else than the body.
func Mismatch(name, header, body string) *policy.Refusal {
	message := fmt.Sprintf("Header %s says %q, the body says %q.", name, header, body)
	if header == "" {
		message = fmt.Sprintf("Header %s is missing; the body says %q.", name, body)
	}
	return &policy.Refusal{Kind: policy.HeaderMismatch, Stage: policy.StageParse, Reason: "HeaderMismatch", Message: message}
}

// CheckName compares Mcp-Name with the body.
func CheckName(header http.Header, m *jsonrpc.Message) *policy.Refusal {
	key := mcp.TargetKey(m.Method)
	if key == "" {
		return nil
	}
	name, _ := jsonrpc.String(m.Param(key))
	given, ok := mcp.DecodeHeader(edge.Header(header, mcp.HeaderName))
	if !ok || given != name {
		return Mismatch(mcp.HeaderName, edge.Header(header, mcp.HeaderName), name)
	}
	return nil
}

// CheckParams compares the Mcp-Param- headers that a tool's schema asks for with the arguments. Others are nobody's business
// here.
func CheckParams(header http.Header, schema, arguments []byte) *policy.Refusal {
	for name, value := range mirrored(schema, arguments) {
		full := mcp.HeaderParamPrefix + name
		if !mirrors(edge.Header(header, full), value) {
			return Mismatch(full, edge.Header(header, full), string(value))
		}
	}
	return nil
}

// mirrored yields the header name and the argument of every property that the schema marks with x-mcp-header, at any depth
// that properties alone lead to; the argument is nil where it is absent or null.
func mirrored(schema, arguments []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		walkMirrored(schema, arguments, yield)
	}
}

func walkMirrored(schema, arguments []byte, yield func(string, []byte) bool) bool {
	properties, _ := jsonrpc.Member(schema, "properties")
	for name, property := range jsonrpc.Members(properties) {
		value, ok := jsonrpc.Member(arguments, name)
		if !ok || jsonrpc.IsNull(value) {
			value = nil
		}
		raw, _ := jsonrpc.Member(property, mcp.KeyParamHeader)
		if header, ok := jsonrpc.String(raw); ok && header != "" && !yield(header, value) {
			return false
		}
		if !walkMirrored(property, value, yield) {
			return false
		}
	}
	return true
}

// maxSafeInteger bounds the integers that a header may carry: beyond it, doubles no longer tell neighbours apart.
const maxSafeInteger = 1<<53 - 1

// mirrors says whether a header carries an argument: strings as they are, booleans and integers in JSON's own words, the
// latter compared as numbers.
func mirrors(header string, value []byte) bool {
	given, ok := mcp.DecodeHeader(header)
	switch {
	case !ok:
		return false
	case value == nil:
		return header == ""
	case jsonrpc.IsString(value):
		text, _ := jsonrpc.String(value)
		return given == text
	}
	if b, ok := jsonrpc.Bool(value); ok {
		return given == strconv.FormatBool(b)
	}
	want, err := strconv.ParseFloat(string(value), 64)
	got, gotErr := strconv.ParseFloat(given, 64)
	return err == nil && gotErr == nil && got == want && math.Abs(got) <= maxSafeInteger
}
