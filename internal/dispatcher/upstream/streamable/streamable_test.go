// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package streamable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/upstreamtest"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
)

func TestSessionAndVersionAreSent(t *testing.T) {
	server := newFake()
	conn := dial(t, server, nil, Options{})
	if got, err := upstreamtest.CallTool(t, conn, `{"name":"a"}`); err != nil || got != `{"echo":{"name":"a"}}` {
		t.Errorf("got %s, %v", got, err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"POST initialize", "POST notifications/initialized s1 2025-11-25", "POST tools/call s1 2025-11-25", "DELETE  s1 2025-11-25",
	}
	if diff := cmp.Diff(want, server.requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestAnswers holds every form in which servers write an answer. ANSWER stands for the message.
func TestAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		label, body string
		status      int
		want        registry.FailureReason
		says        string
	}{
		"JSON":                                    {label: "application/json", body: "ANSWER"},
		"JSON with a charset in capitals (G-37)":  {label: "Application/JSON;charset=UTF-8", body: "ANSWER"},
		"JSON without a label":                    {body: "ANSWER"},
		"JSON with a byte order mark":             {label: "application/json", body: "\xef\xbb\xbfANSWER"},
		"JSON, pretty":                            {label: "application/json", body: "\r\n  ANSWER\n"},
		"JSON labelled as a stream (G-39)":        {label: "text/event-stream", body: "ANSWER"},
		"a stream":                                {label: "text/event-stream", body: "event: message\ndata: ANSWER\n\n"},
		"a stream labelled as JSON (G-39)":        {label: "application/json", body: "event: message\ndata: ANSWER\n\n"},
		"a stream without a label":                {body: "data: ANSWER\n\n"},
		"a stream with CRLF (G-41)":               {label: "text/event-stream", body: "event: message\r\ndata: ANSWER\r\n\r\n"},
		"a stream with CR (G-41)":                 {label: "text/event-stream", body: "data: ANSWER\r\r"},
		"a stream with a byte order mark":         {label: "text/event-stream", body: "\xef\xbb\xbfdata: ANSWER\n\n"},
		"a stream that begins with comments":      {label: "text/event-stream", body: ": hi\n\n:\n\nid: 1\ndata:\n\nretry: 5\n\ndata: ANSWER\n\n"},
		"a stream without its last empty line":    {label: "text/event-stream", body: "data: ANSWER"},
		"a stream with other events":              {label: "text/event-stream", body: "event: endpoint\ndata: /x\n\nevent: ping\ndata: {}\n\ndata: ping\n\ndata: ANSWER\n\n"},
		"a stream that ends without the answer":   {label: "text/event-stream", body: ": hi\n\n", want: registry.FailNotMCP, says: "ended before the answer"},
		"an HTML page (G-52)":                     {label: "text/html", body: "<html>oops</html>", want: registry.FailNotMCP, says: "neither strict JSON-RPC nor an event stream"},
		"nothing":                                 {label: "application/json", want: registry.FailNotMCP, says: "empty body"},
		"202 for a request":                       {status: 202, want: registry.FailNotMCP, says: "HTTP 202 Accepted and no body"},
		"a batch":                                 {label: "application/json", body: "[ANSWER]", want: registry.FailNotMCP, says: "not strict JSON-RPC"},
		"an answer to something else":             {label: "application/json", body: `{"jsonrpc":"2.0","id":99,"result":{}}`, want: registry.FailNotMCP, says: "not the answer"},
		"an answer with a duplicate key":          {label: "application/json", body: `{"jsonrpc":"2.0","id":ID,"result":{"a":1,"a":2}}`, want: registry.FailNotMCP, says: "not strict"},
		"a JSON-RPC error in HTTP 400":            {status: 400, body: `{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"no"}}`, says: "error -32602"},
		"a JSON-RPC error without id in HTTP 500": {status: 500, body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"no"}}`, says: "error -32603"},
		"a JSON-RPC error with an id of its own":  {status: 400, body: `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"no"}}`, says: "error -32600"},
		"an unknown method in HTTP 404":           {status: 404, body: `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no"}}`, says: "error -32601"},
		"HTTP 500 with text":                      {status: 500, body: "oops", want: registry.FailNotMCP, says: "HTTP 500 Internal Server Error"},
		"HTTP 401":                                {status: 401, want: registry.FailUnauthorized, says: "HTTP 401"},
		"HTTP 403":                                {status: 403, want: registry.FailUnauthorized, says: "HTTP 403"},
		"a body over the bound (G-68)":            {label: "application/json", body: strings.Repeat(" ", 2<<20), want: registry.FailNotMCP, says: "larger than"},
		"an event over the bound (G-48)":          {label: "text/event-stream", body: "data: " + strings.Repeat("x", 2<<20), want: registry.FailNotMCP, says: "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			server := newFake()
			server.answer = func(w http.ResponseWriter, _ *http.Request, m *jsonrpc.Message) bool {
				if m.Method != "tools/call" {
					return false
				}
				w.Header()["Content-Type"] = nil
				if tc.label != "" {
					w.Header().Set("Content-Type", tc.label)
				}
				if tc.status != 0 {
					w.WriteHeader(tc.status)
				}
				body := strings.ReplaceAll(tc.body, "ANSWER", response(m.ID, `{"ok":true}`))
				_, _ = io.WriteString(w, strings.ReplaceAll(body, "ID", m.ID.String()))
				return true
			}
			conn := dial(t, server, nil, Options{Options: upstream.Options{MaxMessageBytes: 1 << 20}})
			got, err := upstreamtest.CallTool(t, conn, `{}`)
			switch {
			case tc.want != "":
				upstreamtest.WantFailure(t, err, tc.want, tc.says)
			case tc.says != "" && (err != nil || got != tc.says):
				t.Errorf("got %s, %v, want %s", got, err, tc.says)
			case tc.says == "" && (err != nil || got != `{"ok":true}`):
				t.Errorf("got %s, %v", got, err)
			}
			if conn.Err() != nil {
				t.Errorf("the connection ended: %v", conn.Err())
			}
		})
	}
}

func TestInitializeAnsweredAsStream(t *testing.T) { // G-113
	server := newFake()
	server.answer = func(w http.ResponseWriter, _ *http.Request, m *jsonrpc.Message) bool {
		if m.Method != "initialize" {
			return false
		}
		w.Header().Set(headerSession, "s1")
		startStream(w)("event: message\ndata: " + response(m.ID, `{"protocolVersion":"2025-06-18","capabilities":{}}`) + "\n\n")
		return true
	}
	conn := dial(t, server, nil, Options{})
	if _, err := upstreamtest.CallTool(t, conn, `{}`); err != nil || conn.Info().ProtocolVersion != "2025-06-18" {
		t.Errorf("%+v, %v", conn.Info(), err)
	}
}

func TestBytesAreKept(t *testing.T) {
	conn := dial(t, newFake(), nil, Options{})
	for _, args := range []string{`{"a":9007199254740993,"b":1E400}`, "{\"a\":\"\u00a0\u3000\ufffd\",\r\n \"b\":[]}"} {
		if got, err := upstreamtest.CallTool(t, conn, args); err != nil || got != `{"echo":`+args+`}` {
			t.Errorf("got %s, %v, want %s", got, err, args)
		}
	}
}

func TestMessagesOnACallsStream(t *testing.T) {
	server := newFake()
	answered := make(chan string, 1)
	server.answer = func(w http.ResponseWriter, _ *http.Request, m *jsonrpc.Message) bool {
		if m.Method != "tools/call" {
			return false
		}
		write := startStream(w)
		token := string(m.MetaMember("progressToken"))
		write(`data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,"progress":1}}` + "\n\n")
		write(`data: {"jsonrpc":"2.0","method":"notifications/message","params":{}}` + "\n\n")
		write(`data: {"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}` + "\n\n")
		answer := <-server.messages // the stream pauses meanwhile (G-44)
		answered <- string(answer.Result)
		write("data: " + response(m.ID, `{}`) + "\n\n")
		write(`data: {"jsonrpc":"2.0","method":"notifications/message","params":{"late":1}}` + "\n\n")
		return true
	}
	handler := newRecorder()
	handler.answer = func(_ context.Context, event upstream.Event) upstream.Reply {
		if event.Owner != "me" || !event.Exact {
			t.Errorf("event %+v", event)
		}
		return upstream.Reply{Result: []byte(`{"action":"accept"}`)}
	}
	conn := dial(t, server, handler, Options{})
	<-server.messages // initialized
	var progress []string
	reply, err := conn.Call(t.Context(), upstream.Call{Method: "tools/call", Owner: "me", Progress: func(p []byte) { progress = append(progress, string(p)) }})
	if err != nil || reply.Error != nil || len(progress) != 1 {
		t.Errorf("%v, %v, progress %v", reply.Error, err, progress)
	}
	if got := <-answered; got != `{"action":"accept"}` {
		t.Errorf("the server got %s", got)
	}
	for _, want := range []string{`{}`, `{"late":1}`} {
		if e := <-handler.notices; e.Owner != "me" || string(e.Params) != want {
			t.Errorf("event %+v, want %s", e, want)
		}
	}
}

func TestBrokenStreamIsResumed(t *testing.T) {
	server := newFake()
	var id jsonrpc.ID
	server.answer = func(w http.ResponseWriter, _ *http.Request, m *jsonrpc.Message) bool {
		if m.Method != "tools/call" {
			return false
		}
		id = m.ID
		startStream(w)("id: 7\nretry: 1\ndata:\n\nid: 8\nda")
		panic(http.ErrAbortHandler)
	}
	tries := 0
	server.get = func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Last-Event-ID"); got != "7" {
			t.Errorf("Last-Event-ID %q, want 7", got)
		}
		if tries++; tries < 3 {
			startStream(w)("retry: 1\n\n") // nothing yet
			return
		}
		startStream(w)("id: 9\ndata: " + response(id, `{"resumed":true}`) + "\n\n")
	}
	conn := dial(t, server, nil, Options{})
	if got, err := upstreamtest.CallTool(t, conn, `{}`); err != nil || got != `{"resumed":true}` {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestStreamThatCannotBeResumedFails(t *testing.T) {
	server := newFake()
	server.answer = func(w http.ResponseWriter, _ *http.Request, m *jsonrpc.Message) bool {
		if m.Method == "tools/call" {
			startStream(w)("id: 7\nretry: 1\ndata:\n\n")
		}
		return m.Method == "tools/call"
	}
	conn := dial(t, server, nil, Options{}) // GET is answered with 405
	_, err := upstreamtest.CallTool(t, conn, `{}`)
	upstreamtest.WantFailure(t, err, registry.FailNotMCP, "405")
}

func TestLostSessionEndsTheConnection(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter){
		"404 (G-58)": func(w http.ResponseWriter) { http.Error(w, "not found", http.StatusNotFound) },
		"400 that speaks of the session, as the TypeScript examples do": func(w http.ResponseWriter) {
			http.Error(w, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`, http.StatusBadRequest)
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := newFake()
			server.answer = func(w http.ResponseWriter, _ *http.Request, m *jsonrpc.Message) bool {
				if m.Method == "tools/call" {
					answer(w)
				}
				return m.Method == "tools/call"
			}
			conn := dial(t, server, nil, Options{})
			_, err := upstreamtest.CallTool(t, conn, `{}`)
			upstreamtest.WantFailure(t, err, registry.FailExited, "no longer knows the session")
			<-conn.Done()
			upstreamtest.WantFailure(t, conn.Err(), registry.FailExited, "no longer knows the session")
			if server.deleted != 0 {
				t.Error("a session that is lost was deleted")
			}
		})
	}
}

func TestCancellation(t *testing.T) {
	for name, streaming := range map[string]bool{"before the headers": false, "on a stream": true} {
		t.Run(name, func(t *testing.T) {
			server := newFake()
			started := make(chan string, 1)
			server.answer = func(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message) bool {
				if m.Method != "tools/call" {
					return false
				}
				if streaming {
					startStream(w)(": wait\n\n")
				}
				started <- m.ID.String()
				<-r.Context().Done()
				return true
			}
			conn := dial(t, server, nil, Options{})
			<-server.messages // initialized
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
				t.Errorf("error %v, want the caller's cause", err)
			}
			m := <-server.messages // G-80, G-81
			if m.Method != "notifications/cancelled" || string(m.Param("requestId")) != id {
				t.Errorf("got %s %s, want the cancellation of %s", m.Method, m.Params, id)
			}
		})
	}
}

func TestDialFails(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		url     string
		remote  bool
		want    registry.FailureReason
		says    string
	}{
		"nothing listens in the pod":           {url: closed.URL, want: registry.FailStart, says: "Nothing answers at 127.0.0.1"},
		"nothing listens far away":             {url: closed.URL, remote: true, want: registry.FailUnreachable, says: "cannot be reached"},
		"the path is wrong":                    {handler: http.NotFound, want: registry.FailNotMCP, says: "no streamable HTTP endpoint"},
		"credentials do not suffice (KU-1331)": {handler: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, want: registry.FailUnauthorized, says: "403"},
		"the server fails (TH-4459)":           {handler: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, remote: true, want: registry.FailUnreachable, says: "500"},
		"credentials are missing":              {handler: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, want: registry.FailUnauthorized, says: "401"},
		"a page":                               {handler: func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, want: registry.FailNotMCP, says: "strict JSON-RPC"},
		"a redirect to elsewhere": {handler: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://localhost:1/", http.StatusTemporaryRedirect)
		}, want: registry.FailNotMCP, says: "307 Temporary Redirect, which is not followed"},
		"a redirect that becomes GET": {handler: func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/x", http.StatusFound) }, want: registry.FailNotMCP, says: "302 Found"},
		"the connection is cut":       {handler: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, want: registry.FailExited, says: "was lost"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.handler != nil {
				tc.url = serve(t, tc.handler).URL
			}
			_, err := newDialer(t, Options{URL: tc.url + "/mcp?key=secret", Remote: tc.remote}).Dial(t.Context(), upstream.Hello{}, nil)
			upstreamtest.WantFailure(t, err, tc.want, tc.says)
			if strings.Contains(fmt.Sprintf("%v %v", err, errors.Unwrap(err)), "secret") {
				t.Errorf("the error holds the URL's query: %v", err)
			}
		})
	}
}

func TestRedirectOnTheSameServerIsFollowed(t *testing.T) {
	server := newFake()
	mux := http.NewServeMux()
	mux.Handle("/mcp/", server)
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/mcp/", http.StatusTemporaryRedirect)
	})
	conn := dial(t, mux, nil, Options{})
	if got, err := upstreamtest.CallTool(t, conn, `{"x":1}`); err != nil || got != `{"echo":{"x":1}}` {
		t.Errorf("got %s, %v", got, err)
	}
}
