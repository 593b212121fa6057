// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/dispatchertest"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/registry"
)

const echoCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}`

func TestIdleSessionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil) // sessions may be idle for 60 s
		id := f.session()
		time.Sleep(59 * time.Second) //nolint:forbidigo // the clock of the bubble
		if w := f.post(echoCall, headerSession, id); w.Code != 200 {
			t.Fatalf("in use: %d %s", w.Code, w.Body)
		}
		time.Sleep(59 * time.Second) //nolint:forbidigo // the clock of the bubble
		if w := f.post(echoCall, headerSession, id); w.Code != 200 {
			t.Fatalf("in use again: %d %s", w.Code, w.Body)
		}
		time.Sleep(61 * time.Second) //nolint:forbidigo // the clock of the bubble
		if w := f.post(echoCall, headerSession, id); w.Code != 404 {
			t.Errorf("idle: %d, want 404", w.Code)
		}
		synctest.Wait()
		select {
		case <-f.server.Conns()[0].Done():
		default:
			t.Error("the connection of an idle session is still open")
		}
	})
}

// G-47: a session whose stream is open is not idle, and its stream gets comments.
func TestG47AnOpenStreamKeepsTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		id := f.session()
		ctx, cancel := context.WithCancel(t.Context())
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/mcp", nil)
		r.Header = headers(headerSession, id)
		w := newRecorder()
		done := make(chan struct{})
		go func() { defer close(done); f.handler.ServeHTTP(w, r) }()
		time.Sleep(10 * time.Minute) //nolint:forbidigo // the clock of the bubble
		if w := f.post(echoCall, headerSession, id); w.Code != 200 {
			t.Errorf("after ten silent minutes: %d", w.Code)
		}
		cancel()
		<-done
		if n := strings.Count(w.text(), ": keep-alive\n\n"); n < 30 {
			t.Errorf("%d comments in ten minutes", n)
		}
	})
}

// A long call gets comments too, so that nothing on the way takes it for dead.
func TestALongCallIsKeptAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, func(d *registry.Document) { d.Policy.TimeoutSeconds = 300 })
		f.server.Answer = func(context.Context, *dispatchertest.Conn, upstream.Call) (upstream.Reply, error) {
			<-time.After(2 * time.Minute)
			return upstream.Reply{Result: []byte(`{"content":[]}`)}, nil
		}
		id := f.session()
		w := f.post(echoCall, headerSession, id)
		if !strings.Contains(w.Body.String(), ": keep-alive\n\n") || !strings.HasSuffix(w.Body.String(), `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`+"\n\n") {
			t.Errorf("got %q", w.Body)
		}
		w = f.post(echoCall, headerSession, id, "Accept", "application/json")
		if w.Body.String() != `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}` {
			t.Errorf("a client that takes JSON only got %q", w.Body)
		}
	})
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		f.server.Answer = func(ctx context.Context, _ *dispatchertest.Conn, _ upstream.Call) (upstream.Reply, error) {
			<-ctx.Done()
			return upstream.Reply{}, context.Cause(ctx)
		}
		start := time.Now()
		w := f.post(echoCall, headerSession, f.session(), "Accept", "application/json")
		if !strings.Contains(w.Body.String(), `"code":-31013`) || w.Code != 200 || time.Since(start) != 30*time.Second {
			t.Errorf("after %v: %d %s", time.Since(start), w.Code, w.Body)
		}
		if !strings.Contains(f.audit.String(), `"outcome":"timeout"`) {
			t.Errorf("audit %s", f.audit)
		}
	})
}

// A person's time to answer does not count against the call.
func TestAPersonsTimeDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		f.server.Answer = func(ctx context.Context, c *dispatchertest.Conn, call upstream.Call) (upstream.Reply, error) {
			<-time.After(20 * time.Second)
			reply := c.Handler.HandleRequest(ctx, upstream.Event{Method: "elicitation/create", Params: []byte(`{"message":"?"}`), Owner: call.Owner})
			if reply.Result == nil {
				return reply, nil
			}
			return upstream.Reply{Result: []byte(`{"content":[],"structuredContent":` + string(reply.Result) + `}`)}, nil
		}
		id := f.session()
		time.AfterFunc(5*time.Minute, func() {
			f.post(`{"jsonrpc":"2.0","id":"toolgate-1","result":{"action":"accept"}}`, headerSession, id)
		})
		w := f.post(echoCall, headerSession, id)
		if !strings.Contains(w.Body.String(), `"structuredContent":{"action":"accept"}`) {
			t.Errorf("got %s", w.Body)
		}
		// What the person was asked is recorded in the trace of the call.
		traces := regexp.MustCompile(`"trace_id":"([0-9a-f]{32})".*"method":"(elicitation/create|tools/call)"`).FindAllStringSubmatch(f.audit.String(), -1)
		if len(traces) != 2 || traces[0][2] == traces[1][2] || traces[0][1] != traces[1][1] {
			t.Errorf("recorded as %s", f.audit)
		}
	})
}

// G-73: a child that dies during a call: the client has an error at once, and 404 from then on.
func TestG73ADeadChild(t *testing.T) {
	f := newFixture(t, nil)
	f.server.Answer = func(ctx context.Context, c *dispatchertest.Conn, _ upstream.Call) (upstream.Reply, error) {
		_ = c.Close()
		<-ctx.Done()
		return upstream.Reply{}, context.Cause(ctx)
	}
	id := f.session()
	w := f.post(echoCall, headerSession, id)
	if !strings.Contains(w.Body.String(), `"code":-31012`) || w.Code != 200 {
		t.Errorf("during the call: %d %s", w.Code, w.Body)
	}
	eventually(t, func() bool { return f.post(echoCall, headerSession, id).Code == 404 })
}

// G-54: an error of the tool, or of the server, is 200 with a body.
func TestG54ServerErrorsAre200(t *testing.T) {
	f := newFixture(t, nil)
	f.server.Answer = func(context.Context, *dispatchertest.Conn, upstream.Call) (upstream.Reply, error) {
		return upstream.Reply{Error: rpcError(-32603, "boom", `{"a":1}`)}, nil
	}
	w := f.post(echoCall, headerSession, f.session())
	if w.Code != 200 || w.Body.String() != `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"boom","data":{"a":1}}}` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// G-108: a denial is recorded as one.
func TestG108DenialsAreRecordedAsRejected(t *testing.T) {
	f := newFixture(t, nil)
	f.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"remove","arguments":{"path":"/"}}}`, headerSession, f.session())
	if got := f.audit.String(); !strings.Contains(got, `"outcome":"rejected"`) || strings.Contains(got, `"outcome":"success"`) {
		t.Errorf("audit %s", got)
	}
}

// G-21 and G-22: answers go to the session that asked, whatever ids clients choose.
func TestG21AnswersFindTheirSession(t *testing.T) {
	f := newFixture(t, func(d *registry.Document) { d.Policy.Limits.MaxSessions = 50; d.Policy.Limits.MaxConcurrent = 500 })
	var all sync.WaitGroup
	for n := range 20 {
		id := f.session()
		for m := range 10 {
			all.Go(func() {
				call := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"%d/%d"}}}`, m, n, m)
				w := f.post(call, headerSession, id)
				if want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":{"name":"echo","arguments":{"text":"%d/%d"}}}}`, m, n, m); w.Body.String() != want {
					t.Errorf("got %s, want %s", w.Body, want)
				}
			})
		}
	}
	all.Wait()
}

func TestAnIDInUseIsRefused(t *testing.T) {
	f := newFixture(t, nil)
	release := make(chan struct{})
	began := make(chan struct{})
	f.server.Answer = func(context.Context, *dispatchertest.Conn, upstream.Call) (upstream.Reply, error) {
		close(began)
		<-release
		return upstream.Reply{Result: []byte(`{"content":[]}`)}, nil
	}
	id := f.session()
	done := make(chan struct{})
	go func() { defer close(done); f.post(echoCall, headerSession, id) }()
	<-began
	if w := f.post(echoCall, headerSession, id); w.Code != 400 || !strings.Contains(w.Body.String(), "IDInUse") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	close(release)
	<-done
}

// In a legacy revision a client that goes away has not cancelled; in the modern one it has.
func TestDisconnect(t *testing.T) {
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	modern := http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"echo"}}
	cases := map[string]struct {
		body          string
		header        http.Header
		wantCancelled bool
	}{
		"a legacy call goes on":      {body: echoCall},
		"a modern call is cancelled": {body: strings.Replace(echoCall, `"name"`, meta+`,"name"`, 1), header: modern, wantCancelled: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, nil)
				cancelled := make(chan bool, 1)
				f.server.Answer = func(ctx context.Context, _ *dispatchertest.Conn, _ upstream.Call) (upstream.Reply, error) {
					select {
					case <-ctx.Done():
						cancelled <- true
					case <-time.After(20 * time.Second):
						cancelled <- false
					}
					return upstream.Reply{Result: []byte(`{"content":[]}`)}, nil
				}
				ctx, cancel := context.WithCancel(t.Context())
				r, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/mcp", strings.NewReader(tc.body))
				r.Header = headers()
				for name, values := range tc.header {
					r.Header[name] = values
				}
				time.AfterFunc(time.Second, cancel)
				f.handler.ServeHTTP(newRecorder(), r)
				if got := <-cancelled; got != tc.wantCancelled {
					t.Errorf("cancelled: %v, want %v", got, tc.wantCancelled)
				}
			})
		})
	}
}

// G-13 and G-14: the list is the filtered one in whatever form it is answered; G-17: what it hides cannot be called.
func TestG13TheListIsFilteredInEveryForm(t *testing.T) {
	f := newFixture(t, func(d *registry.Document) { d.Policy.Gating.HideBlocked = true })
	id := f.session()
	for _, accept := range []string{"application/json", "text/event-stream", "*/*"} {
		w := f.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, headerSession, id, "Accept", accept)
		if got := w.Body.String(); !strings.Contains(got, `"echo"`) || strings.Contains(got, `"remove"`) {
			t.Errorf("%s: %s", accept, got)
		}
	}
	w := f.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"remove","arguments":{"path":"/"}}}`, headerSession, id)
	if !strings.Contains(w.Body.String(), `"isError":true`) || f.server.Received() != "" {
		t.Errorf("the hidden tool: %s; the server received %q", w.Body, f.server.Received())
	}
}

func TestLimits(t *testing.T) {
	f := newFixture(t, func(d *registry.Document) {
		d.Policy.Limits.RequestsPerMinute = 5
		d.Policy.Limits.MaxSessions = 2
	})
	f.session()
	f.session()
	if w := f.post(initializeBody); !strings.Contains(w.Body.String(), `"code":-31011`) || w.Code != 200 {
		t.Errorf("a third session: %d %s", w.Code, w.Body)
	}
	// Every message costs, refused or not (G-12): this one is not even JSON.
	f.post(`{`)
	f.post(`[]`)
	if w := f.post(echoCall); !strings.Contains(w.Body.String(), `"reason":"RequestsPerMinute"`) {
		t.Errorf("a sixth message: %d %s", w.Code, w.Body)
	}
	if got := f.server.Received(); got != "" {
		t.Errorf("the server received %q", got)
	}
}

func TestWithoutADocumentNothingPasses(t *testing.T) {
	f := newFixture(t, nil)
	c := f.handler.Config
	c.Pipeline = bare(f)
	f.handler = New(c)
	for _, body := range []string{initializeBody, echoCall, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`} {
		if w := f.post(body); !strings.Contains(w.Body.String(), "no valid registry document") {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	if got := f.server.Received(); got != "" || len(f.server.Conns()) > 0 {
		t.Errorf("the server received %q on %d connections", got, len(f.server.Conns()))
	}
}

func TestDrain(t *testing.T) {
	f := newFixture(t, nil)
	id := f.session()
	f.handler.Drain()
	if w := f.post(initializeBody); !strings.Contains(w.Body.String(), `"reason":"Draining"`) {
		t.Errorf("a new session while draining: %d %s", w.Code, w.Body)
	}
	if w := f.post(echoCall, headerSession, id); w.Code != 200 {
		t.Errorf("a call while draining: %d %s", w.Code, w.Body)
	}
	<-f.pipe.Flight().Close()
	if w := f.post(echoCall, headerSession, id); w.Code != 404 {
		t.Errorf("a call of a session after the drain: %d %s, want 404", w.Code, w.Body)
	}
	if w := f.post(echoCall); w.Code != 503 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), `"reason":"Draining"`) {
		t.Errorf("a call after the drain: %d %s", w.Code, w.Body)
	}
}

// What comes before the stream is open waits for it; filesystem servers ask for roots right after initialize.
func TestWhatComesEarlyWaits(t *testing.T) {
	f := newFixture(t, nil)
	live := f.live()
	id := f.session()
	conn := f.server.Conns()[0]
	answered := make(chan upstream.Reply, 1)
	go func() { answered <- conn.Handler.HandleRequest(t.Context(), upstream.Event{Method: "roots/list"}) }()
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, live.URL+"/mcp", nil)
	r.Header = headers(headerSession, id)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			if data != `{"jsonrpc":"2.0","id":"toolgate-1","method":"roots/list"}` {
				t.Errorf("asked %s", data)
			}
			break
		}
	}
	f.post(`{"jsonrpc":"2.0","id":"toolgate-1","result":{"roots":[]}}`, headerSession, id)
	if reply := <-answered; string(reply.Result) != `{"roots":[]}` {
		t.Errorf("answered %+v", reply)
	}
}

// A progress token is a string or a number; anything else would come back as what the client never sent.
func TestProgressTokens(t *testing.T) {
	f := newFixture(t, nil)
	for token, refused := range map[string]bool{`"a"`: false, `7`: false, `-1.5`: false, `true`: true, `null`: true, `{}`: true, `["a"]`: true} {
		w := f.post(strings.Replace(echoCall, `"arguments"`, `"_meta":{"progressToken":`+token+`},"arguments"`, 1))
		if got := strings.Contains(w.Body.String(), `"path":"/_meta/progressToken"`); got != refused {
			t.Errorf("%s: %d %s", token, w.Code, w.Body)
		}
	}
}
