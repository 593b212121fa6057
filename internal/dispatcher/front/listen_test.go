// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolgate.dev/toolgate/internal/dispatcher/dispatchertest"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
)

func listenBody(filter string) string {
	return `{"jsonrpc":"2.0","id":"l\u0031","method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{}},"notifications":` + filter + `}}`
}

var listenHeaders = []string{headerVersion, modernVersion, headerMethod, "subscriptions/listen"}

// telling is a fixture whose server declares all that can be listened to, and lets clients subscribe to all but file:///no.
func telling(t *testing.T, change func(*registry.Document)) *fixture {
	f := newFixture(t, change)
	f.server.Said.Capabilities = []byte(`{"tools":{},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true}}`)
	f.server.Answer = func(_ context.Context, _ *dispatchertest.Conn, call upstream.Call) (upstream.Reply, error) {
		if strings.Contains(string(call.Params), "file:///no") {
			return upstream.Reply{Error: &jsonrpc.Error{Code: -32002, Message: "no such resource"}}, nil
		}
		return upstream.Reply{Result: []byte(`{}`)}, nil
	}
	return f
}

const subscriptionMeta = `"_meta":{"io.modelcontextprotocol/subscriptionId":"l\u0031"}`

func TestListen(t *testing.T) {
	f := telling(t, nil)
	r := f.open(http.MethodPost, f.live().URL, listenBody(`{"toolsListChanged":true,"promptsListChanged":false,"resourcesListChanged":true,"x-vendor":true,`+
		`"resourceSubscriptions":["file:///a","file:///no","file:///dir/"]}`), listenHeaders...)
	read := func(want string) {
		t.Helper()
		line, err := r.ReadString('\n')
		for err == nil && !strings.HasPrefix(line, "data: ") {
			if strings.HasPrefix(line, "id:") {
				t.Errorf("an event id in a revision without resumption: %q", line)
			}
			line, err = r.ReadString('\n')
		}
		if diff := cmp.Diff("data: "+want+"\n", line); diff != "" {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
	}
	read(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{` + subscriptionMeta +
		`,"notifications":{"toolsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["file:///a","file:///dir/"]}}}`)
	f.handler.ListChanged("notifications/prompts/list_changed") // is not listened to
	f.handler.ToolsChanged()
	read(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{` + subscriptionMeta + `}}`)
	f.handler.ListChanged("notifications/resources/list_changed")
	read(`{"jsonrpc":"2.0","method":"notifications/resources/list_changed","params":{` + subscriptionMeta + `}}`)
	handler := f.server.Conns()[0].Handler
	tell := func(method, params string) {
		handler.HandleNotification(upstream.Event{Method: method, Params: []byte(params)})
	}
	tell("notifications/resources/updated", `{"uri":"file:///b"}`)
	tell("notifications/resources/list_changed", `{}`) // comes from discovery, once
	tell("notifications/message", `{"data":1}`)
	tell("notifications/resources/updated", `{"uri":"file:///dir/b","x":9007199254740993,"_meta":{"v":1}}`)
	read(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///dir/b","x":9007199254740993,"_meta":{"v":1,"io.modelcontextprotocol/subscriptionId":"l\u0031"}}}`)
	if reply := handler.HandleRequest(t.Context(), upstream.Event{Method: "roots/list"}); reply.Error == nil {
		t.Error("the server could ask on the connection of a subscription")
	}
	if n := f.handler.Listeners(); n != 1 {
		t.Errorf("%d listeners", n)
	}
	_ = f.server.Conns()[0].Close() // the server's process has ended
	read(`{"jsonrpc":"2.0","id":"l\u0031","result":{"resultType":"complete",` + subscriptionMeta + `}}`)
	eventually(t, func() bool { return f.handler.Listeners() == 0 })
}

// Each way in which a subscription ends gives back what it held.
func TestListenersEnd(t *testing.T) {
	f := telling(t, nil)
	url := f.live().URL
	open := func() *reader {
		r := f.open(http.MethodPost, url, listenBody(`{"toolsListChanged":true,"resourceSubscriptions":["file:///a"]}`), listenHeaders...)
		if line, err := r.ReadString('\n'); err != nil || line != "event: message\n" {
			t.Fatalf("%q %v", line, err)
		}
		return r
	}
	gone := open()
	gone.breakOff()
	<-f.server.Conns()[0].Done()
	last := open()
	f.handler.Close()
	var rest strings.Builder
	if _, err := last.WriteTo(&rest); err != nil || !strings.Contains(rest.String(), `"id":"l\u0031","result":{"resultType":"complete"`) {
		t.Errorf("at the end %v %q", err, rest.String())
	}
	<-f.server.Conns()[1].Done()
	if w := f.post(listenBody(`{}`), listenHeaders...); !strings.Contains(w.Body.String(), `"reason":"Draining"`) {
		t.Errorf("after the end: %d %s", w.Code, w.Body)
	}
}

func TestListenersAreKeptAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := telling(t, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		r, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/mcp", strings.NewReader(listenBody(`{"toolsListChanged":true}`)))
		r.Header = headers(listenHeaders...)
		w := newRecorder()
		f.handler.ServeHTTP(w, r)
		if n := strings.Count(w.text(), ": keep-alive\n\n"); n < 239 || !strings.Contains(w.text(), "acknowledged") {
			t.Errorf("%d comments in an hour", n)
		}
	})
}

func TestListenIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		filter  string
		change  func(*registry.Document)
		headers []string
		session bool
		status  int
		want    string
	}{
		"no filter":                      {filter: `null`, status: 400, want: `"path":"/notifications"`},
		"a switch that is no boolean":    {filter: `{"toolsListChanged":"true"}`, status: 400, want: `"path":"/notifications/toolsListChanged"`},
		"resources that are no list":     {filter: `{"resourceSubscriptions":"file:///a"}`, status: 400, want: `"path":"/notifications/resourceSubscriptions"`},
		"a resource that is no string":   {filter: `{"resourceSubscriptions":[1]}`, status: 400, want: `"path":"/notifications/resourceSubscriptions"`},
		"more resources than are kept":   {filter: `{"resourceSubscriptions":[` + many(257) + `]}`, status: 400, want: `at most 256`},
		"a client that takes JSON alone": {filter: `{}`, headers: []string{"Accept", "application/json"}, status: 406, want: `"reason":"NotAcceptable"`},
		"a caller with sessions enough": {filter: `{}`, change: func(d *registry.Document) { d.Policy.Limits.MaxSessions = 1 }, session: true, status: 200,
			want: `"reason":"MaxSessions"`},
	} {
		t.Run(name, func(t *testing.T) {
			f := telling(t, tc.change)
			if tc.session {
				f.session()
			}
			w := f.post(listenBody(tc.filter), append(listenHeaders, tc.headers...)...)
			if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.want) {
				t.Errorf("%d %s, want %d with %s", w.Code, w.Body, tc.status, tc.want)
			}
		})
	}
	f := telling(t, nil)
	if w := f.post(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{}}}`, headerSession, f.session()); !strings.Contains(w.Body.String(), "-32601") {
		t.Errorf("in a session: %s", w.Body)
	}
	if w := f.post(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:b"}}`); !strings.Contains(w.Body.String(), "SessionMissing") {
		t.Errorf("resources/subscribe without a session: %s", w.Body)
	}
}

func many(n int) string {
	var uris []string
	for i := range n {
		uris = append(uris, `"x:`+string(rune('a'+i%26))+strings.Repeat("y", i)+`"`)
	}
	return strings.Join(uris, ",")
}

// What policy does not expose is not agreed to.
func TestListenToWhatIsExposed(t *testing.T) {
	f := telling(t, func(d *registry.Document) { d.Policy.Expose = registry.Expose{Tools: true} })
	r := f.open(http.MethodPost, f.live().URL, listenBody(`{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["file:///a"]}`), listenHeaders...)
	_, _ = r.ReadString('\n')
	if line, err := r.ReadString('\n'); !strings.Contains(line, `"notifications":{"toolsListChanged":true}}`) || len(f.server.Conns()) > 0 {
		t.Errorf("acknowledged %q %v", line, err)
	}
}

// The client of the Go SDK is told of changes in the revision without sessions.
func TestSDKClientListens(t *testing.T) {
	f := telling(t, nil)
	heard := make(chan string, 8)
	s := connect(t, f, modernVersion, &mcp.ClientOptions{
		ToolListChangedHandler:     func(context.Context, *mcp.ToolListChangedRequest) { heard <- "tools" },
		PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { heard <- "prompts" },
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { heard <- "resources" },
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			heard <- r.Params.URI
		},
	})
	if err := s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "file:///a"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool {
		return f.handler.Listeners() == 2 && len(f.server.Conns()) == 1 && strings.Contains(f.server.Received(), "resources/subscribe")
	})
	next := func(want string) {
		t.Helper()
		if got := <-heard; got != want {
			t.Errorf("heard of %s, want %s", got, want)
		}
	}
	f.handler.ToolsChanged()
	next("tools")
	f.handler.ListChanged("notifications/prompts/list_changed")
	next("prompts")
	f.handler.ListChanged("notifications/resources/list_changed")
	next("resources")
	f.server.Conns()[0].Handler.HandleNotification(upstream.Event{Method: "notifications/resources/updated", Params: []byte(`{"uri":"file:///a"}`)})
	next("file:///a")
}
