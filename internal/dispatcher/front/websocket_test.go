// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"toolgate.dev/toolgate/internal/dispatcher/dispatchertest"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/registry"
)

// socket is a client over WebSocket.
type socket struct {
	t *testing.T
	*websocket.Conn
}

func (f *fixture) liveWebSocket() string {
	s := httptest.NewServer(f.handler.WebSocket())
	f.t.Cleanup(func() {
		f.handler.Close()
		s.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return s.URL + "/ws"
}

func (f *fixture) socket(url string) *socket {
	f.t.Helper()
	conn, resp, err := websocket.Dial(f.t.Context(), url, &websocket.DialOptions{Subprotocols: []string{"mcp"}})
	if err != nil {
		f.t.Fatalf("%v %+v", err, resp)
	}
	f.t.Cleanup(func() { _ = conn.CloseNow() })
	conn.SetReadLimit(64 << 20)
	return &socket{f.t.(*testing.T), conn}
}

func (s *socket) say(body string) {
	s.t.Helper()
	if err := s.Write(s.t.Context(), websocket.MessageText, []byte(body)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *socket) hear(want string) string {
	s.t.Helper()
	kind, data, err := s.Read(s.t.Context())
	if err != nil || kind != websocket.MessageText || !strings.Contains(string(data), want) || strings.ContainsAny(string(data), "\r\n") {
		s.t.Fatalf("heard %q %v, want %s", data, err, want)
	}
	return string(data)
}

// ended waits for the end of the connection.
func (s *socket) ended(want websocket.StatusCode) {
	s.t.Helper()
	_, data, err := s.Read(s.t.Context())
	if err == nil || websocket.CloseStatus(err) != want {
		s.t.Errorf("heard %s %v, want the status %d", data, err, want)
	}
}

func modernRequest(id, method, params string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{}}` + params + `}}`
}

// One connection carries a session, and messages of the revision without sessions beside it (G-102).
func TestWebSocket(t *testing.T) {
	f := telling(t, nil)
	s := f.socket(f.liveWebSocket())
	s.say(echoCall)
	s.hear(`"reason":"SessionMissing"`)
	s.say("{\"jsonrpc\":\"2.0\",\n\"id\":7,\"method\":\"ping\"}")
	s.hear(`"id":7,"result":{}`)
	s.say(modernRequest(`"d"`, "server/discover", ""))
	s.hear(`"id":"d","result":{"supportedVersions"`)
	s.say(initializeBody)
	s.hear(`"protocolVersion":"2025-11-25"`)
	s.say(initializeBody)
	s.hear(`"reason":"InitializedAlready"`)
	s.say(`[` + echoCall + `]`)
	s.hear(`"id":null,"error":{"code":-32600`)
	s.say(`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`)
	s.hear(`"code":-32700`)
	s.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	s.say(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)
	s.hear(`"id":3,"result":{"tools":[`)
	s.say(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"remove","arguments":{"path":"/"}}}`)
	s.hear(`"isError":true`)
	s.say(modernRequest("5", "tools/call", `,"name":"remove","arguments":{"path":"/"}`))
	s.hear(`"resultType":"complete"`)
	f.server.Answer = func(ctx context.Context, c *dispatchertest.Conn, call upstream.Call) (upstream.Reply, error) {
		reply := c.Handler.HandleRequest(ctx, upstream.Event{Method: "elicitation/create", Params: []byte(`{"message":"Sure?"}`), Owner: call.Owner})
		return upstream.Reply{Result: append(append([]byte(`{"content":[],"structuredContent":`), reply.Result...), '}')}, nil
	}
	s.say(strings.Replace(echoCall, `"id":1`, `"id":6`, 1))
	s.hear(`"method":"elicitation/create"`)
	s.say(`{"jsonrpc":"2.0","id":"toolgate-1","result":{"action":"accept"}}`)
	s.hear(`"id":6,"result":{"content":[],"structuredContent":{"action":"accept"}}`)
	f.handler.ToolsChanged()
	s.hear("tools/list_changed")
	_ = s.Close(websocket.StatusNormalClosure, "")
	eventually(t, func() bool { return f.handler.channels.count() == 0 })
	<-f.server.Conns()[0].Done()
}

// Cancellation is a message, in either era, and names the request.
func TestWebSocketCancellation(t *testing.T) {
	f := newFixture(t, nil)
	started, ended := make(chan struct{}), make(chan error)
	f.server.Answer = func(ctx context.Context, _ *dispatchertest.Conn, _ upstream.Call) (upstream.Reply, error) {
		started <- struct{}{}
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return upstream.Reply{}, context.Cause(ctx)
	}
	s := f.socket(f.liveWebSocket())
	s.say(initializeBody)
	s.hear(`"result"`)
	for name, request := range map[string]string{"in the session": echoCall, "modern": modernRequest("1", "tools/call", `,"name":"echo","arguments":{"text":"x"}`)} {
		s.say(request)
		<-started
		s.say(request)
		s.hear(`"reason":"IDInUse"`)
		notification := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
		if name == "modern" {
			notification = strings.Replace(notification, `"requestId":1`, `"requestId":1,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`, 1)
		}
		s.say(notification)
		if err := <-ended; !strings.Contains(err.Error(), "cancelled") {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.say(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	s.hear(`"id":2`)
}

// A subscription goes on beside all else, and ends with a message.
func TestWebSocketSubscription(t *testing.T) {
	f := telling(t, nil)
	s := f.socket(f.liveWebSocket())
	s.say(listenBody(`{"toolsListChanged":true}`))
	s.hear("acknowledged")
	f.handler.ListChanged("notifications/tools/list_changed")
	s.hear(subscriptionMeta)
	s.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"l1","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
	eventually(t, func() bool { return f.handler.Listeners() == 0 })
	s.say(listenBody(`{"toolsListChanged":true}`))
	s.hear("acknowledged")
	f.handler.Close()
	s.hear(`"id":"l\u0031","result":{"resultType":"complete"`)
	s.ended(websocket.StatusNormalClosure)
}

func TestWebSocketIsBounded(t *testing.T) {
	f := newFixture(t, func(d *registry.Document) { d.Policy.Limits.MaxRequestBytes = 1 << 16; d.Policy.Limits.MaxSessions = 2 })
	url := f.liveWebSocket()
	large, binary := f.socket(url), f.socket(url)
	if _, resp, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{Subprotocols: []string{"mcp"}}); err == nil || resp.StatusCode != http.StatusTooManyRequests {
		t.Errorf("a third connection: %v", err)
	}
	large.say(`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 1<<16) + `"}`)
	large.ended(websocket.StatusMessageTooBig)
	if err := binary.Write(t.Context(), websocket.MessageBinary, []byte(echoCall)); err != nil {
		t.Fatal(err)
	}
	binary.ended(websocket.StatusUnsupportedData)
	eventually(t, func() bool { return f.handler.channels.count() == 0 })
	for name, tc := range map[string]struct {
		header http.Header
		proto  []string
		want   int
	}{
		"a page of a stranger": {http.Header{"Origin": {"https://evil.example.com"}}, []string{"mcp"}, 403},
		"no subprotocol":       {nil, nil, 426},
		"another one":          {nil, []string{"graphql-ws"}, 426},
	} {
		_, resp, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{Subprotocols: tc.proto, HTTPHeader: tc.header})
		if err == nil || resp.StatusCode != tc.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if w := httptest.NewRecorder(); true {
		f.handler.WebSocket().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/ws", nil))
		if w.Code != http.StatusUpgradeRequired || !strings.Contains(w.Body.String(), "NoUpgrade") {
			t.Errorf("a plain GET: %d %s", w.Code, w.Body)
		}
	}
}

// A client that breaks off ends its calls.
func TestWebSocketBreaksOff(t *testing.T) {
	f := newFixture(t, nil)
	started, ended := make(chan struct{}), make(chan error, 1)
	f.server.Answer = func(ctx context.Context, _ *dispatchertest.Conn, _ upstream.Call) (upstream.Reply, error) {
		close(started)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return upstream.Reply{}, context.Cause(ctx)
	}
	s := f.socket(f.liveWebSocket())
	s.say(modernRequest("1", "tools/call", `,"name":"echo","arguments":{"text":"x"}`))
	<-started
	_ = s.CloseNow()
	if err := <-ended; err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ended with %v", err)
	}
	eventually(t, func() bool { return f.handler.channels.count() == 0 })
}
