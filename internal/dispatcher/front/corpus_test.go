// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/dispatcher/dispatchertest"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
)

// talking is a server that tells and asks while it is called.
func talking(ctx context.Context, c *dispatchertest.Conn, call upstream.Call) (upstream.Reply, error) {
	if call.Progress != nil {
		call.Progress([]byte(`{"progress":1}`))
	}
	c.Handler.HandleNotification(upstream.Event{Method: "notifications/message", Params: []byte(`{"data":"log"}`), Owner: call.Owner})
	reply := c.Handler.HandleRequest(ctx, upstream.Event{Method: "elicitation/create", Params: []byte(`{"message":"?"}`), Owner: call.Owner})
	return upstream.Reply{Result: append(append([]byte(`{"content":[],"structuredContent":`), reply.Result...), '}')}, nil
}

// Every message on a stream is named (G-43): there are clients that skip events without a name.
func TestG43EveryMessageIsNamed(t *testing.T) {
	f := newFixture(t, nil)
	f.server.Answer = talking
	id := f.session()
	url := f.live().URL
	own := f.open(http.MethodGet, url, "", headerSession, id)
	call := f.open(http.MethodPost, url, progressCall, headerSession, id)
	named := func(r *reader, until string) {
		t.Helper()
		name := ""
		for {
			line, err := r.ReadString('\n')
			switch {
			case err != nil:
				t.Fatalf("the stream ended before %s: %v", until, err)
			case strings.HasPrefix(line, "event: "):
				name = strings.TrimSpace(line[len("event: "):])
			case strings.HasPrefix(line, "data: ") && name != "message":
				t.Errorf("a message under the name %q: %s", name, line)
			case line == "\n":
				name = ""
			}
			if strings.Contains(line, until) {
				return
			}
		}
	}
	named(call, "elicitation/create")
	f.post(`{"jsonrpc":"2.0","id":"toolgate-1","result":{"action":"accept"}}`, headerSession, id)
	named(call, `"id":1,"result"`)
	f.handler.ToolsChanged()
	named(own, "list_changed")
}

// A client that takes no stream in answer to its call gets plain JSON, and on its own stream what the server tells and asks
// meanwhile (G-45).
func TestG45AClientThatTakesJSONAlone(t *testing.T) {
	f := newFixture(t, nil)
	f.server.Answer = talking
	id := f.session()
	url := f.live().URL
	own := f.open(http.MethodGet, url, "", headerSession, id)
	answered := make(chan string)
	go func() {
		w := f.post(echoCall, headerSession, id, "Accept", "application/json")
		answered <- w.Header().Get("Content-Type") + " " + w.Body.String()
	}()
	for _, want := range []string{`"data":"log"`, "elicitation/create"} {
		if got := own.data(); !strings.Contains(got, want) {
			t.Errorf("the stream brought %q, want %s", got, want)
		}
	}
	f.post(`{"jsonrpc":"2.0","id":"toolgate-1","result":{"action":"accept"}}`, headerSession, id)
	if got, want := <-answered, `application/json {"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"action":"accept"}}}`; got != want {
		t.Errorf("answered %s, want %s", got, want)
	}
}
