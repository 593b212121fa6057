// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"bufio"
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/registry"
)

// Both versions of HTTP that need no TLS carry answers, event streams, and the refusals of browsers' strangers.
func TestHTTPVersions(t *testing.T) {
	for name, protocols := range map[string]func(*http.Protocols){
		"HTTP/1.1": func(p *http.Protocols) { p.SetHTTP1(true) },
		"h2c":      func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) },
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, &spawner{}, nil)
			eventually(t, "ready", r.ready)
			transport := &http.Transport{Protocols: new(http.Protocols)}
			protocols(transport.Protocols)
			t.Cleanup(transport.CloseIdleConnections)
			checkVersion(t, r, &http.Client{Transport: transport})
		})
	}
}

func checkVersion(t *testing.T, r *rig, client *http.Client) {
	t.Helper()
	send := func(ctx context.Context, body string, pairs ...string) *http.Response {
		t.Helper()
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.base+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		for i := 0; i < len(pairs); i += 2 {
			request.Header.Set(pairs[i], pairs[i+1])
		}
		resp, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	if resp := send(t.Context(), `{"jsonrpc":"2.0","id":1,"method":"ping"}`); resp.StatusCode != http.StatusOK {
		t.Errorf("ping: %s", resp.Status)
	}
	refused := send(t.Context(), `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Origin", "https://evil.example.com")
	if refused.StatusCode != http.StatusForbidden || refused.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a page of a stranger: %s %v", refused.Status, refused.Header)
	}
	page := send(t.Context(), `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Origin", "http://localhost:3000")
	if page.StatusCode != http.StatusOK || page.Header.Get("Access-Control-Allow-Origin") != "http://localhost:3000" {
		t.Errorf("a page of ours: %s %v", page.Status, page.Header)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream := send(ctx, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientCapabilities":{}},"notifications":{"toolsListChanged":true}}}`, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")
	events := bufio.NewScanner(stream.Body)
	next := func(want string) {
		t.Helper()
		for events.Scan() {
			if strings.Contains(events.Text(), want) {
				return
			}
		}
		t.Fatalf("the stream ended before %s: %v", want, events.Err())
	}
	next("acknowledged")
	r.write(func(d *registry.Document) { d.Policy.TimeoutSeconds = 7 })
	next("notifications/tools/list_changed")
}

// What is posted to any replica reaches the stream of HTTP+SSE where it is open.
func TestAStreamIsServedThroughEveryReplica(t *testing.T) {
	both := replicas(t, &spawner{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, both[0].base+"/sse", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := both[0].client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	events := bufio.NewScanner(resp.Body)
	next := func(want string) string {
		t.Helper()
		for events.Scan() {
			if data, ok := strings.CutPrefix(events.Text(), "data: "); ok {
				if !strings.Contains(data, want) {
					t.Errorf("the stream brought %s, want %s", data, want)
				}
				return data
			}
		}
		t.Fatalf("the stream ended before %s: %v", want, events.Err())
		return ""
	}
	endpoint := next("/sse?sessionId=")
	for i, r := range both {
		post, err := r.client.Post(r.base+endpoint, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":`+strconv.Itoa(i)+`,"method":"ping"}`))
		if err != nil || post.StatusCode != http.StatusAccepted || post.Body.Close() != nil {
			t.Fatalf("through replica %d: %v %+v", i, err, post)
		}
		next(`"id":` + strconv.Itoa(i) + `,"result":{}`)
	}
}
