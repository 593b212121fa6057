// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package asking is an MCP server for tests of the data plane whose tools ask their client for something, or tell it of changes: it is the Go SDK's
// server, a program that is not ours, over stdio as a child of the test binary or over streamable HTTP, in either era.
package asking

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Era is the shape of the protocol that a server speaks: one of them alone.
type Era string

// The eras.
const (
	Legacy Era = "legacy"
	Modern Era = "modern"
)

// modernVersion is the revision of the later era.
const modernVersion = "2026-07-28"

type none struct{}

// path is the argument of remove.
type path struct {
	Path    string `json:"path"`
	Confirm bool   `json:"confirm,omitempty"`
}

// NewServer gives a server with its tools, a prompt and a resource. record hears of each tool that ran to its end,
// and of those that were given up.
func NewServer(record func(tool string)) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "asking", Version: "1"}, listening())
	readOnly := &mcp.ToolAnnotations{ReadOnlyHint: true}
	for name, questions := range map[string]mcp.InputRequestMap{
		"greet":   {"name": form("Your name?")},
		"sample":  {"answer": sampling()},
		"roots":   {"folders": &mcp.ListRootsParams{}},                             //nolint:staticcheck // servers of earlier revisions use it
		"several": {"name": form("Your name?"), "folders": &mcp.ListRootsParams{}}, //nolint:staticcheck // as above
		"visit":   {"page": &mcp.ElicitParams{Mode: "url", Message: "Go there", URL: "https://example.com/", ElicitationID: "e1"}},
	} {
		mcp.AddTool(s, &mcp.Tool{Name: name, Annotations: readOnly}, func(_ context.Context, r *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
			return once(r, questions, name, record)
		})
	}
	mcp.AddTool(s, &mcp.Tool{Name: "twice", Annotations: readOnly}, func(ctx context.Context, r *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
		return twice(ctx, r, record)
	})
	destructive := true
	mcp.AddTool(s, &mcp.Tool{Name: "remove", Annotations: &mcp.ToolAnnotations{DestructiveHint: &destructive}},
		func(_ context.Context, _ *mcp.CallToolRequest, p path) (*mcp.CallToolResult, any, error) {
			record("remove " + p.Path)
			return text("removed " + p.Path), nil, nil
		})
	s.AddPrompt(&mcp.Prompt{Name: "letter"}, func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		if r.Params.InputResponses == nil {
			return &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap{"name": form("To whom?")}, RequestState: "prompt"}, nil
		}
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: words(r.Params.InputResponses)}}}}, nil
	})
	s.AddResource(&mcp.Resource{URI: "asking://note", Name: "note"}, func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		if r.Params.InputResponses == nil {
			return &mcp.ReadResourceResult{InputRequests: mcp.InputRequestMap{"name": form("Who reads?")}, RequestState: "resource"}, nil
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "asking://note", Text: words(r.Params.InputResponses)}}}, nil
	})
	addTelling(s, record)
	return s
}

func form(message string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Message: message, RequestedSchema: &jsonschema.Schema{Type: "object",
		Properties: map[string]*jsonschema.Schema{"name": {Type: "string"}}}}
}

func sampling() *mcp.CreateMessageParams { //nolint:staticcheck // servers of earlier revisions use it
	return &mcp.CreateMessageParams{MaxTokens: 10, //nolint:staticcheck // as above
		Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "the weather"}}}} //nolint:staticcheck // as above
}

// once asks for everything in one round.
func once(r *mcp.CallToolRequest, questions mcp.InputRequestMap, name string, record func(string)) (*mcp.CallToolResult, any, error) {
	if len(r.Params.InputResponses) == 0 {
		return &mcp.CallToolResult{InputRequests: questions, RequestState: "state of " + name}, nil, nil
	}
	if r.Params.RequestState != "state of "+name {
		return nil, nil, fmt.Errorf("the state is %q", r.Params.RequestState)
	}
	record(name)
	return text(words(r.Params.InputResponses)), nil, nil
}

// twice asks in one round and, with what it was told, in another. In the earlier era the SDK bridges one round only, so that
// the tool asks by itself there.
func twice(ctx context.Context, r *mcp.CallToolRequest, record func(string)) (*mcp.CallToolResult, any, error) {
	if init := r.Session.InitializeParams(); init != nil && init.ProtocolVersion < modernVersion {
		name, err := r.Session.Elicit(ctx, form("Your name?"))
		if err != nil {
			return nil, nil, err
		}
		roots, err := r.Session.ListRoots(ctx, &mcp.ListRootsParams{}) //nolint:staticcheck // servers of earlier revisions use it
		if err != nil {
			return nil, nil, err
		}
		record("twice")
		return text(words(mcp.InputResponseMap{"a": name, "b": roots})), nil, nil
	}
	name, ok := r.Params.InputResponses["name"]
	if !ok && r.Params.RequestState == "" {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"name": form("Your name?")}, RequestState: "first"}, nil, nil
	}
	if ok && r.Params.RequestState == "first" {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"folders": &mcp.ListRootsParams{}}, //nolint:staticcheck // as above
			RequestState: "second, " + words(mcp.InputResponseMap{"name": name})}, nil, nil
	}
	record("twice")
	return text(r.Params.RequestState[len("second, "):] + "; " + words(r.Params.InputResponses)), nil, nil
}

// words are what a client answered, sorted.
func words(responses mcp.InputResponseMap) string {
	var all []string
	for _, response := range responses {
		switch r := response.(type) {
		case *mcp.ElicitResult:
			all = append(all, fmt.Sprint(r.Action, " ", r.Content["name"]))
		case *mcp.CreateMessageResult: //nolint:staticcheck // servers of earlier revisions use it
			all = append(all, r.Content.(*mcp.TextContent).Text)
		case *mcp.CreateMessageWithToolsResult: //nolint:staticcheck // as above
			for _, c := range r.Content {
				all = append(all, c.(*mcp.TextContent).Text)
			}
		case *mcp.ListRootsResult: //nolint:staticcheck // as above
			for _, root := range r.Roots {
				all = append(all, root.URI)
			}
		}
	}
	slices.Sort(all)
	return fmt.Sprint(all)
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}
