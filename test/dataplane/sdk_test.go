// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// heard is what a client of the Go SDK is told and asked.
type heard struct {
	logs, progress, asked chan string
}

// sdk connects a client of the Go SDK that answers what the server asks.
func (d *dispatcher) sdk(version string) (*mcp.ClientSession, *heard) {
	d.t.Helper()
	return d.sdkOver(&mcp.StreamableClientTransport{Endpoint: d.mcp + "/mcp"}, version)
}

// sdkOver is sdk over a transport of the test's own.
func (d *dispatcher) sdkOver(transport mcp.Transport, version string) (*mcp.ClientSession, *heard) {
	d.t.Helper()
	h := &heard{logs: make(chan string, 100), progress: make(chan string, 100), asked: make(chan string, 100)}
	client := mcp.NewClient(&mcp.Implementation{Name: "go-sdk", Version: "1"}, &mcp.ClientOptions{
		CreateMessageHandler: func(_ context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) { //nolint:staticcheck // servers of earlier revisions use it
			h.asked <- "sampling"
			return &mcp.CreateMessageResult{Content: &mcp.TextContent{Text: "sampled: " + r.Params.Messages[0].Content.(*mcp.TextContent).Text}, //nolint:staticcheck // servers of earlier revisions use it
				Model: "test-model", Role: "assistant"}, nil
		},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			h.asked <- "elicitation: " + r.Params.Message
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada Lovelace"}}, nil
		},
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) { //nolint:staticcheck // servers of earlier revisions use it
			h.logs <- fmt.Sprint(r.Params.Level, " ", r.Params.Data)
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			h.progress <- fmt.Sprint(r.Params.ProgressToken, " ", r.Params.Progress, "/", r.Params.Total)
		},
	})
	client.AddRoots(&mcp.Root{URI: "file:///srv/data", Name: "data"}) //nolint:staticcheck // servers of earlier revisions use it
	s, err := client.Connect(d.t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		d.t.Fatalf("connecting with %s: %v", version, err)
	}
	d.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			d.t.Errorf("closing the session of %s: %v", version, err)
		}
	})
	if got := s.InitializeResult().ProtocolVersion; got != version {
		d.t.Errorf("the session speaks %s, want %s", got, version)
	}
	return s, h
}

// said gives the text of the first block of a result, and fails where the call did.
func said(t *testing.T, result *mcp.CallToolResult, err error) string {
	t.Helper()
	if err != nil || len(result.Content) == 0 {
		t.Fatalf("call: %+v, %v", result, err)
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("content %+v", result.Content[0])
	}
	return text.Text
}

// TestGoSDKClient lets the client of the Go SDK do all that MCP has, in each revision, with the reference server behind.
func TestGoSDKClient(t *testing.T) {
	for transport, start := range map[string]func(*testing.T) *dispatcher{
		"stdio": func(t *testing.T) *dispatcher {
			command := everything(t, "stdio")
			return serve(t, initialized(t, append([]string{"--"}, command...)...), command...)
		},
		"streamable HTTP": func(t *testing.T) *dispatcher {
			return serve(t, initialized(t, "--url", everythingOver(t, "streamableHttp", "/mcp")))
		},
		"HTTP with SSE": func(t *testing.T) *dispatcher {
			return serve(t, initialized(t, "--transport", "sse", "--url", everythingOver(t, "sse", "/sse")))
		},
	} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			d := start(t).ready()
			for _, version := range []string{latest, older, oldest} {
				t.Run(version, func(t *testing.T) { checkSession(t, d, version) })
			}
			t.Run(modern, func(t *testing.T) { checkModern(t, d) })
		})
	}
}

func checkSession(t *testing.T, d *dispatcher, version string) {
	s, h := (&dispatcher{t: t, mcp: d.mcp}).sdk(version)
	ctx := t.Context()
	call := func(tool string, arguments any) string {
		t.Helper()
		result, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
		return said(t, result, err)
	}
	if tools, err := s.ListTools(ctx, nil); err != nil || len(tools.Tools) < 15 {
		t.Fatalf("tools/list: %+v, %v", tools, err)
	}
	if got := call("echo", map[string]any{"message": "hi"}); got != "Echo: hi" {
		t.Errorf("echo: %s", got)
	}
	checkWrongArguments(t, s, version)
	checkWhatTheServerAsks(t, h, call)
	checkProgressAndLogs(t, s, h)
	checkOtherLists(t, s)
	checkCancellation(t, s)
}

// checkWrongArguments wants a result with isError from 2025-11-25 on, and an error before.
func checkWrongArguments(t *testing.T, s *mcp.ClientSession, version string) {
	t.Helper()
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "get-sum", Arguments: map[string]any{"a": "1", "b": 2}})
	if version >= latest {
		if err != nil || !result.IsError || !strings.Contains(said(t, result, err), "/a") {
			t.Errorf("wrong arguments: %+v, %v", result, err)
		}
		return
	}
	if err == nil || !strings.Contains(err.Error(), "/a") {
		t.Errorf("wrong arguments: %+v, %v", result, err)
	}
}

// checkWhatTheServerAsks has the server ask the client, and wants the answers to come back through the tools.
func checkWhatTheServerAsks(t *testing.T, h *heard, call func(string, any) string) {
	t.Helper()
	if got := call("trigger-sampling-request", map[string]any{"prompt": "the weather", "maxTokens": 10}); !strings.Contains(got, "the weather") || !strings.Contains(got, "test-model") {
		t.Errorf("sampling: %s", got)
	}
	if got := <-h.asked; got != "sampling" {
		t.Errorf("asked %q", got)
	}
	if got := call("trigger-elicitation-request", map[string]any{}); !strings.Contains(got, "User provided") {
		t.Errorf("elicitation: %s", got)
	}
	if got := <-h.asked; !strings.Contains(got, "Please provide inputs") {
		t.Errorf("asked %q", got)
	}
	if got := call("get-roots-list", map[string]any{}); !strings.Contains(got, "file:///srv/data") {
		t.Errorf("roots: %s", got)
	}
}

func checkProgressAndLogs(t *testing.T, s *mcp.ClientSession, h *heard) {
	t.Helper()
	params := &mcp.CallToolParams{Name: "trigger-long-running-operation", Arguments: map[string]any{"duration": 0.1, "steps": 4}}
	params.SetProgressToken("my-token")
	result, err := s.CallTool(t.Context(), params)
	if got := said(t, result, err); !strings.Contains(got, "completed") {
		t.Errorf("the long operation: %s", got)
	}
	for i := range 4 {
		if got, want := <-h.progress, fmt.Sprintf("my-token %d/4", i+1); got != want {
			t.Errorf("progress %q, want %q", got, want)
		}
	}
	if err := s.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "debug"}); err != nil { //nolint:staticcheck // servers of earlier revisions use it
		t.Errorf("logging/setLevel: %v", err)
	}
	if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "toggle-simulated-logging", Arguments: map[string]any{}}); err != nil {
		t.Errorf("toggle-simulated-logging: %v", err)
	}
	for !strings.Contains(<-h.logs, "message") { // others tell of roots
	}
}

func checkOtherLists(t *testing.T, s *mcp.ClientSession) {
	t.Helper()
	ctx := t.Context()
	resources, err := s.ListResources(ctx, nil)
	if err != nil || len(resources.Resources) == 0 {
		t.Fatalf("resources/list: %+v, %v", resources, err)
	}
	read, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: resources.Resources[0].URI})
	if err != nil || len(read.Contents) == 0 || read.Contents[0].Text == "" {
		t.Errorf("resources/read: %+v, %v", read, err)
	}
	if templates, err := s.ListResourceTemplates(ctx, nil); err != nil || len(templates.ResourceTemplates) == 0 {
		t.Errorf("resources/templates/list: %+v, %v", templates, err)
	}
	if prompts, err := s.ListPrompts(ctx, nil); err != nil || len(prompts.Prompts) == 0 {
		t.Errorf("prompts/list: %+v, %v", prompts, err)
	}
	prompt, err := s.GetPrompt(ctx, &mcp.GetPromptParams{Name: "args-prompt", Arguments: map[string]string{"city": "Wien"}})
	if err != nil || !strings.Contains(prompt.Messages[0].Content.(*mcp.TextContent).Text, "Wien") {
		t.Errorf("prompts/get: %+v, %v", prompt, err)
	}
	completed, err := s.Complete(ctx, &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "completable-prompt"},
		Argument: mcp.CompleteParamsArgument{Name: "department", Value: "Eng"},
	})
	if err != nil || fmt.Sprint(completed.Completion.Values) != "[Engineering]" {
		t.Errorf("completion/complete: %+v, %v", completed, err)
	}
}

// checkCancellation gives up a call that would take a minute, and goes on in the same session.
func checkCancellation(t *testing.T, s *mcp.ClientSession) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	params := &mcp.CallToolParams{Name: "trigger-long-running-operation", Arguments: map[string]any{"duration": 60, "steps": 600}}
	params.SetProgressToken("to-be-cancelled")
	go func() {
		_, err := s.CallTool(ctx, params)
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call that was given up: %v", err)
	}
	if result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"message": "on"}}); said(t, result, err) != "Echo: on" {
		t.Errorf("echo after a cancellation: %+v", result)
	}
}

// checkModern discovers, lists and calls in revision 2026-07-28, before a server that only knows earlier ones.
func checkModern(t *testing.T, d *dispatcher) {
	s, _ := (&dispatcher{t: t, mcp: d.mcp}).sdk(modern)
	if s.ID() != "" {
		t.Errorf("a session %q in a revision without sessions", s.ID())
	}
	if tools, err := s.ListTools(t.Context(), nil); err != nil || len(tools.Tools) < 10 {
		t.Errorf("tools/list: %+v, %v", tools, err)
	}
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"message": "modern"}})
	if got := said(t, result, err); got != "Echo: modern" {
		t.Errorf("echo: %s", got)
	}
	result, err = s.CallTool(t.Context(), &mcp.CallToolParams{Name: "get-structured-content", Arguments: map[string]any{"location": "Wien"}})
	if err != nil || !result.IsError {
		t.Errorf("wrong arguments: %+v, %v", result, err)
	}
}
