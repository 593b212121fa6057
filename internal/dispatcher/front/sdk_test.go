// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolgate.dev/toolgate/internal/dispatcher/dispatchertest"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
)

// connect connects the Go SDK's client, a program that is not ours, over real HTTP.
func connect(t *testing.T, f *fixture, version string, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "sdk", Version: "1"}, opts)
	client.AddRoots(&mcp.Root{URI: "file:///work", Name: "work"}) //nolint:staticcheck // legacy revisions have roots
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: f.live().URL + "/mcp"},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connecting: %v", err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func TestSDKClientInEveryRevision(t *testing.T) {
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			f := newFixture(t, nil)
			session := connect(t, f, version, nil)
			if got := session.InitializeResult().ProtocolVersion; got != version {
				t.Errorf("agreed on %s, want %s", got, version)
			}
			if got := session.InitializeResult().ServerInfo.Name; got != "fake" {
				t.Errorf("the server is called %q", got)
			}
			tools, err := session.ListTools(t.Context(), nil)
			if err != nil || len(tools.Tools) != 3 {
				t.Fatalf("tools %+v: %v", tools, err)
			}
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "hé"}})
			if err != nil || result.IsError {
				t.Fatalf("echo: %+v %v", result, err)
			}
			structured, _ := json.Marshal(result.StructuredContent)
			if !strings.Contains(string(structured), `"text":"hé"`) {
				t.Errorf("structured content %s", structured)
			}
			denied, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "remove", Arguments: map[string]any{"path": "/"}})
			if err != nil || !denied.IsError {
				t.Errorf("a destructive call: %+v %v, want an error result", denied, err)
			}
			if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "nope"}); err == nil {
				t.Error("an unknown tool was called")
			}
		})
	}
}

// What a server asks while it is called reaches the client on the call's own stream, and the answer finds back (G-83).
func TestG83ServerAsksTheClient(t *testing.T) {
	f := newFixture(t, nil)
	f.server.Answer = func(ctx context.Context, c *dispatchertest.Conn, call upstream.Call) (upstream.Reply, error) {
		var texts []string
		for _, ask := range []upstream.Event{
			{Method: "roots/list", Owner: call.Owner},
			{Method: "sampling/createMessage", Params: []byte(`{"messages":[],"maxTokens":5}`), Owner: call.Owner},
			{Method: "elicitation/create", Params: []byte(`{"message":"Sure?","requestedSchema":{"type":"object","properties":{}}}`), Owner: call.Owner},
			{Method: "ping"},
			{Method: "sampling/createMessage", Params: []byte(`{"messages":[],"maxTokens":5,"tools":[]}`), Owner: call.Owner},
			{Method: "elicitation/create", Params: []byte(`{"mode":"url","message":"Go","url":"https://x","elicitationId":"1"}`), Owner: call.Owner},
			{Method: "vendor/ask", Owner: call.Owner},
		} {
			reply := c.Handler.HandleRequest(ctx, ask)
			text := string(reply.Result)
			if reply.Error != nil {
				text = reply.Error.Message
			}
			texts = append(texts, text)
		}
		encoded, err := json.Marshal(texts)
		return upstream.Reply{Result: []byte(`{"content":[],"structuredContent":{"texts":` + string(encoded) + `}}`)}, err
	}
	var asked string
	session := connect(t, f, "2025-11-25", &mcp.ClientOptions{
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) { //nolint:staticcheck // legacy revisions have sampling
			//nolint:staticcheck // as above
			return &mcp.CreateMessageResult{Model: "m", Role: "assistant", Content: &mcp.TextContent{Text: "sampled"}}, nil
		},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked = r.Params.Message
			return &mcp.ElicitResult{Action: "accept"}, nil
		},
	})
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "x"}})
	if err != nil {
		t.Fatal(err)
	}
	structured, _ := json.Marshal(result.StructuredContent)
	var got struct{ Texts []string }
	if err := json.Unmarshal(structured, &got); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"file:///work", "sampled", `"action":"accept"`, "{}", "not available", "not available", "not available"} {
		if i >= len(got.Texts) || !strings.Contains(got.Texts[i], want) {
			t.Errorf("answer %d of %q lacks %q", i, got.Texts, want)
		}
	}
	if asked != "[my-files] Sure?" {
		t.Errorf("the person read %q, want the server named", asked)
	}
}

// What policy denies is stripped from the client's capabilities before the server sees them.
func TestClientFeaturesAreStripped(t *testing.T) {
	f := newFixture(t, func(d *registry.Document) { d.Policy.Client = registry.Client{ElicitationForm: true} })
	f.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{},` +
		`"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}},"tasks":{"list":{}},"experimental":{"a":{}}},"clientInfo":{"name":"c","version":"1"}}}`)
	got := string(f.server.Conns()[0].Hello.Capabilities)
	if want := `{"elicitation":{"form":{}},"experimental":{"a":{}}}`; got != want {
		t.Errorf("the server saw %s, want %s", got, want)
	}
}

// Progress keeps the client's own token, whatever its type (G-84).
func TestG84Progress(t *testing.T) {
	for _, token := range []string{`"a\u0062"`, `7`} {
		f := newFixture(t, nil)
		f.server.Answer = func(_ context.Context, _ *dispatchertest.Conn, call upstream.Call) (upstream.Reply, error) {
			for range 100 {
				call.Progress([]byte(`{"progressToken":99,"progress":1}`))
			}
			return upstream.Reply{Result: []byte(`{"content":[]}`)}, nil
		}
		w := f.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"},"_meta":{"progressToken":`+token+`}}}`,
			headerSession, f.session())
		events := strings.Split(strings.TrimSuffix(w.Body.String(), "\n\n"), "\n\n")
		if len(events) != 102 || w.Header().Get("Content-Type") != "text/event-stream" {
			t.Fatalf("%d events, %v", len(events), w.Header())
		}
		want := "event: message\nid: 1-1\ndata: " + `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,"progress":1}}`
		if events[1] != want {
			t.Errorf("got %s\nwant %s", events[1], want)
		}
		if !strings.Contains(events[101], `"id":1,"result"`) {
			t.Errorf("the last event is %s", events[101])
		}
	}
}

// list_changed reaches the client, from the server and from a reload of the registry (G-82).
func TestG82ListChanged(t *testing.T) {
	f := newFixture(t, nil)
	changed := make(chan string, 8)
	session := connect(t, f, "2025-11-25", &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- "tools" },
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { changed <- r.Params.URI },
	})
	if _, err := session.ListTools(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	conn := f.server.Conns()[0]
	conn.Handler.HandleNotification(upstream.Event{Method: "notifications/tools/list_changed"})
	if got := <-changed; got != "tools" {
		t.Errorf("heard of %s", got)
	}
	f.handler.ToolsChanged()
	if got := <-changed; got != "tools" {
		t.Errorf("heard of %s", got)
	}
	conn.Handler.HandleNotification(upstream.Event{Method: "notifications/resources/updated", Params: []byte(`{"uri":"file:///a"}`)})
	if got := <-changed; got != "file:///a" {
		t.Errorf("heard of %s", got)
	}
}

// A client's cancellation reaches the server as one, and ends the wait (G-81).
func TestG81Cancellation(t *testing.T) {
	f := newFixture(t, nil)
	began, ended := make(chan struct{}), make(chan error, 1)
	f.server.Answer = func(ctx context.Context, _ *dispatchertest.Conn, _ upstream.Call) (upstream.Reply, error) {
		close(began)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return upstream.Reply{Error: &jsonrpc.Error{}}, nil
	}
	session := connect(t, f, "2025-11-25", nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "x"}}); err == nil {
		t.Error("a cancelled call was answered")
	}
	select {
	case cause := <-ended:
		if cause == nil || !strings.Contains(cause.Error(), "cancelled") {
			t.Errorf("the call ended by %v", cause)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the server was not told")
	}
}
