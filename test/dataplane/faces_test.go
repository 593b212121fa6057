// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/test/dataplane/asking"
	"toolgate.dev/toolgate/test/dataplane/scripted"
)

// TestGoSDKClientOverSSE has the client of the Go SDK speak the transport of 2024-11-05 with servers of both eras: it calls,
// is asked, and hears of changes (G-14).
func TestGoSDKClientOverSSE(t *testing.T) {
	for transport, start := range askingOver {
		for _, era := range []asking.Era{asking.Legacy, asking.Modern} {
			t.Run(transport+", server "+string(era), func(t *testing.T) {
				t.Parallel()
				d, _ := start(t, era, open)
				s, h := d.ready().sdkOver(&mcp.SSEClientTransport{Endpoint: d.mcp + "/sse"}, "2024-11-05")
				checkAsking(t, s, h, era, "2024-11-05")
				if tools, err := s.ListTools(t.Context(), nil); err != nil || len(tools.Tools) < 5 {
					t.Errorf("tools/list: %+v, %v", tools, err)
				}
			})
		}
	}
}

// TestWebSocket speaks with a server over WebSocket, where the dispatcher was asked to.
func TestWebSocket(t *testing.T) {
	c := newChild(t, scripted.Good, greet, remove, scripted.Say)
	doc := document(t, c.definitions()...)
	doc.Policy.Trust = registry.Trust{}
	d := serveWith(t, write(t, doc), append([]string{"--websocket", "--stdio", "--"}, c.command()...)...).ready()
	conn, _, err := websocket.Dial(t.Context(), strings.Replace(d.mcp, "http:", "ws:", 1)+"/ws", &websocket.DialOptions{Subprotocols: []string{"mcp"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow() //nolint:errcheck // what matters was read
	conn.SetReadLimit(32 << 20)
	say := func(message, want string) {
		t.Helper()
		if err := conn.Write(t.Context(), websocket.MessageText, []byte(message)); err != nil {
			t.Fatal(err)
		}
		_, got, err := conn.Read(t.Context())
		if err != nil || !strings.Contains(string(got), want) {
			t.Fatalf("%v: got %.300s, want %s", err, got, want)
		}
	}
	say(initialize(latest), `"protocolVersion":"2025-11-25"`)
	say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"remove","arguments":{}}}`, `"reason":"Untrusted"`)
	result := `{"content":[{"type":"text","text":"` + strings.Repeat("x", 5<<20) + `"}]}`
	say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"say","arguments":{"result":`+result+`}}}`, `{"jsonrpc":"2.0","id":2,"result":`+result+`}`)
	say(`{"jsonrpc":"2.0","id":"m","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		`"id":"m","result":{"supportedVersions"`)
	closed := serve(t, doc, c.command()...).ready()
	if resp := must[*http.Response](t)(web.Get(closed.mcp + "/ws")); resp.StatusCode != http.StatusNotFound || resp.Body.Close() != nil {
		t.Errorf("where nobody asked for it: %s", resp.Status)
	}
}

// TestPaths takes the address of MCP as people write it.
func TestPaths(t *testing.T) {
	c := newChild(t, scripted.Good, greet)
	d := serve(t, document(t, c.definitions()...), c.command()...).ready()
	for _, path := range []string{"/mcp", "/mcp/", "//mcp", "//mcp//"} {
		s := &client{t: t, url: d.mcp + path}
		if a := s.call("greet", `{"name":"Jane"}`); !a.good() {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	for path, want := range map[string]int{"/api/mcp/tools/": 200, "/api//mcp/tools": 200, "/x/../mcp": 404, "/mcp/x": 404, "/MCP": 404, "/": 404} {
		resp := must[*http.Response](t)(web.Get(d.mcp + path))
		if resp.StatusCode != want || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %s %s, want %d", path, resp.Status, resp.Header.Get("Content-Type"), want)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}
