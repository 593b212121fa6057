// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"toolgate.dev/toolgate/test/dataplane/scripted"
)

// TestOperatorCorpus holds those rows of docs/corpus-operator.md that are of the data plane and in no other test. A subtest is
// named by its row.
func TestOperatorCorpus(t *testing.T) {
	for name, row := range map[string]func(*testing.T){
		"KU-1170 a client's credentials stay here":  credentialsStay,
		"KU-1279 a session's id is written nowhere": sessionsAreNotTold,
		"TH-2785 a stream without a session":        streamWithoutSession,
		"VB-39 an answer is no session":             answersAreNoSessions,
	} {
		t.Run(name, row)
	}
}

// credentialsStay wants nothing of what a client shows to the dispatcher to reach the server.
func credentialsStay(t *testing.T) {
	var mu sync.Mutex
	seen, calls := "", 0
	c := newChild(t, scripted.Good, greet)
	d := serve(t, upstreamBehind(t, c, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			seen, calls = seen+fmt.Sprint(r.Header, r.URL), calls+1
			mu.Unlock()
			next.ServeHTTP(w, r)
		})
	})).ready()
	request := must[*http.Request](t)(http.NewRequest(http.MethodPost, d.mcp+"/mcp", strings.NewReader(inCall(`{"name":"greet","arguments":{"name":"x"}}`))))
	for _, header := range []string{"Cookie", "Authorization", "Proxy-Authorization", "X-Api-Key", "Forwarded"} {
		request.Header.Set(header, mark)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	resp := must[*http.Response](t)(web.Do(request))
	body := must[[]byte](t)(io.ReadAll(resp.Body))
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusOK || bytes.Contains(body, []byte(`"error"`)) {
		t.Fatalf("%s %s", resp.Status, body)
	}
	mu.Lock()
	defer mu.Unlock()
	if calls == 0 || strings.Contains(seen, mark) {
		t.Errorf("%d requests, with %s", calls, seen)
	}
}

// sessionsAreNotTold wants the id of a session in no log and in no record: who has it can speak in that session.
func sessionsAreNotTold(t *testing.T) {
	c := newChild(t, scripted.Good, greet, scripted.Say)
	d := serveWith(t, write(t, document(t, c.definitions()...)), append([]string{"--log-level", "debug", "--stdio", "--"}, c.command()...)...).ready()
	s := d.session(latest)
	s.call("greet", `{"name":"x"}`)
	s.call("greet", `{"name":1}`)
	s.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"`)
	request := must[*http.Request](t)(http.NewRequest(http.MethodDelete, s.url, http.NoBody))
	request.Header.Set("Mcp-Session-Id", s.session)
	resp := must[*http.Response](t)(web.Do(request))
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if a := s.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); a.status != http.StatusNotFound {
		t.Errorf("the session did not end: %d %s", a.status, a.body)
	}
	d.stop()
	if d.log.String() == "" || d.audit.String() == "" {
		t.Error("nothing was written: was the right thing read?")
	}
	if strings.Contains(d.log.String()+d.audit.String(), s.session) {
		t.Errorf("%s is in log or audit:\n%s\n%s", s.session, d.log, d.audit)
	}
}

// streamWithoutSession asks for a stream before any initialize.
func streamWithoutSession(t *testing.T) {
	c := newChild(t, scripted.Good, greet)
	d := serve(t, document(t, c.definitions()...), c.command()...).ready()
	request := must[*http.Request](t)(http.NewRequest(http.MethodGet, d.mcp+"/mcp", http.NoBody))
	request.Header.Set("Accept", "text/event-stream")
	resp := must[*http.Response](t)(web.Do(request))
	body := must[[]byte](t)(io.ReadAll(resp.Body))
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusMethodNotAllowed && resp.StatusCode != http.StatusBadRequest {
		t.Errorf("%s %s", resp.Status, body)
	}
	if names, _ := d.session(latest).tools(); len(names) != 1 {
		t.Errorf("tools %v", names)
	}
}

// answersAreNoSessions counts one session, however many of its answers were event streams.
func answersAreNoSessions(t *testing.T) {
	c := newChild(t, scripted.Good, greet)
	d := serve(t, document(t, c.definitions()...), c.command()...).ready()
	s := d.session(latest)
	s.accept = "text/event-stream"
	for range 5 {
		s.call("greet", `{"name":"x"}`)
	}
	if got := figure(t, d, "toolgate_sessions"); got != 1 {
		t.Errorf("%v sessions, want 1", got)
	}
}
