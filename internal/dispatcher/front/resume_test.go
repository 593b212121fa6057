// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/dispatchertest"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
)

const progressCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"},"_meta":{"progressToken":"p"}}}`

// reader reads the events of one connection as they come.
type reader struct {
	t    *testing.T
	resp *http.Response
	*bufio.Reader
}

func (f *fixture) open(method, url, body string, pairs ...string) *reader {
	f.t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	r.Header = headers(pairs...)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = resp.Body.Close() })
	return &reader{t: f.t.(*testing.T), resp: resp, Reader: bufio.NewReader(resp.Body)}
}

// next gives the id and the data of the next event that has either; both are empty at the end.
func (r *reader) next() (id, data string) {
	for {
		line, err := r.ReadString('\n')
		line = strings.TrimSuffix(line, "\n")
		switch {
		case err != nil, line == "" && id != "":
			return id, data
		case strings.HasPrefix(line, "id: "):
			id = line[len("id: "):]
		case strings.HasPrefix(line, "data: "):
			data = line[len("data: "):]
		}
	}
}

func (r *reader) breakOff() { _ = r.resp.Body.Close() }

// A call whose connection broke goes on, and its answer is fetched with the id of the last event that arrived.
func TestACallOutlivesItsConnection(t *testing.T) {
	for _, version := range []string{"2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			f := newFixture(t, nil)
			release := make(chan struct{})
			f.server.Answer = func(ctx context.Context, _ *dispatchertest.Conn, call upstream.Call) (upstream.Reply, error) {
				call.Progress([]byte(`{"progress":1}`))
				<-release
				call.Progress([]byte(`{"progress":2}`))
				return upstream.Reply{Result: []byte(`{"content":[]}`)}, ctx.Err()
			}
			url := f.live().URL
			session := f.post(strings.Replace(initializeBody, "2025-11-25", version, 1)).Header().Get(headerSession)
			broken := f.open(http.MethodPost, url, progressCall, headerSession, session)
			id, data := broken.next()
			if primed := data == "" && id != ""; primed != (version == "2025-11-25") {
				t.Errorf("the first event is %q %q", id, data)
			} else if primed {
				id, data = broken.next()
			}
			if !strings.Contains(data, `"progress":1`) {
				t.Errorf("progress: %q %q", id, data)
			}
			broken.breakOff()
			close(release)
			if w := f.post(`{"jsonrpc":"2.0","id":2,"method":"ping"}`, headerSession, session); w.Code != 200 {
				t.Errorf("the session after a broken connection: %d", w.Code)
			}
			own := f.open(http.MethodGet, url, "", headerSession, session)
			resumed := f.open(http.MethodGet, url, "", headerSession, session, headerLastID, id)
			seen := map[string]bool{id: true}
			for _, want := range []string{`"progress":2`, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`, ""} {
				id, data := resumed.next()
				if !strings.Contains(data, want) || seen[id] {
					t.Errorf("resumed: event %q %q, want %q", id, data, want)
				}
				seen[id] = true
			}
			f.handler.ToolsChanged()
			for {
				id, data := own.next()
				if data == "" && id != "" {
					continue
				}
				if !strings.Contains(data, "tools/list_changed") || seen[id] {
					t.Errorf("the session's own stream: %q %q", id, data)
				}
				break
			}
		})
	}
}

// The session's own stream is resumed where it broke, and by nothing that belongs to another stream.
func TestTheOwnStreamIsResumed(t *testing.T) {
	f := newFixture(t, nil)
	session := f.session()
	url := f.live().URL
	handler := f.server.Conns()[0].Handler
	log := func(text string) {
		handler.HandleNotification(upstream.Event{Method: "notifications/message", Params: []byte(`{"data":"` + text + `"}`)})
	}
	log("one")
	own := f.open(http.MethodGet, url, "", headerSession, session)
	prime, _ := own.next()
	first, data := own.next()
	if !strings.Contains(data, "one") {
		t.Fatalf("event %q %q", first, data)
	}
	own.breakOff()
	log("two")
	for lastID, want := range map[string][]string{first: {"two"}, prime: {"one", "two"}} {
		again := f.open(http.MethodGet, url, "", headerSession, session, headerLastID, lastID)
		for _, text := range want {
			if _, data := again.next(); !strings.Contains(data, text) {
				t.Errorf("after %s: %q, want %s", lastID, data, text)
			}
		}
		again.breakOff()
	}
	for _, lastID := range []string{"nonsense", "7-1", "0-99", first + "9"} {
		w := f.send(http.MethodGet, headers(headerSession, session, headerLastID, lastID), "")
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), `"reason":"EventUnknown"`) {
			t.Errorf("%s: %d %s", lastID, w.Code, w.Body)
		}
	}
}

// A primed answer that takes more than a moment is announced, so that a connection that breaks later loses nothing.
func TestASlowAnswerIsAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		f.server.Answer = func(context.Context, *dispatchertest.Conn, upstream.Call) (upstream.Reply, error) {
			<-time.After(3 * time.Second)
			return upstream.Reply{Result: []byte(`{"content":[]}`)}, nil
		}
		id := f.session()
		ctx, cancel := context.WithCancel(t.Context())
		r, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/mcp", strings.NewReader(echoCall))
		r.Header = headers(headerSession, id)
		w := newRecorder()
		done := make(chan struct{})
		go func() { defer close(done); f.handler.ServeHTTP(w, r) }()
		time.Sleep(2 * time.Second) //nolint:forbidigo // the clock of the bubble
		if got := w.text(); got != "id: 1-0-1\nretry: 1000\ndata:\n\n" {
			t.Errorf("after two seconds: %q", got)
		}
		cancel()
		<-done
		resumed := f.send(http.MethodGet, headers(headerSession, id, headerLastID, "1-0-1"), "")
		if got := resumed.Body.String(); !strings.HasSuffix(got, "data: "+`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`+"\n\n") {
			t.Errorf("resumed: %d %q", resumed.Code, got)
		}
	})
}
