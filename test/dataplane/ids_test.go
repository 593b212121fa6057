// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/test/dataplane/scripted"
)

// TestAnswersGoToWhoAsked is G-21 to G-23: clients that use the same ids at the same time, over connections of their own and
// over one that all share.
func TestAnswersGoToWhoAsked(t *testing.T) {
	for name, isolation := range map[string]registry.Isolation{"connections of their own": registry.IsolationSession, "one connection": registry.IsolationShared} {
		t.Run(name, func(t *testing.T) {
			c := newChild(t, scripted.Good, scripted.Say)
			doc := document(t, c.definitions()...)
			doc.Upstream.Isolation = isolation
			d := serve(t, doc, c.command()...).ready()
			clients := []*client{d.session(latest), d.session(older), d.session(latest), d.anonymous(), d.anonymous()}
			var group sync.WaitGroup
			for who, s := range clients {
				for id := range 40 {
					group.Go(func() {
						result := fmt.Sprintf(`{"content":[],"structuredContent":{"who":%d,"id":%d}}`, who, id)
						a, err := s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"say","arguments":{"result":%s}}}`, id, result))
						if err != nil || string(a.Result) != result || string(a.ID) != fmt.Sprint(id) {
							t.Errorf("client %d, id %d: %v %+v", who, id, err, a)
						}
					})
				}
			}
			group.Wait()
		})
	}
}

// TestIDsComeBackAsTheyWere wants the client's own bytes, whatever number the server was asked under (G-19, G-24).
func TestIDsComeBackAsTheyWere(t *testing.T) {
	c := newChild(t, scripted.Good, greet)
	s := serve(t, document(t, c.definitions()...), c.command()...).ready().session(latest)
	for _, id := range []string{`0`, `-1`, `""`, `"a\u0041"`, `9007199254740993`, `18446744073709551616`, `"` + strings.Repeat("x", 300) + `"`} {
		a := s.post(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"greet","arguments":{"name":"x"}}}`)
		if string(a.ID) != id || !a.good() {
			t.Errorf("id %s: %s", id, a.body)
		}
	}
}

// TestCancellationNamesTheServersID is G-80: the server is told of a call that is given up, under the id that it knows.
func TestCancellationNamesTheServersID(t *testing.T) {
	c := newChild(t, scripted.Good, scripted.Hang, greet)
	s := serve(t, document(t, c.definitions()...), c.command()...).ready().session(latest)
	done := make(chan *answer, 1)
	go func() {
		a, err := s.send(`{"jsonrpc":"2.0","id":"mine","method":"tools/call","params":{"name":"hang"}}`)
		if err != nil {
			t.Error(err)
			a = &answer{}
		}
		done <- a
	}()
	await(t, "the call has reached the server", func() bool { return strings.Contains(c.read(), `"hang"`) })
	s.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"mine","reason":"no more"}}`)
	if a := <-done; len(a.body) > 0 {
		t.Errorf("the call that was given up was answered: %s", a.body)
	}
	await(t, "the server has been told", func() bool { return strings.Contains(c.read(), "notifications/cancelled") })
	var call, cancelled string
	for line := range strings.Lines(c.read()) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ RequestID json.RawMessage }
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		switch m.Method {
		case "tools/call":
			call = string(m.ID)
		case "notifications/cancelled":
			cancelled = string(m.Params.RequestID)
		}
	}
	if call == "" || call != cancelled || call == `"mine"` {
		t.Errorf("the server was called as %s and told of %s", call, cancelled)
	}
	if a := s.call("greet", `{"name":"x"}`); !a.good() {
		t.Errorf("the next call: %s", a.body)
	}
	c.release()
}

// TestTimeout wants a call that takes too long to be answered, and the server to be told.
func TestTimeout(t *testing.T) {
	c := newChild(t, scripted.Good, scripted.Hang)
	doc := document(t, c.definitions()...)
	doc.Policy.TimeoutSeconds = 1
	d := serve(t, doc, c.command()...).ready()
	s := d.session(latest)
	if a := s.call("hang", `{}`); a.code() != -31013 || a.refusal().Kind != "TimeoutError" || a.status != 200 {
		t.Errorf("the answer: %d %s", a.status, a.body)
	}
	await(t, "the server has been told", func() bool { return strings.Contains(c.read(), "notifications/cancelled") })
	c.release()
	d.recorded("timeout")
}
