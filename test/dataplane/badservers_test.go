// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/test/dataplane/scripted"
)

// TestBadServers wants /state to say what is wrong with a server, with its last words, and a call to be answered all the same.
func TestBadServers(t *testing.T) {
	for name, tc := range map[string]struct {
		mood    scripted.Mood
		command []string // instead of the scripted server
		reason  registry.FailureReason
		message string
		stderr  string
	}{
		"never starts":              {command: []string{"/nowhere/mcp-server"}, reason: registry.FailStart, message: "/nowhere/mcp-server"},
		"is no program":             {command: []string{"/etc/passwd"}, reason: registry.FailStart, message: "/etc/passwd"},
		"exits at once":             {mood: scripted.ExitFirst, reason: registry.FailExited, message: "exited with code 3", stderr: "there is no database at 127.0.0.1:5432"},
		"G-61 exits without a word": {command: []string{"/bin/false"}, reason: registry.FailExited, message: "exited with code 1"},
		"sends back what it reads":  {command: []string{"/bin/cat"}, reason: registry.FailNotMCP, message: "not an MCP server"},
		"prints text":               {mood: scripted.Chatter, reason: registry.FailNotMCP, message: "standard output"},
		"hangs in initialize":       {mood: scripted.HangInit, reason: registry.FailTimeout, message: "has not answered initialize"},
		"hangs in tools/list":       {mood: scripted.HangList, reason: registry.FailTimeout, message: "has not answered tools/list within 5s"},
		"dies in tools/list":        {mood: scripted.DieInList, reason: registry.FailExited, message: "exited with code 4", stderr: "the disk is full"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChild(t, tc.mood, greet)
			command := tc.command
			if command == nil {
				command = c.command()
			}
			d := serve(t, document(t, c.definitions()...), command...)
			s := d.until("the state says why", func(s registry.State) bool { return s.Upstream.Reason == tc.reason })
			if !strings.Contains(s.Upstream.Message, tc.message) || s.Ready || s.Catalogue != nil || s.Health.State == "Healthy" {
				t.Errorf("state %+v, want a message with %q, and nothing served", s, tc.message)
			}
			if tc.stderr != "" && !slices.Contains(s.Upstream.Stderr, tc.stderr) {
				t.Errorf("stderr %q, want %q among it", s.Upstream.Stderr, tc.stderr)
			}
			checkNothingIsServed(t, d, tc.reason)
		})
	}
}

// checkNothingIsServed lists and calls without a session, which a hanging server does not keep waiting.
func checkNothingIsServed(t *testing.T, d *dispatcher, reason registry.FailureReason) {
	t.Helper()
	c := d.anonymous()
	if a := c.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); a.refusal().Kind != "TransportError" || a.code() != -31012 {
		t.Errorf("tools/list: %s", a.body)
	}
	if reason == registry.FailTimeout || reason == registry.FailNotMCP {
		return // a call would wait until the handshake times out, as another test shows
	}
	if a := c.call("greet", `{"name":"x"}`); a.refusal().Kind != "TransportError" || a.code() != -31012 || a.status != 200 || a.refusal().Reason != string(reason) {
		t.Errorf("tools/call: %s", a.body)
	}
	if a := c.post(initialize(latest)); a.session == "" && (a.refusal().Kind != "TransportError" || a.code() != -31012) {
		t.Errorf("initialize: %s", a.body)
	}
}

func TestServerThatIsNotThereOverHTTP(t *testing.T) {
	web := httptest.NewServer(nil)
	web.Close()
	c := newChild(t, scripted.Good, greet)
	for name, tc := range map[string]struct {
		remote bool
		reason registry.FailureReason
	}{
		"in the pod": {false, registry.FailStart},
		"remote":     {true, registry.FailUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			doc := document(t, c.definitions()...)
			doc.Upstream = registry.Upstream{Transport: registry.TransportStreamableHTTP, URL: web.URL, Remote: tc.remote}
			d := serve(t, doc)
			d.until("the state says why", func(s registry.State) bool { return s.Upstream.Reason == tc.reason && s.Upstream.Message != "" })
			checkNothingIsServed(t, d, tc.reason)
		})
	}
}

func TestServerThatListsNothing(t *testing.T) {
	c := newChild(t, scripted.Good)
	d := serve(t, document(t, json.RawMessage(greet)), c.command()...).ready()
	if s := d.state(); s.Upstream.Phase != registry.UpstreamConnected || s.Catalogue == nil || len(s.Catalogue.Tools) != 0 {
		t.Errorf("state %+v, want connected, with no tools", s)
	}
	s := d.session(latest)
	if names, _ := s.tools(); len(names) != 0 {
		t.Errorf("tools %v are listed", names)
	}
	checkBadCall(t, c, s, denied("greet", "Gone"))
}

func TestToolWithoutSchema(t *testing.T) {
	c := newChild(t, scripted.Good, bare, greet)
	d := serve(t, document(t, c.definitions()...), c.command()...).ready()
	i := slices.IndexFunc(d.state().Catalogue.Tools, func(o registry.ObservedTool) bool { return o.Name == "bare" })
	if got := d.state().Catalogue.Tools[i]; !strings.Contains(got.Error, "no input schema") || string(got.Definition) != bare {
		t.Errorf("observed %+v", got)
	}
	s := d.session(latest)
	if names, _ := s.tools(); !slices.Equal(names, []string{"greet"}) {
		t.Errorf("tools %v are listed, want greet alone", names)
	}
	if a := s.call("greet", `{"name":"x"}`); a.Error != nil || a.refusal().Kind != "" {
		t.Errorf("the other tool: %s", a.body)
	}
}

// TestLogLinesOnStandardOutput is G-79.
func TestLogLinesOnStandardOutput(t *testing.T) {
	c := newChild(t, scripted.LogLines, greet)
	d := serve(t, document(t, c.definitions()...), c.command()...).ready()
	if s := d.state(); s.Upstream.StdoutNoise == 0 || s.Upstream.Phase != registry.UpstreamConnected {
		t.Errorf("state %+v, want connected, with noise", s.Upstream)
	}
	if a := d.session(latest).call("greet", `{"name":"x"}`); a.Error != nil || a.refusal().Kind != "" {
		t.Errorf("call: %s", a.body)
	}
}

// TestServerDiesInACall is G-73: the caller hears at once, the session is gone as MCP has it, and the next one works.
func TestServerDiesInACall(t *testing.T) {
	c := newChild(t, scripted.Good, scripted.Die, greet)
	d := serve(t, document(t, c.definitions()...), c.command()...).ready()
	s := d.session(latest)
	a := s.call("die", `{}`)
	if a.code() != -31012 || a.refusal().Kind != "TransportError" || a.refusal().Reason != "ServerExited" || a.status != 200 ||
		!strings.Contains(a.Error.Message, "exited with code 3") {
		t.Errorf("the call's answer: %d %s", a.status, a.body)
	}
	await(t, "the session is gone", func() bool { return s.post(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`).status == 404 })
	if a := s.call("greet", `{"name":"x"}`); a.status != 404 || a.code() != -32001 || a.refusal().Kind != "SessionNotFound" {
		t.Errorf("a call in the session: %d %s", a.status, a.body)
	}
	if a := d.session(latest).call("greet", `{"name":"x"}`); a.Error != nil || a.refusal().Kind != "" {
		t.Errorf("a call in the next session: %s", a.body)
	}
	if a := d.anonymous().call("die", `{}`); a.code() != -31012 || a.refusal().Reason != "ServerExited" {
		t.Errorf("the answer without a session: %s", a.body)
	}
	if s := d.state(); !s.Ready {
		t.Errorf("a child that died took the dispatcher out of service: %+v", s)
	}
}
