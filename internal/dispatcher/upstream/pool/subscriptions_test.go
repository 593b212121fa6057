// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"strings"
	"testing"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/upstreamtest"
	"toolgate.dev/toolgate/internal/registry"
)

func ask(t *testing.T, conn upstream.Conn, method, params string) string {
	t.Helper()
	reply, err := conn.Call(t.Context(), upstream.Call{Method: method, Params: []byte(params)})
	if err != nil || reply.Error != nil {
		t.Fatalf("%s: %+v %v", method, reply.Error, err)
	}
	return string(reply.Result)
}

func touch(t *testing.T, conn upstream.Conn, uri string) string {
	t.Helper()
	return ask(t, conn, "tools/call", `{"name":"touch","arguments":{"uri":"`+uri+`"}}`)
}

// next waits for a notification.
func next(t *testing.T, r *recorder) upstream.Event {
	t.Helper()
	select {
	case e := <-r.notices:
		return e
	case <-time.After(30 * time.Second):
		t.Fatal("no notification came")
		panic("unreachable")
	}
}

// Those who share a connection hear of the resources that they subscribed to themselves, in either era of the server, and
// nobody is unsubscribed by another.
func TestSharedSubscriptions(t *testing.T) {
	for name, tc := range map[string]struct {
		mood upstreamtest.Mood
		opts Options
	}{
		"an earlier server": {upstreamtest.Telling, Options{Isolation: registry.IsolationShared}},
		"a modern server":   {upstreamtest.ModernTelling, Options{}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, tc.mood, tc.opts)
			hearsA, hearsB := newRecorder(), newRecorder()
			a, releaseA := f.session(t, hearsA)
			b, releaseB := f.session(t, hearsB)
			ask(t, a, "resources/subscribe", `{"uri":"x:1"}`)
			ask(t, b, "resources/subscribe", `{"uri":"x:1"}`)
			ask(t, b, "resources/subscribe", `{"uri":"x:2"}`)
			touch(t, a, "x:2")
			touch(t, a, "x:1")
			if e := next(t, hearsA); string(e.Params) != `{"uri":"x:1"}` || e.Owner != nil {
				t.Errorf("a heard %s of %v", e.Params, e.Owner)
			}
			for _, want := range []string{`{"uri":"x:2"}`, `{"uri":"x:1"}`} {
				if e := next(t, hearsB); string(e.Params) != want {
					t.Errorf("b heard %s, want %s", e.Params, want)
				}
			}
			ask(t, a, "resources/unsubscribe", `{"uri":"x:1"}`)
			touch(t, a, "x:1")
			if e := next(t, hearsB); string(e.Params) != `{"uri":"x:1"}` || len(hearsA.notices) > 0 {
				t.Errorf("b heard %s, a %d others", e.Params, len(hearsA.notices))
			}
			if got := call(t, a, "grow"); got == "" {
				t.Error("the list did not change")
			}
			if e := next(t, hearsA); e.Method != "notifications/tools/list_changed" {
				t.Errorf("a heard %s", e.Method)
			}
			releaseB()
			bound := time.After(30 * time.Second)
			for !strings.Contains(touch(t, a, "x:9"), `"uris":[]`) {
				select {
				case <-bound:
					t.Fatal("the server still tells of what nobody wants")
				case <-time.After(time.Millisecond):
				}
			}
			releaseA()
		})
	}
}

// A shared connection that dies while somebody is subscribed comes back by itself, subscribed as before.
func TestSharedSubscriptionsComeBack(t *testing.T) {
	f := newFixture(t, upstreamtest.Telling, Options{Isolation: registry.IsolationShared})
	hears := newRecorder()
	a, release := f.session(t, hears)
	defer release()
	ask(t, a, "resources/subscribe", `{"uri":"x:1"}`)
	if _, err := a.Call(t.Context(), upstream.Call{Method: "tools/call", Params: []byte(`{"name":"die"}`)}); err == nil {
		t.Fatal("the child lives")
	}
	if e := next(t, hears); e.Method != "notifications/resources/updated" || string(e.Params) != `{"uri":"x:1"}` {
		t.Errorf("heard %s %s", e.Method, e.Params)
	}
	if got := touch(t, a, "x:1"); !strings.Contains(got, `"uris":["x:1"]`) {
		t.Errorf("subscribed to %s", got)
	}
	if f.spawner.Started() != 2 {
		t.Errorf("%d children", f.spawner.Started())
	}
}

func TestParts(t *testing.T) {
	for _, tc := range []struct {
		uri, whole string
		want       bool
	}{
		{"file:///a", "file:///a", true}, {"file:///a/b", "file:///a", true}, {"file:///a/b", "file:///a/", true}, {"file:///a#x", "file:///a", true},
		{"file:///ab", "file:///a", false}, {"file:///a", "file:///a/b", false},
	} {
		if got := upstream.PartOf(tc.uri, tc.whole); got != tc.want {
			t.Errorf("%s of %s: %v", tc.uri, tc.whole, got)
		}
	}
}
