// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
)

// stream is what a client has been sent. It takes no more than room messages, where there is a room.
type stream struct {
	mu   sync.Mutex
	got  []string
	room int
}

func (s *stream) send(message []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.room > 0 && len(s.got) == s.room {
		return false
	}
	s.got = append(s.got, string(message))
	return true
}

func (s *stream) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got
}

func id(t *testing.T, raw string) jsonrpc.ID {
	t.Helper()
	parsed, ok := jsonrpc.ParseID([]byte(raw))
	if !ok {
		t.Fatalf("%s is no id", raw)
	}
	return parsed
}

func updated(params string) upstream.Event {
	return upstream.Event{Method: "notifications/resources/updated", Params: []byte(params)}
}

// What a server tells of its lists.
const (
	toolsChanged     = "notifications/tools/list_changed"
	promptsChanged   = "notifications/prompts/list_changed"
	resourcesChanged = "notifications/resources/list_changed"
)

// The messages of a subscription with id 7.
const (
	named   = `{"io.modelcontextprotocol/subscriptionId":7}`
	ackNone = `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":` + named + `,"notifications":{}}}`
	ackA    = `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":` + named + `,"notifications":{"resourceSubscriptions":["file:///a"]}}}`
	ackAll  = `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":` + named +
		`,"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}}}`
	toolsNews     = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":` + named + `}}`
	promptsNews   = `{"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{"_meta":` + named + `}}`
	resourcesNews = `{"jsonrpc":"2.0","method":"notifications/resources/list_changed","params":{"_meta":` + named + `}}`
	newsOfA       = `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a","_meta":` + named + `}}`
	newsOfPart    = `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a/b","_meta":` + named + `}}`
)

// TestWhatAListenerHears: the acknowledgement is the first message, and after it comes what was agreed and no more, each
// with the name of the subscription.
func TestWhatAListenerHears(t *testing.T) {
	lists := Filter{Tools: true, Prompts: true, Resources: true}
	ofA := Filter{URIs: []string{"file:///a"}}
	tell := func(methods ...string) func(*Listeners, *Listener) {
		return func(all *Listeners, _ *Listener) {
			for _, m := range methods {
				all.Tell(m)
			}
		}
	}
	event := func(events ...upstream.Event) func(*Listeners, *Listener) {
		return func(_ *Listeners, l *Listener) {
			for _, e := range events {
				l.HandleNotification(e)
			}
		}
	}
	for name, tc := range map[string]struct {
		filter Filter
		before func(*Listeners, *Listener) // the acknowledgement
		uris   []string                    // that could be subscribed to
		after  func(*Listeners, *Listener)
		want   []string
	}{
		"nothing, when nothing is agreed": {
			before: tell(toolsChanged), after: tell(toolsChanged, promptsChanged, resourcesChanged),
			want: []string{ackNone},
		},
		"all lists": {
			filter: lists, after: tell(toolsChanged, promptsChanged, resourcesChanged),
			want: []string{ackAll, toolsNews, promptsNews, resourcesNews},
		},
		"what came before the acknowledgement comes after it": {
			filter: lists, before: tell(promptsChanged, toolsChanged), after: tell(resourcesChanged),
			want: []string{ackAll, promptsNews, toolsNews, resourcesNews},
		},
		"what came more than once before it comes once": {
			filter: lists, before: tell(toolsChanged, promptsChanged, toolsChanged),
			want: []string{ackAll, toolsNews, promptsNews},
		},
		"no method that nobody can ask for": {
			filter: lists, after: tell("notifications/message", "notifications/progress", ""), want: []string{ackAll},
		},
		"lists are heard of from discovery alone": {
			filter: lists, after: event(upstream.Event{Method: toolsChanged}), want: []string{ackAll},
		},
		"a resource, and what is part of it": {
			filter: ofA, uris: ofA.URIs, after: event(updated(`{"uri":"file:///a"}`), updated(`{"uri":"file:///a/b"}`)),
			want: []string{ackA, newsOfA, newsOfPart},
		},
		"no resource beside it": {
			filter: ofA, uris: ofA.URIs, want: []string{ackA},
			after: event(updated(`{"uri":"file:///ab"}`), updated(`{"uri":"file:///"}`), updated(`{"uri":""}`), updated(`{}`), updated(`{"uri":1}`), updated(``)),
		},
		"a resource that could not be subscribed to is not agreed": {
			filter: ofA, after: event(updated(`{"uri":"file:///a"}`)), want: []string{ackNone},
		},
		"nor is what came of it before": {
			filter: Filter{URIs: []string{"file:///x", "file:///a"}}, uris: []string{"file:///a"},
			before: event(updated(`{"uri":"file:///x"}`), updated(`{"uri":"file:///a"}`), updated(`{"uri":"file:///x/y"}`)),
			want:   []string{ackA, newsOfA},
		},
		"the server's own name for a subscription is not passed on": {
			filter: ofA, uris: ofA.URIs,
			after: event(updated(`{"_meta":{"io.modelcontextprotocol/subscriptionId":"s","of":1},"uri":"file:///a"}`)),
			want: []string{ackA, `{"jsonrpc":"2.0","method":"notifications/resources/updated",` +
				`"params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7,"of":1},"uri":"file:///a"}}`},
		},
		"a _meta that is none is replaced": {
			filter: ofA, uris: ofA.URIs, after: event(updated(`{"uri":"file:///a","_meta":5}`)), want: []string{ackA, newsOfA},
		},
		"nothing after the end": {
			filter: lists, want: []string{ackAll},
			after: func(all *Listeners, l *Listener) {
				l.End()
				all.Tell(toolsChanged)
				l.tell(toolsChanged, nil) // one that was on its way
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var all Listeners
			client := &stream{}
			raw := []byte("7")
			l := all.Add(id(t, string(raw)), tc.filter, client.send)
			if tc.before != nil {
				tc.before(&all, l)
			}
			if got := client.all(); len(got) > 0 {
				t.Errorf("sent before the acknowledgement: %s", got)
			}
			l.Acknowledge(tc.uris)
			if tc.after != nil {
				tc.after(&all, l)
			}
			if diff := cmp.Diff(tc.want, client.all()); diff != "" {
				t.Errorf("what the client was sent (-want +got):\n%s", diff)
			}
		})
	}
}

// The messages bear the id of the request as it was, also when the memory that it was read into holds another one by then.
func TestAListenerKeepsItsID(t *testing.T) {
	for name, tc := range map[string]struct{ id, want string }{
		"a number":                        {`12345`, `12345`},
		"a text":                          {`"a\"é"`, `"a\"é"`},
		"a text that looks like a number": {`"12345"`, `"12345"`},
	} {
		t.Run(name, func(t *testing.T) {
			raw := []byte(tc.id)
			parsed, ok := jsonrpc.ParseID(raw)
			if !ok {
				t.Fatal("no id")
			}
			l := new(Listeners).Add(parsed, Filter{}, (&stream{}).send)
			for i := range raw {
				raw[i] = '9'
			}
			want := `{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":` + tc.want + `}}`
			if diff := cmp.Diff(want, string(l.Result())); diff != "" {
				t.Errorf("the result (-want +got):\n%s", diff)
			}
		})
	}
}

// A client that cannot keep up does not lose a message without knowing: its subscription ends, and nobody else's.
func TestAListenerThatCannotKeepUpEnds(t *testing.T) {
	flood := func(n int) func(*Listener) {
		return func(l *Listener) {
			for i := range n {
				l.HandleNotification(updated(fmt.Sprintf(`{"uri":"file:///a/%d"}`, i)))
			}
		}
	}
	for name, tc := range map[string]struct {
		room int
		tell func(*Listener)
		ends bool
	}{
		"the acknowledgement finds room":           {room: 1, tell: func(l *Listener) { l.Acknowledge(nil) }},
		"a message does not":                       {room: 1, tell: func(l *Listener) { l.Acknowledge([]string{"file:///a"}); flood(1)(l) }, ends: true},
		"what waited for the acknowledgement does": {room: 3, tell: func(l *Listener) { flood(2)(l); l.Acknowledge([]string{"file:///a"}) }},
		"what waited for it does not":              {room: 2, tell: func(l *Listener) { flood(2)(l); l.Acknowledge([]string{"file:///a"}) }, ends: true},
		"as many wait for it as may":               {tell: flood(256)},
		"one too many waits for it":                {tell: flood(257), ends: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var all Listeners
				slow := all.Add(id(t, "1"), Filter{URIs: []string{"file:///a"}}, (&stream{room: tc.room}).send)
				other := all.Add(id(t, "2"), Filter{Tools: true}, (&stream{}).send)
				tc.tell(slow)
				synctest.Wait()
				if got := over(slow); got != tc.ends {
					t.Errorf("it has ended: %v, want %v", got, tc.ends)
				}
				if over(other) {
					t.Error("the other subscription has ended")
				}
				want := 2
				if tc.ends {
					want = 1
				}
				if n := all.Count(); n != want {
					t.Errorf("%d subscriptions are left, want %d", n, want)
				}
			})
		})
	}
}

// over says whether a subscription has ended.
func over(l *Listener) bool {
	select {
	case <-l.Ended():
		return true
	default:
		return false
	}
}

func TestEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		end       func(*Listeners, *Listener)
		wantCount int
	}{
		"by itself":               {func(_ *Listeners, l *Listener) { l.End() }, 1},
		"more than once":          {func(_ *Listeners, l *Listener) { l.End(); l.End() }, 1},
		"with all":                {func(all *Listeners, _ *Listener) { all.Close() }, 0},
		"by itself, and with all": {func(all *Listeners, l *Listener) { l.End(); all.Close(); l.End(); all.Close() }, 0},
		"by many at the same time": {func(all *Listeners, l *Listener) {
			var g sync.WaitGroup
			defer g.Wait()
			for range 8 {
				g.Go(l.End)
				g.Go(all.Close)
			}
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var all Listeners
			all.Add(id(t, "1"), Filter{}, (&stream{}).send)
			l := all.Add(id(t, "2"), Filter{}, (&stream{}).send)
			tc.end(&all, l)
			if !over(l) {
				t.Error("it has not ended")
			}
			if n := all.Count(); n != tc.wantCount {
				t.Errorf("%d are left, want %d", n, tc.wantCount)
			}
		})
	}
}

// After Close nothing is opened any more: whoever comes too late is told so at once.
func TestNoneIsAddedAfterClose(t *testing.T) {
	var all Listeners
	all.Close()
	l := all.Add(id(t, "1"), Filter{Tools: true}, (&stream{}).send)
	if !over(l) {
		t.Error("it goes on")
	}
	l.End() // by whoever opened it
	if n := all.Count(); n != 0 {
		t.Errorf("%d are open", n)
	}
}

// The connection of a subscription declares nothing, so whatever a server asks there is refused.
func TestAListenerRefusesRequests(t *testing.T) {
	l := new(Listeners).Add(id(t, "1"), Filter{}, (&stream{}).send)
	reply := l.HandleRequest(t.Context(), upstream.Event{Method: "sampling/createMessage"})
	if reply.Error == nil || reply.Error.Code != jsonrpc.CodeMethodNotFound || reply.Result != nil {
		t.Errorf("got %+v", reply)
	}
}
