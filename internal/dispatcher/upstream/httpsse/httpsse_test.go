// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package httpsse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/origin"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/upstreamtest"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
)

// fake is a server over HTTP with SSE whose parts a test may replace.
type fake struct {
	// endpoint is what the first event says; "/messages?session=1" if empty.
	endpoint string
	// get replaces the stream, post the answer to POST; post reports whether it has.
	get  http.HandlerFunc
	post func(w http.ResponseWriter, m *jsonrpc.Message) bool

	events chan string // the text of events
	told   chan jsonrpc.Message
	opened chan struct{}
}

func newFake() *fake {
	return &fake{events: make(chan string, 100), told: make(chan jsonrpc.Message, 100), opened: make(chan struct{}, 100)}
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodGet && f.get != nil:
		f.get(w, r)
	case r.Method == http.MethodGet:
		f.stream(w, r)
	case r.URL.Path != "/messages":
		http.NotFound(w, r)
	default:
		f.take(w, r)
	}
}

func (f *fake) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	endpoint := f.endpoint
	if endpoint == "" {
		endpoint = "/messages?session=1"
	}
	flush := http.NewResponseController(w)
	_, _ = fmt.Fprintf(w, ": hello\r\n\r\nevent: endpoint\r\ndata: %s\r\n\r\n", endpoint)
	_ = flush.Flush()
	f.opened <- struct{}{}
	for {
		select {
		case text := <-f.events:
			if text == "" {
				return
			}
			_, _ = io.WriteString(w, text)
			_ = flush.Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func (f *fake) take(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	m, err := jsonrpc.Parse(body, jsonrpc.Limits{})
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if f.post != nil && f.post(w, &m) {
		return
	}
	w.WriteHeader(http.StatusAccepted)
	switch {
	case m.Kind != jsonrpc.Request:
		f.told <- m.Clone()
	case m.Method == "initialize":
		f.answer(m.ID, `{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1"}}`)
	case m.Method == "tools/list":
		f.answer(m.ID, `{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`)
	default:
		f.answer(m.ID, `{"echo":`+string(m.Params)+`}`)
	}
}

func (f *fake) answer(id jsonrpc.ID, result string) {
	f.events <- "event: message\ndata: " + string(jsonrpc.AppendResponse(nil, id, []byte(result))) + "\n\n"
}

type recorder struct{ notices chan upstream.Event }

func (r *recorder) HandleRequest(context.Context, upstream.Event) upstream.Reply {
	return upstream.Reply{Result: []byte(`{"roots":[]}`)}
}

func (r *recorder) HandleNotification(event upstream.Event) { r.notices <- event }

func tryDial(t *testing.T, handler http.Handler, o upstream.Options, remote bool, h upstream.Handler) (upstream.Conn, error) {
	t.Helper()
	leaks := goleak.IgnoreCurrent()
	server := httptest.NewServer(handler)
	o.Counters = new(upstream.Counters)
	way, err := origin.New(origin.Options{URL: server.URL + "/sse?key=secret", Remote: remote})
	if err != nil {
		t.Fatal(err)
	}
	d := New(o, way, slog.New(slog.DiscardHandler))
	conn, err := d.Dial(t.Context(), upstream.Hello{}, h)
	t.Cleanup(func() {
		if conn != nil {
			_ = conn.Close()
		}
		_ = d.Close()
		server.CloseClientConnections()
		server.Close()
		goleak.VerifyNone(t, leaks)
	})
	return conn, err
}

func dial(t *testing.T, handler http.Handler, h upstream.Handler) upstream.Conn {
	t.Helper()
	conn, err := tryDial(t, handler, upstream.Options{MaxMessageBytes: 1 << 20}, false, h)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestCalls(t *testing.T) {
	server := newFake()
	h := &recorder{make(chan upstream.Event, 10)}
	conn := dial(t, server, h)
	if info := conn.Info(); info.Era != upstream.Legacy || info.ProtocolVersion != "2024-11-05" {
		t.Errorf("info %+v", info)
	}
	if m := <-server.told; m.Method != "notifications/initialized" {
		t.Errorf("told %s", m.Method)
	}
	var group sync.WaitGroup
	for i := range 50 { // G-21, G-23
		group.Go(func() {
			args := fmt.Sprintf(`{"a":9007199254740993,"i":%d}`, i)
			if got, err := upstreamtest.CallTool(t, conn, args); err != nil || got != `{"echo":`+args+`}` {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
	group.Wait()
	if cat, err := conn.Catalogue(t.Context()); err != nil || len(cat.Tools) != 1 {
		t.Errorf("catalogue %+v, %v", cat, err)
	}
	server.events <- `data: {"jsonrpc":"2.0","id":7,"method":"roots/list"}` + "\n\n"
	if m := <-server.told; m.Kind != jsonrpc.Response || string(m.Result) != `{"roots":[]}` {
		t.Errorf("the server was answered %s", m.Result)
	}
	server.events <- "event: other\ndata: x\n\n" + `data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n\n"
	if e := <-h.notices; e.Method != "notifications/tools/list_changed" {
		t.Errorf("event %+v", e)
	}
}

func TestTheAnswerToAPostIsNotWaitedFor(t *testing.T) {
	server := newFake()
	release := make(chan struct{})
	server.post = func(w http.ResponseWriter, m *jsonrpc.Message) bool {
		if m.Method != "tools/call" {
			return false
		}
		server.answer(m.ID, `{"early":true}`)
		<-release
		w.WriteHeader(http.StatusOK)
		return true
	}
	conn := dial(t, server, nil)
	if got, err := upstreamtest.CallTool(t, conn, `{}`); err != nil || got != `{"early":true}` {
		t.Errorf("got %s, %v", got, err)
	}
	close(release)
}

func TestCancellationIsTold(t *testing.T) {
	server := newFake()
	started := make(chan string, 1)
	server.post = func(w http.ResponseWriter, m *jsonrpc.Message) bool {
		if m.Method != "tools/call" {
			return false
		}
		w.WriteHeader(http.StatusAccepted)
		started <- m.ID.String()
		return true
	}
	conn := dial(t, server, nil)
	<-server.told
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	result := make(chan error)
	go func() {
		_, err := conn.Call(ctx, upstream.Call{Method: "tools/call"})
		result <- err
	}()
	id := <-started
	cancel(gone)
	if err := <-result; !errors.Is(err, gone) {
		t.Errorf("error %v", err)
	}
	if m := <-server.told; m.Method != "notifications/cancelled" || string(m.Param("requestId")) != id { // G-80, G-81
		t.Errorf("told %s %s", m.Method, m.Params)
	}
}

// TestEndpoints holds that messages, and the credentials with them, go to the stream's own server alone.
func TestEndpoints(t *testing.T) {
	for name, tc := range map[string]struct {
		endpoint func(base string) string
		remote   bool
		says     string
	}{
		"a path":                              {endpoint: func(string) string { return "/messages" }},
		"a relative path":                     {endpoint: func(string) string { return "messages?a=b" }},
		"a whole URL":                         {endpoint: func(base string) string { return base + "/messages" }},
		"another name of loopback in the pod": {endpoint: func(base string) string { return strings.Replace(base, "127.0.0.1", "localhost", 1) + "/messages" }},
		"another name of loopback elsewhere": {endpoint: func(base string) string { return strings.Replace(base, "127.0.0.1", "localhost", 1) + "/messages" },
			remote: true, says: "another origin"},
		"another port":       {endpoint: func(string) string { return "http://127.0.0.1:1/messages" }, says: "another origin"},
		"another scheme":     {endpoint: func(base string) string { return strings.Replace(base, "http:", "https:", 1) + "/messages" }, says: "another origin"},
		"another host":       {endpoint: func(string) string { return "http://evil.example/messages" }, says: "another origin"},
		"no scheme":          {endpoint: func(string) string { return "//evil.example/messages" }, says: "another origin"},
		"credentials":        {endpoint: func(base string) string { return strings.Replace(base, "http://", "http://127.0.0.1@", 1) }, says: "no URL"},
		"a script":           {endpoint: func(string) string { return "javascript:alert(1)" }, says: "another origin"},
		"nonsense":           {endpoint: func(string) string { return "http://[::1" }, says: "no URL"},
		"more than a URL is": {endpoint: func(string) string { return "/" + strings.Repeat("x", maxEndpoint) }, says: "no URL"},
	} {
		t.Run(name, func(t *testing.T) {
			server := newFake()
			handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				server.endpoint = tc.endpoint("http://" + r.Host)
				server.ServeHTTP(w, r)
			})
			conn, err := tryDial(t, handler, upstream.Options{}, tc.remote, nil)
			if tc.says != "" {
				upstreamtest.WantFailure(t, err, registry.FailNotMCP, tc.says)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := upstreamtest.CallTool(t, conn, `{}`); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDialFails(t *testing.T) {
	text := func(status int, label, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", label)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, tc := range map[string]struct {
		get    http.HandlerFunc
		remote bool
		want   registry.FailureReason
		says   string
	}{
		"another path":             {get: http.NotFound, want: registry.FailNotMCP, says: "there is no HTTP+SSE endpoint"},
		"a streamable HTTP server": {get: text(405, "", ""), want: registry.FailNotMCP, says: "there is no HTTP+SSE endpoint"},
		"a page (G-52)":            {get: text(200, "text/html", "<html>"), want: registry.FailNotMCP, says: "does not answer with an event stream"},
		"credentials are missing":  {get: text(401, "", ""), want: registry.FailUnauthorized, says: "401"},
		"a gateway's answer":       {get: text(503, "", ""), remote: true, want: registry.FailUnreachable, says: "503"},
		"a stream that ends":       {get: text(200, "text/event-stream", ": hi\n\n"), want: registry.FailNotMCP, says: "ended before its first event"},
		"a stream of messages":     {get: text(200, "text/event-stream", "data: {}\n\n"), want: registry.FailNotMCP, says: "does not name the endpoint"},
		"an endless line":          {get: text(200, "text/event-stream", "data: "+strings.Repeat("x", 2<<20)), want: registry.FailNotMCP, says: "more than 1048576 bytes"},
		"a stream that is silent": {get: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, want: registry.FailTimeout, says: "named no endpoint"},
		"a server that says nothing":   {get: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, want: registry.FailTimeout, says: "named no endpoint"},
		"a connection that is cut off": {get: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, want: registry.FailExited, says: "was lost"},
	} {
		t.Run(name, func(t *testing.T) {
			server := newFake()
			server.get = tc.get
			opts := upstream.Options{MaxMessageBytes: 1 << 20}
			if tc.want == registry.FailTimeout {
				opts.StartTimeout = 300 * time.Millisecond
			}
			_, err := tryDial(t, server, opts, tc.remote, nil)
			upstreamtest.WantFailure(t, err, tc.want, tc.says)
		})
	}
}

func TestDialEndsWithItsCaller(t *testing.T) {
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel(gone)
		<-r.Context().Done()
	}))
	defer server.Close()
	way, err := origin.New(origin.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(upstream.Options{}, way, slog.New(slog.DiscardHandler)).Dial(ctx, upstream.Hello{}, nil); !errors.Is(err, gone) {
		t.Errorf("error %v, want the caller's cause", err)
	}
}

func TestPostsThatAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		body   string
		want   registry.FailureReason
		says   string
		ends   bool
	}{
		"a JSON-RPC error in HTTP 400 (G-54)":  {status: 400, body: `{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"no"}}`, says: "error -32602"},
		"a JSON-RPC error in HTTP 500 (G-54)":  {status: 500, body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"no"}}`, says: "error -32603"},
		"the session is gone (G-58)":           {status: 404, body: "Session not found", want: registry.FailExited, says: "no longer knows the session", ends: true},
		"the session is gone, in words (G-58)": {status: 400, body: "No transport found for sessionId", want: registry.FailExited, says: "no longer knows the session", ends: true},
		"a page (G-52)":                        {status: 500, body: "<html>", want: registry.FailNotMCP, says: "HTTP 500"},
		"credentials":                          {status: 401, body: `{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"no"}}`, want: registry.FailUnauthorized, says: "401"},
	} {
		t.Run(name, func(t *testing.T) {
			server := newFake()
			server.post = func(w http.ResponseWriter, m *jsonrpc.Message) bool {
				if m.Method != "tools/call" {
					return false
				}
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, tc.body)
				return true
			}
			conn := dial(t, server, nil)
			got, err := upstreamtest.CallTool(t, conn, `{}`)
			if tc.want != "" {
				upstreamtest.WantFailure(t, err, tc.want, tc.says)
			} else if err != nil || got != tc.says {
				t.Errorf("got %s, %v, want %s", got, err, tc.says)
			}
			if ended := conn.Err() != nil; ended != tc.ends {
				t.Errorf("the connection has ended: %v", conn.Err())
			}
		})
	}
}

func TestTheEndOfTheStreamEndsTheSession(t *testing.T) {
	for name, tc := range map[string]struct {
		event  string
		remote bool
		want   registry.FailureReason
		says   string
	}{
		"in the pod":                  {want: registry.FailExited, says: "ended its stream"},
		"elsewhere":                   {remote: true, want: registry.FailUnreachable, says: "ended its stream"},
		"an event without end (G-48)": {event: "data: " + strings.Repeat("x", 2<<20), want: registry.FailNotMCP, says: "more than 1048576 bytes"},
		"many lines of one event":     {event: strings.Repeat("data: "+strings.Repeat("x", 1<<10)+"\n", 2<<10), want: registry.FailNotMCP, says: "more than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			server := newFake()
			started := make(chan struct{})
			server.post = func(w http.ResponseWriter, m *jsonrpc.Message) bool {
				if m.Method != "tools/call" {
					return false
				}
				w.WriteHeader(http.StatusAccepted)
				close(started)
				return true
			}
			conn, err := tryDial(t, server, upstream.Options{MaxMessageBytes: 1 << 20}, tc.remote, nil)
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				<-started
				server.events <- tc.event
			}()
			_, err = upstreamtest.CallTool(t, conn, `{}`) // it is in flight
			upstreamtest.WantFailure(t, err, tc.want, tc.says)
			<-conn.Done()
			upstreamtest.WantFailure(t, conn.Err(), tc.want, tc.says)
		})
	}
}
