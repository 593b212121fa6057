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

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
)

func TestServersOwnStream(t *testing.T) {
	server := newFake()
	more, tries := make(chan string), make(chan string, 10)
	server.get = func(w http.ResponseWriter, r *http.Request) {
		tries <- r.Header.Get(headerLastID)
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
				if _, err := call(t, conn, `{}`); err != nil {
					t.Fatal(err)
				}
			}
			if len(asked) > 0 || conn.Err() != nil {
				t.Errorf("asked again, or ended with %v", conn.Err())
			}
		})
	}
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
		if _, err := call(t, conn, `{}`); err != nil {
			t.Fatal(err)
		}
		if got := seen.Load(); got != token+"|application/json" {
			t.Errorf("the server saw %s, want %s and its own content type", got, token)
		}
	}
	for name, content := range map[string]string{"line breaks": "se\r\ncret: x", "too long": strings.Repeat("secret", 10_000)} {
		write(content)
		_, err := call(t, conn, `{}`)
		wantFailure(t, err, registry.FailUnauthorized, "Authorization")
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
				wantFailure(t, err, registry.FailUnreachable, tc.says)
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

// modern is a server that speaks 2026-07-28 only.
func modern(seen chan<- http.Header, bodies chan<- string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		m, err := readMessage(r)
		if err != nil || r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		seen <- r.Header
		bodies <- string(m.Params)
		version, _ := jsonrpc.String(m.MetaMember("io.modelcontextprotocol/protocolVersion"))
		switch {
		case version != "2026-07-28" || r.Header.Get(headerVersion) != version || r.Header.Get(headerMethod) != m.Method:
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write(jsonrpc.AppendError(nil, m.ID, &jsonrpc.Error{Code: -32602, Message: "_meta is missing"}))
		case m.Method == "server/discover":
			reply(w, m.ID, `{"resultType":"complete","supportedVersions":["2027-01-01","2026-07-28"],"capabilities":{"tools":{}}}`)
		case m.Method == "tools/list":
			reply(w, m.ID, `{"resultType":"complete","tools":[],"ttlMs":1,"cacheScope":"private"}`)
		default:
			startStream(w)("data: " + response(m.ID, `{"resultType":"complete"}`) + "\n\n")
		}
	}
}

func readMessage(r *http.Request) (jsonrpc.Message, error) {
	body := make([]byte, r.ContentLength)
	if _, err := r.Body.Read(body); err != nil && len(body) == 0 {
		return jsonrpc.Message{}, err
	}
	return jsonrpc.Parse(body, jsonrpc.Limits{})
}

func TestModernServer(t *testing.T) {
	seen, bodies := make(chan http.Header, 100), make(chan string, 100)
	url := serve(t, modern(seen, bodies)).URL
	d := newDialer(t, Options{URL: url})
	for dialled := range 2 {
		conn, err := d.Dial(t.Context(), upstream.Hello{Capabilities: []byte(`{"sampling":{}}`)}, newRecorder())
		if err != nil {
			t.Fatal(err)
		}
		if info := conn.Info(); info.Era != upstream.Modern || info.ProtocolVersion != "2026-07-28" {
			t.Errorf("info %+v", info)
		}
		if want := 2 - dialled; len(seen) != want {
			t.Errorf("%d requests to connect for the %d. time, want %d", len(seen), dialled+1, want)
		}
		if _, err := conn.Catalogue(t.Context()); err != nil {
			t.Error(err)
		}
		for len(seen) > 0 {
			<-seen
			<-bodies
		}
		if got, err := call(t, conn, `{"name":"grüße","_meta":{}}`); err != nil || got != `{"resultType":"complete"}` {
			t.Errorf("got %s, %v", got, err)
		}
		h := <-seen
		want := []string{"tools/call", "=?base64?Z3LDvMOfZQ==?=", "2026-07-28", ""}
		if diff := cmp.Diff(want, []string{h.Get(headerMethod), h.Get(headerName), h.Get(headerVersion), h.Get(headerSession)}); diff != "" {
			t.Errorf("headers (-want +got):\n%s", diff)
		}
		if body := <-bodies; !strings.Contains(body, `"io.modelcontextprotocol/clientCapabilities":{"sampling":{}}`) {
			t.Errorf("params %s", body)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestNewRefusesWhatIsNoURL(t *testing.T) {
	for _, u := range []string{"", "ftp://x/", "/mcp", "http://", "http://a b/"} {
		if _, err := New(Options{URL: u}, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%q was accepted", u)
		}
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
				if _, err := call(b, conn, `{"name":"echo","arguments":{"path":"/tmp/x","n":12345}}`); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
