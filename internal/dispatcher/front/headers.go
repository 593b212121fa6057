// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"encoding/base64"
	"fmt"
	"iter"
	"math"
	"net/http"
	"strconv"
	"strings"

	"toolgate.dev/toolgate/internal/dispatcher/edge"
	"toolgate.dev/toolgate/internal/dispatcher/pipeline"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/jsonrpc"
)

// Headers of a modern request repeat what its body says, so that machines on the way can route by them. They are checked,
// and decide nothing (MCP 2026-07-28, Transports, Standard Headers).

func headerMismatch(name, header, body string) *policy.Refusal {
	message := fmt.Sprintf("Header %s says %q, the body says %q.", name, header, body)
	if header == "" {
		message = fmt.Sprintf("Header %s is missing; the body says %q.", name, body)
	}
	return &policy.Refusal{Kind: policy.HeaderMismatch, Stage: policy.StageParse, Reason: "HeaderMismatch", Message: message}
}

// checkMirrors compares the headers that repeat what a request's body says.
func (h *Handler) checkMirrors(in *incoming, call policy.Call) *policy.Refusal {
	refusal := checkHeaders(in.http.Header, in.Message)
	if refusal == nil && in.Method == pipeline.MethodCallTool {
		refusal = h.checkParamHeaders(in.http.Header, call)
	}
	return refusal
}

// checkHeaders compares Mcp-Name with the body.
func checkHeaders(header http.Header, m *jsonrpc.Message) *policy.Refusal {
	key := "name"
	switch m.Method {
	case pipeline.MethodCallTool, "prompts/get":
	case "resources/read":
		key = "uri"
	default:
		return nil
	}
	name, _ := jsonrpc.String(m.Param(key))
	given, ok := decodeHeader(edge.Header(header, headerName))
	if !ok || given != name {
		return headerMismatch("Mcp-Name", edge.Header(header, headerName), name)
	}
	return nil
}

// decodeHeader reads a value that may be wrapped as =?base64?...?=.
func decodeHeader(value string) (string, bool) {
	encoded, begins := strings.CutPrefix(value, "=?base64?")
	encoded, ends := strings.CutSuffix(encoded, "?=")
	if !begins || !ends {
		return value, true
	}
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	return string(decoded), err == nil
}

// checkParamHeaders compares the Mcp-Param- headers that the tool's schema asks for with the arguments. Others are nobody's
// business here.
func (h *Handler) checkParamHeaders(header http.Header, call policy.Call) *policy.Refusal {
	catalogue := h.Pipeline.Discovery.Catalogue()
	if catalogue == nil {
		return nil
	}
	tool, err := pipeline.View(catalogue).Lookup(call.Tool)
	if err != nil {
		return nil
	}
	for name, value := range mirrored(tool.InputSchema, call.Arguments) {
		full := "Mcp-Param-" + name
		if !mirrors(edge.Header(header, full), value) {
			return headerMismatch(full, edge.Header(header, full), string(value))
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
		raw, _ := jsonrpc.Member(property, "x-mcp-header")
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
	given, ok := decodeHeader(header)
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

// givenUpWith ends with the HTTP request, with the client's giving up as its cause.
func givenUpWith(http context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(http))
	stop := context.AfterFunc(http, func() { cancel(pipeline.ErrGivenUp) })
	return ctx, func() { stop(); cancel(nil) }
}
