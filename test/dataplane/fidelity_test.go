// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/test/dataplane/scripted"
	"toolgate.dev/toolgate/test/dataplane/wildjson"
)

const (
	// generated is how many messages go over each transport.
	generated = 10_000
	senders   = 4
)

// TestGeneratedMessagesKeepTheirBytes compares SHA-256 at both ends: of the arguments that the client sent and those that the
// server got, of the content and structured content that the server sent and those that the client got. What either end
// hashes is cut out of its message by encoding/json, which takes no part in the dispatcher's decisions.
func TestGeneratedMessagesKeepTheirBytes(t *testing.T) {
	for transport, tc := range map[string]struct {
		messages int
		start    func(t *testing.T, c *child) *dispatcher
		byLines  bool   // the server reads lines
		accept   string // what the client takes
	}{
		"stdio": {messages: generated, byLines: true, start: func(t *testing.T, c *child) *dispatcher {
			return serve(t, document(t, c.definitions()...), c.command()...)
		}},
		"streamable HTTP": {messages: generated, start: func(t *testing.T, c *child) *dispatcher {
			c.Lines = true
			return serve(t, overHTTP(t, c))
		}},
		"event streams on both sides": {messages: generated / 5, accept: "text/event-stream", start: func(t *testing.T, c *child) *dispatcher {
			c.Stream = true
			return serve(t, overHTTP(t, c))
		}},
		"HTTP with SSE": {messages: generated / 5, start: func(t *testing.T, c *child) *dispatcher {
			return serve(t, over(t, c, registry.TransportSSE))
		}},
		"WebSocket": {messages: generated / 5, start: func(t *testing.T, c *child) *dispatcher {
			c.Lines = true
			return serve(t, over(t, c, registry.TransportWebSocket))
		}},
	} {
		t.Run(transport, func(t *testing.T) {
			d := tc.start(t, newChild(t, scripted.Good, scripted.Mirror)).ready()
			var bytes atomic.Int64
			var group sync.WaitGroup
			for sender := range senders {
				s := d.session(latest)
				s.accept = tc.accept
				group.Go(func() {
					for i := range tc.messages / senders {
						n, err := mirrored(s, uint64(sender*generated+i), tc.byLines)
						if err != nil {
							t.Errorf("message %d of sender %d: %v", i, sender, err)
							return
						}
						bytes.Add(int64(n))
					}
				})
			}
			group.Wait()
			if !t.Failed() {
				t.Logf("%d messages over %s, %d bytes of arguments and results: every SHA-256 was the same at both ends", tc.messages, transport, bytes.Load())
			}
		})
	}
}

// mirrored sends one generated call and compares hashes. It returns how many bytes were compared.
func mirrored(s *client, seed uint64, byLines bool) (int, error) {
	wild := wildjson.Generator{Rand: rand.New(rand.NewPCG(seed, 0)), Lines: true}
	sent := wild.Arguments(seed)
	a, err := s.tryCall("mirror", string(sent))
	if err != nil {
		return 0, err
	}
	if byLines {
		sent = wildjson.OneLine(sent)
	}
	var result struct {
		Content           json.RawMessage `json:"content"`
		StructuredContent json.RawMessage `json:"structuredContent"`
		Meta              scripted.Hashes `json:"_meta"`
	}
	if err := json.Unmarshal(a.Result, &result); err != nil {
		return 0, fmt.Errorf("%w: %.500s, sent %.500s", err, a.body, sent)
	}
	got := scripted.Hashes{Arguments: scripted.Hash(sent), Content: scripted.Hash(result.Content), Structured: scripted.Hash(result.StructuredContent)}
	if got != result.Meta {
		return 0, errors.New("hashes differ: client " + fmt.Sprint(got) + ", server " + fmt.Sprint(result.Meta) + ", sent " + string(sent))
	}
	return len(sent) + len(result.Content) + len(result.StructuredContent), nil
}

// overHTTP serves the tools of c over streamable HTTP, and gives the document for it.
func overHTTP(t testing.TB, c *child) *registry.Document {
	t.Helper()
	return over(t, c, registry.TransportStreamableHTTP)
}

// over serves the tools of c over a transport that listens, and gives the document for it.
func over(t testing.TB, c *child, transport registry.TransportType) *registry.Document {
	t.Helper()
	server := must[*scripted.Server](t)(scripted.New(c.Options))
	handler, path := http.Handler(server), ""
	switch transport {
	case registry.TransportSSE:
		handler, path = server.SSE(), "/sse"
	case registry.TransportWebSocket:
		handler = server.WebSocket()
	case registry.TransportStreamableHTTP:
	case registry.TransportStdio:
		t.Fatal("a server over stdio is started by the dispatcher")
	}
	web := httptest.NewServer(handler)
	t.Cleanup(func() {
		web.CloseClientConnections() // a dispatcher that has gone may have left a stream
		web.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	doc := document(t, c.definitions()...)
	doc.Upstream = registry.Upstream{Transport: transport, URL: web.URL + path, Isolation: registry.IsolationSession}
	return doc
}
