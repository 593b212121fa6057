// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolgate.dev/toolgate/internal/dispatcher/dispatchertest"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/registry"
)

// liveSSE serves HTTP+SSE over real HTTP.
func (f *fixture) liveSSE() string {
	s := httptest.NewServer(f.handler.SSE())
	f.t.Cleanup(func() {
		f.handler.Close()
		s.CloseClientConnections()
		s.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return s.URL + "/sse"
}

// The client of the Go SDK does over HTTP+SSE what it does elsewhere: the same checks, questions of the server, progress,
// changes of lists, cancellation.
func TestSDKClientOverSSE(t *testing.T) {
	f := newFixture(t, nil)
	asked, progress, changed := make(chan string, 8), make(chan float64, 8), make(chan string, 8)
	client := mcp.NewClient(&mcp.Implementation{Name: "sdk", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked <- r.Params.Message
			return &mcp.ElicitResult{Action: "accept"}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { progress <- r.Params.Progress },
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { changed <- "tools" },
	})
	s, err := client.Connect(t.Context(), &mcp.SSEClientTransport{Endpoint: f.liveSSE()}, &mcp.ClientSessionOptions{ProtocolVersion: "2024-11-05"})
	if err != nil {
		t.Fatal(err)
	}
	f.server.Answer = func(ctx context.Context, c *dispatchertest.Conn, call upstream.Call) (upstream.Reply, error) {
		if call.Progress != nil {
			call.Progress([]byte(`{"progress":1}`))
		}
		if strings.Contains(string(call.Params), "ask") {
			c.Handler.HandleRequest(ctx, upstream.Event{Method: "elicitation/create", Params: []byte(`{"message":"Sure?"}`), Owner: call.Owner})
		}
		return upstream.Reply{Result: []byte(`{"content":[{"type":"text","text":"done"}]}`)}, nil
	}
	tools, err := s.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 3 {
		t.Fatalf("tools %+v: %v", tools, err)
	}
	params := &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "ask"}}
	params.SetProgressToken("p")
	if result, err := s.CallTool(t.Context(), params); err != nil || result.IsError {
		t.Fatalf("echo: %+v %v", result, err)
	}
	if got, n := <-asked, <-progress; !strings.Contains(got, "Sure?") || n != 1 {
		t.Errorf("asked %q, progress %v", got, n)
	}
	if denied, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "remove", Arguments: map[string]any{"path": "/"}}); err != nil || !denied.IsError {
		t.Errorf("a destructive call: %+v %v", denied, err)
	}
	f.handler.ToolsChanged()
	<-changed
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	<-f.server.Conns()[0].Done()
}

// sse opens a stream and gives where to post to.
func (f *fixture) sse(url string) (r *reader, endpoint string) {
	f.t.Helper()
	r = f.open(http.MethodGet, url, "")
	event, _ := r.ReadString('\n')
	data, _ := r.ReadString('\n')
	path, ok := strings.CutPrefix(strings.TrimSpace(data), "data: /sse?sessionId=")
	if event != "event: endpoint\n" || !ok || len(path) < 32 {
		f.t.Fatalf("the stream begins with %q %q", event, data)
	}
	return r, url + "?sessionId=" + path
}

func (f *fixture) postTo(url, body string, pairs ...string) int {
	f.t.Helper()
	r := f.open(http.MethodPost, url, body, pairs...)
	return r.resp.StatusCode
}

// data gives the next message.
func (r *reader) data() string {
	r.t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return ""
		}
		if message, ok := strings.CutPrefix(line, "data: "); ok {
			return strings.TrimSpace(message)
		}
	}
}

func TestSSE(t *testing.T) {
	f := newFixture(t, nil)
	url := f.liveSSE()
	r, endpoint := f.sse(url)
	say := func(body, want string) {
		t.Helper()
		if status := f.postTo(endpoint, body); status != http.StatusAccepted {
			t.Fatalf("%s: %d", body, status)
		}
		if got := r.data(); !strings.Contains(got, want) {
			t.Fatalf("%s: got %s, want %s", body, got, want)
		}
	}
	say(echoCall, `"reason":"SessionMissing"`)
	say(`{"jsonrpc":"2.0","id":7,"method":"ping"}`, `"id":7,"result":{}`)
	say(strings.Replace(initializeBody, "2025-11-25", "2024-11-05", 1), `"protocolVersion":"2024-11-05"`)
	say(initializeBody, `"reason":"InitializedAlready"`)
	say(echoCall, `"structuredContent":{"name":"echo"`)
	say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":1}}}`, `"kind":"SchemaError"`)
	say(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`, `"name":"echo"`) // G-14: the list is filtered here too
	for name, tc := range map[string]struct {
		url, body string
		headers   []string
		want      int
	}{
		"another stream":               {url + "?sessionId=nobody", echoCall, nil, 404},
		"no stream":                    {url, echoCall, nil, 404},
		"a batch":                      {endpoint, `[` + echoCall + `]`, nil, 400},
		"no JSON":                      {endpoint, `{`, nil, 400},
		"another media type":           {endpoint, echoCall, []string{"Content-Type", "text/plain"}, 415},
		"a page of a stranger":         {endpoint, echoCall, []string{"Origin", "https://evil.example.com"}, 403},
		"a notification that is known": {endpoint, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil, 202},
		"an answer to nothing":         {endpoint, `{"jsonrpc":"2.0","id":"x","result":{}}`, nil, 202},
	} {
		if got := f.postTo(tc.url, tc.body, tc.headers...); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
	if got := f.open(http.MethodGet, url, "", "Origin", "https://evil.example.com").resp.StatusCode; got != 403 {
		t.Errorf("a stream for a page of a stranger: %d", got)
	}
	if got := f.open(http.MethodGet, url, "", "Accept", "application/json").resp.StatusCode; got != 406 {
		t.Errorf("a stream for a client that takes none: %d", got)
	}
	if got := f.open(http.MethodPut, url, "").resp.StatusCode; got != 405 {
		t.Errorf("PUT: %d", got)
	}
}

// calling has a call under way over HTTP+SSE that ends with its connection alone.
func calling(t *testing.T) (f *fixture, r *reader, endpoint string) {
	t.Helper()
	f = newFixture(t, nil)
	r, endpoint = f.sse(f.liveSSE())
	f.postTo(endpoint, initializeBody)
	r.data()
	started := make(chan struct{})
	f.server.Answer = func(ctx context.Context, _ *dispatchertest.Conn, _ upstream.Call) (upstream.Reply, error) {
		close(started)
		<-ctx.Done()
		return upstream.Reply{}, context.Cause(ctx)
	}
	f.postTo(endpoint, echoCall)
	<-started
	return f, r, endpoint
}

// What is under way ends with the connection.
func TestSSEEndsWithItsClient(t *testing.T) {
	f, r, endpoint := calling(t)
	r.breakOff()
	<-f.server.Conns()[0].Done()
	eventually(t, func() bool { return f.handler.channels.count() == 0 && f.postTo(endpoint, echoCall) == 404 })
}

// When the server's process dies, the call under way is answered, the stream ends, and its name is forgotten.
func TestSSEEndsWithItsServer(t *testing.T) {
	f, r, endpoint := calling(t)
	_ = f.server.Conns()[0].Close()
	if got := r.data(); !strings.Contains(got, `"code":-31012`) {
		t.Errorf("the call was answered by %q", got)
	}
	if rest := r.data(); rest != "" {
		t.Errorf("then came %q", rest)
	}
	eventually(t, func() bool { return f.postTo(endpoint, echoCall) == 404 })
}

// A stream counts as a session from its opening on, and one on which nothing is said is closed.
func TestSSEIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, func(d *registry.Document) { d.Policy.Limits.MaxSessions = 1 })
		get := func() *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/sse", nil)
			w := httptest.NewRecorder()
			f.handler.SSE().ServeHTTP(w, r)
			return w
		}
		done := make(chan *httptest.ResponseRecorder)
		start := time.Now()
		go func() { done <- get() }()
		synctest.Wait()
		if w := get(); w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), "MaxSessions") {
			t.Errorf("a second stream: %d %s", w.Code, w.Body)
		}
		if w := <-done; !strings.HasPrefix(w.Body.String(), "event: endpoint\n") || time.Since(start) != channelSilence {
			t.Errorf("a silent stream after %s: %q", time.Since(start), w.Body)
		}
		f.handler.Close()
		if w := get(); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "Draining") {
			t.Errorf("after the end: %d %s", w.Code, w.Body)
		}
	})
}

// A client that asks and does not read is given up.
func TestAChannelThatIsNotRead(t *testing.T) {
	f := newFixture(t, nil)
	r, endpoint := f.sse(f.liveSSE())
	_, id, _ := strings.Cut(endpoint, "=")
	c := f.handler.channels.find(id)
	reply := &channelReply{channel: c}
	big, _ := json.Marshal(strings.Repeat("x", 1<<20))
	for i := range 64 {
		reply.Answer(200, fmt.Appendf(nil, `{"n":%d,"x":%s}`, i, big))
	}
	eventually(t, func() bool { return f.handler.channels.count() == 0 || r.data() == "" })
}
