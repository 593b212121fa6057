// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package streamable

import (
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/upstreamtest"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
)

func TestServersOwnStream(t *testing.T) {
	server := newFake()
	more, tries := make(chan string), make(chan string, 10)
	server.get = func(w http.ResponseWriter, r *http.Request) {
		tries <- r.Header.Get("Last-Event-ID")
		write := startStream(w)
		for {
			select {
			case text := <-more:
				if text == "" {
					return
				}
				write(text)
			case <-r.Context().Done():
				return
			}
		}
	}
	handler := newRecorder()
	conn := dial(t, server, handler, Options{})
	first, err := conn.Catalogue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := <-tries; got != "" {
		t.Errorf("the first stream asks for events after %q", got)
	}
	more <- ": keep-alive\n\n"
	more <- "id: e1\nretry: 1\ndata: " + `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n\n"
	if e := <-handler.notices; e.Method != "notifications/tools/list_changed" || e.Owner != nil {
		t.Errorf("event %+v", e)
	}
	if again, err := conn.Catalogue(t.Context()); err != nil || again == first {
		t.Errorf("the catalogue was not read again: %v", err)
	}
	more <- "" // the stream breaks
	if got := <-tries; got != "e1" {
		t.Errorf("the stream is opened again after %q, want e1", got)
	}
	more <- `data: {"jsonrpc":"2.0","method":"notifications/message","params":{}}` + "\n\n"
	<-handler.notices
}

func TestServerWithoutAStreamIsAskedOnce(t *testing.T) { // G-59
	for name, status := range map[string]int{"405": 405, "404 with no session to lose": 404, "200 that is no stream": 200} {
		t.Run(name, func(t *testing.T) {
			server := newFake()
			if status != 405 {
				server.session = ""
			}
			asked := make(chan struct{}, 10)
			server.get = func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(status)
				asked <- struct{}{}
			}
			conn := dial(t, server, newRecorder(), Options{})
			<-asked
			for range 20 {
				if _, err := upstreamtest.CallTool(t, conn, `{}`); err != nil {
					t.Fatal(err)
				}
			}
			if len(asked) > 0 || conn.Err() != nil {
				t.Errorf("asked again, or ended with %v", conn.Err())
			}
		})
	}
}

func TestAServerThatIsGoneEndsItsSessions(t *testing.T) {
	server := newFake()
	streaming := make(chan struct{})
	server.get = func(w http.ResponseWriter, r *http.Request) {
		startStream(w)("retry: 1\n\n")
		close(streaming)
		<-r.Context().Done()
	}
	process := httptest.NewServer(server)
	conn, err := newDialer(t, Options{URL: process.URL}).Dial(t.Context(), upstream.Hello{}, newRecorder())
	if err != nil {
		t.Fatal(err)
	}
	<-streaming
	process.CloseClientConnections()
	process.Close()
	<-conn.Done()
	upstreamtest.WantFailure(t, conn.Err(), registry.FailExited, "has gone")
}

func TestHeadersComeFromFilesAsTheyAreNow(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write := func(value string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("Bearer one\n")
	var seen atomic.Value
	server := newFake()
	server.answer = func(_ http.ResponseWriter, r *http.Request, _ *jsonrpc.Message) bool {
		seen.Store(r.Header.Get("Authorization") + "|" + r.Header.Get("Content-Type"))
		return false
	}
	conn := dial(t, server, nil, Options{Headers: []registry.HeaderFile{{Name: "Authorization", File: file}, {Name: "content-type", File: file}}})
	for _, token := range []string{"Bearer two", "Bearer three"} {
		write(token + "\n")
		if _, err := upstreamtest.CallTool(t, conn, `{}`); err != nil {
			t.Fatal(err)
		}
		if got := seen.Load(); got != token+"|application/json" {
			t.Errorf("the server saw %s, want %s and its own content type", got, token)
		}
	}
	for name, content := range map[string]string{"line breaks": "se\r\ncret: x", "too long": strings.Repeat("secret", 10_000)} {
		write(content)
		_, err := upstreamtest.CallTool(t, conn, `{}`)
		upstreamtest.WantFailure(t, err, registry.FailUnauthorized, "Authorization")
		if strings.Contains(fmt.Sprintf("%v", err), "cret") {
			t.Errorf("%s: the error holds the value: %v", name, err)
		}
	}
}

func TestCAFile(t *testing.T) {
	server := httptest.NewTLSServer(newFake())
	t.Cleanup(server.Close)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	file := filepath.Join(t.TempDir(), "ca.pem")
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for name, tc := range map[string]struct {
		file    string
		content []byte
		says    string
	}{
		"the bundle that signed":       {file: file, content: bundle},
		"a bundle without certificate": {file: file, content: []byte("none"), says: "no PEM certificate"},
		"the system's bundle":          {says: "certificate"},
		"a file that is missing":       {file: file + "x", says: "reading the CA bundle"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(file, tc.content, 0o600); err != nil {
				t.Fatal(err)
			}
			conn, err := newDialer(t, Options{URL: server.URL, Remote: true, CAFile: tc.file}).Dial(t.Context(), upstream.Hello{}, nil)
			if tc.says != "" {
				upstreamtest.WantFailure(t, err, registry.FailUnreachable, tc.says)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func BenchmarkCall(b *testing.B) {
	for name, streaming := range map[string]bool{"JSON": false, "stream": true} {
		b.Run(name, func(b *testing.B) {
			server := newFake()
			server.answer = func(w http.ResponseWriter, _ *http.Request, m *jsonrpc.Message) bool {
				if !streaming || m.Method != "tools/call" {
					return false
				}
				startStream(w)("data: " + response(m.ID, `{"content":[]}`) + "\n\n")
				return true
			}
			conn := dial(b, server, nil, Options{})
			b.ReportAllocs()
			for b.Loop() {
				if _, err := upstreamtest.CallTool(b, conn, `{"name":"echo","arguments":{"path":"/tmp/x","n":12345}}`); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A server may ask on its own stream although a call is under way, so that a connection whose client can be asked waits for
// the stream; one whose client cannot be asked has no reason to.
func TestConnectionsThatCanBeAskedWaitForTheServersStream(t *testing.T) {
	for capabilities, wantWait := range map[string]bool{`{"elicitation":{}}`: true, `{"roots":{}}`: true, `{"experimental":{}}`: false} {
		server := newFake()
		arrived, release := make(chan struct{}), make(chan struct{})
		var opened atomic.Bool
		server.get = func(w http.ResponseWriter, r *http.Request) {
			close(arrived)
			<-release
			opened.Store(true)
			startStream(w)
			<-r.Context().Done()
		}
		if wantWait {
			go func() { <-arrived; close(release) }()
		}
		conn := dialWith(t, server, newRecorder(), upstream.Hello{Capabilities: []byte(capabilities)})
		if opened.Load() != wantWait {
			t.Errorf("%s: the stream is open: %t, want %t", capabilities, opened.Load(), wantWait)
		}
		if !wantWait {
			<-arrived
			close(release)
		}
		_ = conn.Close()
	}
}

// A server that never answers the request for its own stream is called like any other (Kuadrant 813 and 1264), also for a
// client that can be asked.
func TestAStreamThatNeverOpensHoldsUpNobody(t *testing.T) {
	server := newFake()
	asked := make(chan struct{}, 10)
	server.get = func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}
	conn := dialWith(t, server, newRecorder(), upstream.Hello{Capabilities: []byte(`{"elicitation":{}}`)})
	<-asked
	if _, err := upstreamtest.CallTool(t, conn, `{}`); err != nil {
		t.Error(err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
}
