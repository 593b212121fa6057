// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package streamable

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
)

// heardOf waits for a notification; others may come before it.
func heardOf(t *testing.T, h *recorder, method, part string) {
	t.Helper()
	bound := time.After(30 * time.Second)
	for {
		select {
		case e := <-h.notices:
			if strings.Contains(string(e.Params), "subscriptionId") || e.Owner != nil {
				t.Errorf("event %s %s of %v", e.Method, e.Params, e.Owner)
			}
			if e.Method == method && strings.Contains(string(e.Params), part) {
				return
			}
		case <-bound:
			t.Fatalf("never heard of %s %s", method, part)
		}
	}
}

func subscribe(t *testing.T, conn upstream.Conn, method, uri string) upstream.Reply {
	t.Helper()
	reply, err := conn.Call(t.Context(), upstream.Call{Method: method, Params: []byte(`{"uri":"` + uri + `"}`)})
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return reply
}

// TestGoSDKServerTells has a modern server of the Go SDK tell of its lists, and of resources that are subscribed to in the
// way of earlier revisions.
func TestGoSDKServerTells(t *testing.T) {
	accept := func(context.Context, *mcp.SubscribeRequest) error { return nil }
	sdk := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler: accept, UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}, Prompts: &mcp.PromptCapabilities{ListChanged: true},
			Resources: &mcp.ResourceCapabilities{Subscribe: true, ListChanged: true}},
	})
	handler := newRecorder()
	conn := dialWith(t, modernOnly(sdk), handler, upstream.Hello{})
	if conn.Info().Era != upstream.Modern {
		t.Fatalf("info %+v", conn.Info())
	}
	if cat, err := conn.Catalogue(t.Context()); err != nil || len(cat.Tools) != 0 {
		t.Fatalf("catalogue %+v %v", cat, err)
	}
	if r := subscribe(t, conn, "resources/subscribe", "file:///a"); r.Error != nil || string(r.Result) != "{}" {
		t.Fatalf("subscribing: %s %+v", r.Result, r.Error)
	}
	mcp.AddTool(sdk, &mcp.Tool{Name: "late"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{}, nil, nil
	})
	heardOf(t, handler, "notifications/tools/list_changed", "")
	for {
		if cat, err := conn.Catalogue(t.Context()); err != nil {
			t.Fatal(err)
		} else if len(cat.Tools) == 1 {
			break
		}
	}
	sdk.AddPrompt(&mcp.Prompt{Name: "p"}, nil)
	heardOf(t, handler, "notifications/prompts/list_changed", "")
	updated := func(uri string) {
		t.Helper()
		if err := sdk.ResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
			t.Error(err)
		}
		heardOf(t, handler, "notifications/resources/updated", uri)
	}
	updated("file:///a")
	if r := subscribe(t, conn, "resources/subscribe", "file:///b"); r.Error != nil {
		t.Fatalf("subscribing: %+v", r.Error)
	}
	updated("file:///b")
	updated("file:///a")
	if r := subscribe(t, conn, "resources/unsubscribe", "file:///a"); r.Error != nil {
		t.Fatalf("unsubscribing: %+v", r.Error)
	}
	updated("file:///b")
}

// feeder is a modern server whose feeds a test ends.
type feeder struct {
	capabilities string
	refuse       bool // knows no subscriptions/listen
	agree        string

	mu     sync.Mutex
	feeds  []string      // the filters that were asked for
	hangUp chan struct{} // ends the feed that was opened last
}

func (f *feeder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, m := parsed(r)
	switch m.Method {
	case "server/discover":
		reply(w, m.ID, `{"supportedVersions":["2026-07-28"],"capabilities":`+f.capabilities+`,"resultType":"complete"}`)
	case "tools/list":
		reply(w, m.ID, `{"tools":[],"resultType":"complete"}`)
	case "subscriptions/listen":
		if f.refuse {
			unknown(w, m)
			return
		}
		f.mu.Lock()
		f.feeds = append(f.feeds, string(m.Param("notifications")))
		hangUp := make(chan struct{})
		f.hangUp = hangUp
		f.mu.Unlock()
		agreed := f.agree
		if agreed == "" {
			agreed = string(m.Param("notifications"))
		}
		startStream(w)("data: " + `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` +
			m.ID.String() + `},"notifications":` + agreed + `}}` + "\n\n")
		select {
		case <-hangUp:
		case <-r.Context().Done():
		}
	default:
		unknown(w, m)
	}
}

func (f *feeder) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.feeds...)
}

// A feed that breaks is opened again, and what may have been missed is told.
func TestABrokenFeed(t *testing.T) {
	server := &feeder{capabilities: `{"tools":{"listChanged":true},"resources":{"subscribe":true}}`}
	handler := newRecorder()
	conn := dialWith(t, server, handler, upstream.Hello{})
	if _, err := conn.Catalogue(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := subscribe(t, conn, "resources/subscribe", "file:///a"); r.Error != nil {
		t.Fatalf("subscribing: %+v", r.Error)
	}
	before := len(server.asked())
	server.mu.Lock()
	close(server.hangUp)
	server.mu.Unlock()
	heardOf(t, handler, "notifications/resources/updated", "file:///a")
	asked := server.asked()
	if want := `{"toolsListChanged":true,"resourceSubscriptions":["file:///a"]}`; len(asked) <= before || asked[len(asked)-1] != want {
		t.Errorf("asked for %v, at last for %s wanted", asked, want)
	}
}

// What a server does not tell of is refused, and a server that tells of nothing is not asked again and again.
func TestNoFeed(t *testing.T) {
	for name, tc := range map[string]struct {
		server *feeder
		code   int64
	}{
		"a server that does not know the method": {&feeder{capabilities: `{"tools":{"listChanged":true}}`, refuse: true}, jsonrpc.CodeMethodNotFound},
		"a server that agrees to less":           {&feeder{capabilities: `{"tools":{}}`, agree: `{}`}, jsonrpc.CodeInvalidParams},
	} {
		t.Run(name, func(t *testing.T) {
			conn := dialWith(t, tc.server, newRecorder(), upstream.Hello{})
			for range 2 {
				if r := subscribe(t, conn, "resources/subscribe", "file:///a"); r.Error == nil || r.Error.Code != tc.code {
					t.Errorf("subscribing: %s %+v", r.Result, r.Error)
				}
			}
			if r := subscribe(t, conn, "resources/unsubscribe", "file:///a"); r.Error != nil {
				t.Errorf("unsubscribing: %+v", r.Error)
			}
		})
	}
}
