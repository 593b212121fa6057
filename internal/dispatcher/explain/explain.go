// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package explain says what would become of a call of a tool, and why: by a registry file and a list of tools, or by asking a
// dispatcher that runs. It calls no tool.
//
// It reads no arguments and no environment, and never imports Kubernetes, the API or the launcher.
package explain

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/dispatcher/listing"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/rest"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
	"toolgate.dev/toolgate/internal/registry"
)

// Call is the call in question. Arguments are nil where there are none.
type Call struct {
	Tool      string
	Arguments []byte
}

// Offline decides as a dispatcher with this registry document would before a server that lists these tools. The revision may
// be empty where the document has only one. Trust counts as if the manager had asked at this moment. The error says what
// could not be read.
func Offline(doc *registry.Document, revision string, tools []byte, call Call, now time.Time) (rest.Evaluation, error) {
	revision, err := only(doc, revision)
	if err != nil {
		return rest.Evaluation{}, err
	}
	catalogue, err := parseTools(tools)
	if err != nil {
		return rest.Evaluation{}, fmt.Errorf("the list of tools: %w", err)
	}
	snapshot, err := registry.Compile(doc, "", revision)
	if err != nil {
		return rest.Evaluation{}, err
	}
	engine := policy.New(snapshot, registry.NewSchemaCache())
	call.Tool = engine.TrueName(call.Tool)
	if call.Arguments != nil {
		if err := jsonrpc.Check(call.Arguments, jsonrpc.Limits{MaxBytes: doc.Policy.Limits.MaxRequestBytes}); err != nil {
			return unreadable(call.Tool, err), nil
		}
	}
	decision := engine.Evaluate(listing.View(catalogue), policy.Call{
		Method: mcp.MethodCallTool, ProtocolVersion: mcp.LatestLegacy, Tool: call.Tool, Arguments: call.Arguments, Now: now, // as over REST
	}, engine.Trusted(now, now))
	return rest.NewEvaluation(call.Tool, decision, true), nil
}

// only is the revision that was named, or the only one there is.
func only(doc *registry.Document, revision string) (string, error) {
	names := slices.Sorted(maps.Keys(doc.Revisions))
	if revision == "" && len(names) == 1 {
		return names[0], nil
	}
	if slices.Contains(names, revision) {
		return revision, nil
	}
	return "", fmt.Errorf("revision %q is not one of the registry document: %s", revision, strings.Join(names, ", "))
}

// unreadable is the verdict on arguments that two readers could understand differently.
func unreadable(tool string, err error) rest.Evaluation {
	message := "The arguments are no strict JSON: " + err.Error()
	return rest.Evaluation{ToolName: tool, Verdict: rest.VerdictDeny, Kind: policy.ParseError, Reason: "NotStrictJSON", Message: message,
		Stages: []policy.StageResult{{Stage: policy.StageParse, Verdict: policy.Refuse, Message: message}}}
}

// parseTools reads a result of tools/list, a whole JSON-RPC response with one, or a plain array of tools.
func parseTools(data []byte) (*upstream.Catalogue, error) {
	if err := jsonrpc.Check(data, jsonrpc.Limits{}); err != nil {
		return nil, err
	}
	list := data
	if result, ok := jsonrpc.Member(list, "result"); ok {
		list = result
	}
	if tools, ok := jsonrpc.Member(list, "tools"); ok {
		list = tools
	}
	if !bytes.HasPrefix(bytes.TrimSpace(list), []byte("[")) {
		return nil, fmt.Errorf(`there is no array of tools in it: it should be the result of tools/list, {"tools": [...]}`)
	}
	c := &upstream.Catalogue{Resources: -1, Prompts: -1}
	var tools []catalog.Tool
	for definition := range jsonrpc.Elements(list) {
		tool, err := catalog.ParseTool(definition)
		c.Tools = append(c.Tools, upstream.CatalogueTool{Tool: tool, Err: err})
		tools = append(tools, tool)
	}
	c.Digest = catalog.CatalogueDigest(tools)
	return c, nil
}

// maxAnswer bounds the answer of a dispatcher, in bytes.
const maxAnswer = 16 << 20

// Remote asks the dispatcher at a URL, which may be that of its MCP endpoint. The error says why it could not tell.
func Remote(ctx context.Context, client *http.Client, url string, call Call) (rest.Evaluation, error) {
	body := append(jsonrpc.AppendString([]byte(`{"tool_name":`), call.Tool), `,"arguments":`...)
	if call.Arguments == nil {
		call.Arguments = []byte("{}")
	}
	if err := jsonrpc.Check(call.Arguments, jsonrpc.Limits{}); err != nil {
		return unreadable(call.Tool, err), nil
	}
	body = append(append(body, call.Arguments...), '}')
	url = strings.TrimSuffix(strings.TrimSuffix(url, "/"), "/mcp") + "/api/mcp/rules/evaluate"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return rest.Evaluation{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return rest.Evaluation{}, err
	}
	defer func() { _ = response.Body.Close() }() // it was read
	data, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return rest.Evaluation{}, fmt.Errorf("reading the answer: %w", err)
	}
	var answer struct {
		rest.Evaluation
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return rest.Evaluation{}, fmt.Errorf("%s answered with HTTP status %d and no JSON: is a dispatcher there?", url, response.StatusCode)
	}
	switch {
	case answer.Error.Message != "":
		return rest.Evaluation{}, fmt.Errorf("the dispatcher answered with HTTP status %d: %s", response.StatusCode, answer.Error.Message)
	case response.StatusCode != http.StatusOK || answer.Verdict == "":
		return rest.Evaluation{}, fmt.Errorf("%s answered with HTTP status %d and no verdict: is a dispatcher there?", url, response.StatusCode)
	}
	return answer.Evaluation, nil
}
