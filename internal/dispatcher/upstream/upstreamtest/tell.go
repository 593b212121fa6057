// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package upstreamtest

import (
	"slices"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

const metaSubscription = "io.modelcontextprotocol/subscriptionId"

// feeds are what a client of the child listens to: one subscriptions/listen of a modern child at most, since there are
// servers that cannot tell two on one channel apart, and the resources that it is subscribed to.
type feeds struct {
	open jsonrpc.ID // zero while none is
	uris []string
}

// subscription takes the methods of subscriptions, and says whether m was one.
func (s *server) subscription(m *jsonrpc.Message) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	uri, _ := jsonrpc.String(m.Param("uri"))
	switch {
	case m.Method == "subscriptions/listen" && s.mood == ModernTelling:
		list, _ := jsonrpc.Member(m.Param("notifications"), "resourceSubscriptions")
		s.feeds = feeds{open: m.ID.Clone()}
		for raw := range jsonrpc.Elements(list) {
			uri, _ := jsonrpc.String(raw)
			s.feeds.uris = append(s.feeds.uris, uri)
		}
		go s.tell("notifications/subscriptions/acknowledged", `"notifications":`+string(m.Param("notifications")))
	case m.Method == "resources/subscribe" && s.mood == Telling:
		s.feeds.uris = append(s.feeds.uris, uri)
		go s.reply(m.ID, `{}`)
	case m.Method == "resources/unsubscribe" && s.mood == Telling:
		s.feeds.uris = slices.DeleteFunc(s.feeds.uris, func(u string) bool { return u == uri })
		go s.reply(m.ID, `{}`)
	default:
		return false
	}
	return true
}

// closed answers the listen that the client cancelled.
func (s *server) closed(requestID []byte) {
	id, _ := jsonrpc.ParseID(requestID)
	s.mu.Lock()
	mine := !s.feeds.open.IsZero() && id.Key() == s.feeds.open.Key()
	if mine {
		s.feeds = feeds{}
	}
	s.mu.Unlock()
	if mine {
		s.reply(id, `{"resultType":"complete"}`)
	}
}

// tells carries out the tools that tell the client of something, and says whether name was one.
func (s *server) tells(m *jsonrpc.Message, name string, args []byte) bool {
	switch name {
	case "grow":
		s.mu.Lock()
		s.tools = append(slices.Clone(s.tools), "grown")
		s.mu.Unlock()
		s.tell("notifications/tools/list_changed", `"n":1`)
		s.reply(m.ID, `{}`)
	case "touch":
		s.touch(m, args)
	default:
		return false
	}
	return true
}

// touch tells of an update of a resource if anybody listens, and answers with all that is listened to.
func (s *server) touch(m *jsonrpc.Message, args []byte) {
	raw, _ := jsonrpc.Member(args, "uri")
	uri, _ := jsonrpc.String(raw)
	s.mu.Lock()
	uris := slices.Clone(s.feeds.uris)
	s.mu.Unlock()
	if slices.Contains(uris, uri) {
		s.tell("notifications/resources/updated", `"uri":`+string(raw))
	}
	out := []byte(`{"content":[],"uris":[`)
	for i, u := range uris {
		if i > 0 {
			out = append(out, ',')
		}
		out = jsonrpc.AppendString(out, u)
	}
	s.reply(m.ID, string(append(out, "]}"...)))
}

func (s *server) tell(method, params string) {
	s.mu.Lock()
	open := s.feeds.open
	s.mu.Unlock()
	if !open.IsZero() {
		params = `"_meta":{"` + metaSubscription + `":` + open.String() + `},` + params
	}
	s.send(`{"jsonrpc":"2.0","method":"` + method + `","params":{` + params + `}}`)
}
