// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package websocket

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	ws "github.com/coder/websocket"
	"go.uber.org/goleak"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/origin"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/upstreamtest"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
)

// fake is a server over WebSocket whose parts a test may replace.
type fake struct {
	protocols []string
	// call answers tools/call; it echoes if nil.
	call func(c *ws.Conn, m *jsonrpc.Message)
	// deaf stops reading, and with it answering pings, after the handshake of MCP.
	deaf bool
	wake chan struct{} // ends that
	told chan jsonrpc.Message
	code chan ws.StatusCode // with which the client left
}

func newFake() *fake {
	return &fake{protocols: []string{subprotocol}, told: make(chan jsonrpc.Message, 100), code: make(chan ws.StatusCode, 1)}
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, err := ws.Accept(w, r, &ws.AcceptOptions{Subprotocols: f.protocols})
	if err != nil {
		return
	}
	defer c.CloseNow() //nolint:errcheck // it may be closed already
	c.SetReadLimit(-1)
	for {
		_, data, err := c.Read(r.Context())
		if err != nil {
			select {
			case f.code <- ws.CloseStatus(err):
			default:
			}
			return
		}
		m, err := jsonrpc.Parse(data, jsonrpc.Limits{MaxBytes: 32 << 20})
		if err != nil {
			return
		}
		switch {
		case m.Kind != jsonrpc.Request:
			f.told <- m.Clone()
			if f.deaf {
				<-f.wake
				return
			}
		case m.Method == "initialize":
			answer(c, m.ID, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1"}}`)
		case m.Method == "tools/list":
			answer(c, m.ID, `{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`)
		case f.call != nil:
			f.call(c, &m)
		default:
			answer(c, m.ID, `{"echo":`+string(m.Params)+`}`)
		}
	}
}

func answer(c *ws.Conn, id jsonrpc.ID, result string) {
	send(c, string(jsonrpc.AppendResponse(nil, id, []byte(result))))
}

func send(c *ws.Conn, text string) { _ = c.Write(context.Background(), ws.MessageText, []byte(text)) }

type recorder struct{ notices chan upstream.Event }

func (r *recorder) HandleRequest(context.Context, upstream.Event) upstream.Reply {
	return upstream.Reply{Result: []byte(`{"roots":[]}`)}
}

func (r *recorder) HandleNotification(event upstream.Event) { r.notices <- event }

type fixture struct {
	upstream.Options
	origin  origin.Options
	handler upstream.Handler
	change  func(*dialer)
}

func tryDial(t *testing.T, handler http.Handler, f fixture) (upstream.Conn, error) {
	t.Helper()
	leaks := goleak.IgnoreCurrent()
	server := httptest.NewServer(handler)
	f.origin.URL, f.origin.HTTP1 = server.URL+"/mcp?key=secret", true
	way, err := origin.New(f.origin)
	if err != nil {
		t.Fatal(err)
	}
	if f.Counters == nil {
		f.Counters = new(upstream.Counters)
	}
	d := New(f.Options, way, slog.New(slog.DiscardHandler))
	if f.change != nil {
		f.change(d.(*dialer))
	}
	conn, err := d.Dial(t.Context(), upstream.Hello{}, f.handler)
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

func dial(t *testing.T, handler http.Handler, f fixture) upstream.Conn {
	t.Helper()
	conn, err := tryDial(t, handler, f)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestCalls(t *testing.T) {
	server := newFake()
	h := &recorder{make(chan upstream.Event, 10)}
	var counters upstream.Counters
	conn := dial(t, server, fixture{handler: h, Options: upstream.Options{Counters: &counters}})
	if m := <-server.told; m.Method != "notifications/initialized" {
		t.Errorf("told %s", m.Method)
	}
	var group sync.WaitGroup
	for i := range 50 { // G-21, G-23
		group.Go(func() {
			args := fmt.Sprintf("{\"a\":9007199254740993,\n\"i\":%d}", i)
			if got, err := upstreamtest.CallTool(t, conn, args); err != nil || got != `{"echo":`+args+`}` {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
	group.Wait()
	if cat, err := conn.Catalogue(t.Context()); err != nil || len(cat.Tools) != 1 {
		t.Errorf("catalogue %+v, %v", cat, err)
	}
	server.call = func(c *ws.Conn, m *jsonrpc.Message) {
		send(c, "starting...") // G-79
		_ = c.Write(context.Background(), ws.MessageBinary, []byte(`{"jsonrpc":"2.0","id":`+m.ID.String()+`,"result":{"binary":true}}`))
		send(c, `{"jsonrpc":"2.0","id":7,"method":"roots/list"}`)
		send(c, `{"jsonrpc":"2.0","method":"notifications/message","params":{}}`)
		answer(c, m.ID, `{}`)
	}
	if got, err := upstreamtest.CallTool(t, conn, `{}`); err != nil || got != `{}` {
		t.Errorf("got %s, %v", got, err)
	}
	if m := <-server.told; m.Kind != jsonrpc.Response || string(m.Result) != `{"roots":[]}` {
		t.Errorf("the server was answered %s", m.Result)
	}
	if e := <-h.notices; e.Method != "notifications/message" {
		t.Errorf("event %+v", e)
	}
	if counters.StdoutNoise.Load() != 1 || counters.DroppedMessages.Load() != 1 {
		t.Errorf("%d of noise, %d dropped", counters.StdoutNoise.Load(), counters.DroppedMessages.Load())
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	if code := <-server.code; code != ws.StatusNormalClosure {
		t.Errorf("the connection was closed with status %d", code)
	}
}

// A frame that is being written when the connection is closed must not cut the good-bye off.
func TestGoodByeWhileWriting(t *testing.T) {
	server := newFake()
	busy, release := make(chan struct{}), make(chan struct{})
	server.call = func(*ws.Conn, *jsonrpc.Message) {
		select {
		case busy <- struct{}{}:
		case <-release:
		}
		<-release
	}
	var counters upstream.Counters
	conn := dial(t, server, fixture{Options: upstream.Options{Counters: &counters}, change: func(d *dialer) { d.endTimeout = 30 * time.Second }})
	var group sync.WaitGroup
	unanswered := func(params string) {
		if _, err := upstreamtest.CallTool(t, conn, params); err == nil {
			t.Error("a call was answered that the server never answers")
		}
	}
	group.Go(func() { unanswered(`{}`) })
	<-busy // the server reads nothing until it is released, and the large message does not fit what is between
	group.Go(func() { unanswered(`{"a":"` + strings.Repeat("x", 16<<20) + `"}`) })
	// Once one has to wait for room, the large one is being written.
	for tick := time.Tick(time.Millisecond); counters.Waiting.Load() == 0; <-tick {
		group.Go(func() { unanswered(`{}`) })
	}
	group.Go(func() { _ = conn.Close() })
	<-conn.Done()
	close(release)
	group.Wait()
	if code := <-server.code; code != ws.StatusNormalClosure {
		t.Errorf("the connection was closed with status %d", code)
	}
}

func TestLargeMessages(t *testing.T) { // G-66, G-67
	conn := dial(t, newFake(), fixture{Options: upstream.Options{MaxMessageBytes: 8 << 20}})
	for _, n := range []int{32<<10 - 1, 32 << 10, 32<<10 + 1, 5 << 20} {
		if got, err := upstreamtest.CallTool(t, conn, `{"a":"`+strings.Repeat("x", n)+`"}`); err != nil || len(got) < n {
			t.Errorf("%d bytes came for %d, %v", len(got), n, err)
		}
	}
}

func TestDialFails(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code); _, _ = io.WriteString(w, "<html>") }
	}
	other := newFake()
	other.protocols = []string{"graphql-ws"}
	for name, tc := range map[string]struct {
		handler http.Handler
		remote  bool
		want    registry.FailureReason
		says    string
	}{
		"another path":             {handler: status(404), want: registry.FailNotMCP, says: "there is no WebSocket endpoint"},
		"a page (G-52)":            {handler: status(200), want: registry.FailNotMCP, says: "there is no WebSocket endpoint"},
		"credentials are missing":  {handler: status(401), want: registry.FailUnauthorized, says: "401"},
		"a gateway's answer":       {handler: status(502), remote: true, want: registry.FailUnreachable, says: "502"},
		"another protocol":         {handler: other, want: registry.FailNotMCP, says: "subprotocol mcp"},
		"silence":                  {handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), want: registry.FailTimeout, says: "did not answer the handshake"},
		"a connection that is cut": {handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), want: registry.FailExited, says: "was lost"},
		"an answer that is no such": {handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Upgrade", "x")
			w.Header().Set("Connection", "Upgrade")
			w.WriteHeader(http.StatusSwitchingProtocols)
		}), want: registry.FailNotMCP, says: "RFC 6455"},
	} {
		t.Run(name, func(t *testing.T) {
			f := fixture{origin: origin.Options{Remote: tc.remote}}
			if tc.want == registry.FailTimeout {
				f.StartTimeout = 300 * time.Millisecond
			}
			_, err := tryDial(t, tc.handler, f)
			upstreamtest.WantFailure(t, err, tc.want, tc.says)
		})
	}
}

func TestEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		call   func(c *ws.Conn, m *jsonrpc.Message)
		remote bool
		want   registry.FailureReason
		says   string
	}{
		"the server closes":               {call: func(c *ws.Conn, _ *jsonrpc.Message) { _ = c.Close(ws.StatusGoingAway, "bye") }, want: registry.FailExited, says: "status 1001"},
		"a remote server closes":          {call: func(c *ws.Conn, _ *jsonrpc.Message) { _ = c.Close(ws.StatusGoingAway, "bye") }, remote: true, want: registry.FailUnreachable, says: "status 1001"},
		"the connection is cut (G-73)":    {call: func(c *ws.Conn, _ *jsonrpc.Message) { _ = c.CloseNow() }, want: registry.FailExited, says: "was lost"},
		"a message over the bound (G-48)": {call: func(c *ws.Conn, _ *jsonrpc.Message) { send(c, strings.Repeat("x", 2<<20)) }, want: registry.FailNotMCP, says: "more than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			server := newFake()
			server.call = tc.call
			conn := dial(t, server, fixture{origin: origin.Options{Remote: tc.remote}, Options: upstream.Options{MaxMessageBytes: 1 << 20}})
			_, err := upstreamtest.CallTool(t, conn, `{}`)
			upstreamtest.WantFailure(t, err, tc.want, tc.says)
			<-conn.Done()
			upstreamtest.WantFailure(t, conn.Err(), tc.want, tc.says)
		})
	}
}

func TestAServerThatAnswersNoPingHasGone(t *testing.T) {
	server := newFake()
	server.deaf, server.wake = true, make(chan struct{})
	defer close(server.wake)
	conn := dial(t, server, fixture{change: func(d *dialer) { d.pingInterval, d.patience = time.Millisecond, 100*time.Millisecond }})
	<-conn.Done()
	upstreamtest.WantFailure(t, conn.Err(), registry.FailExited, "answered no ping")
}

func TestCancellationIsTold(t *testing.T) {
	server := newFake()
	started := make(chan string, 1)
	server.call = func(_ *ws.Conn, m *jsonrpc.Message) { started <- m.ID.String() }
	conn := dial(t, server, fixture{})
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

// TestTLS keeps to HTTP/1.1 with a server that would rather speak HTTP/2, and sends the configured headers.
func TestTLS(t *testing.T) {
	fake, seen := newFake(), make(chan string, 1)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header.Get("Authorization")
		fake.ServeHTTP(w, r)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	folder := t.TempDir()
	ca, token := filepath.Join(folder, "ca.pem"), filepath.Join(folder, "token")
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := errors.Join(os.WriteFile(ca, bundle, 0o600), os.WriteFile(token, []byte("Bearer x\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	way, err := origin.New(origin.Options{URL: server.URL, Remote: true, CAFile: ca, HTTP1: true,
		Headers: []registry.HeaderFile{{Name: "Authorization", File: token}}})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := New(upstream.Options{}, way, slog.New(slog.DiscardHandler)).Dial(t.Context(), upstream.Hello{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := <-seen; got != "Bearer x" {
		t.Errorf("the server saw %q", got)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
}
