// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"slices"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/test/dataplane/scripted"
)

// TestChangedDefinitionIsWithheld changes definitions in each way that a server can, and wants the calls to stop.
func TestChangedDefinitionIsWithheld(t *testing.T) {
	t.Run("with list_changed, in the session that it happens in", func(t *testing.T) {
		c := newChild(t, scripted.Good, greet, scripted.Change)
		d := serve(t, document(t, c.definitions()...), c.command()...).ready()
		changing, other := d.session(latest), d.session(latest)
		// With an answer, all that begins a session has been read by its process.
		if a := other.call("greet", `{"name":"x"}`); a.refusal().Kind != "" || a.Error != nil {
			t.Fatalf("a good call: %s", a.body)
		}
		changing.call("change", `{}`)
		await(t, "the tool is withheld", func() bool { return changing.call("greet", `{"name":"x"}`).refusal().Reason == "DefinitionChanged" })
		if names, _ := changing.tools(); len(names) != 0 {
			t.Errorf("tools %v are listed, but every definition has changed", names)
		}
		checkBadCall(t, c, changing, denied("greet", "DefinitionChanged"))
		if a := other.call("greet", `{"name":"x"}`); a.refusal().Kind != "" || a.Error != nil {
			t.Errorf("the change of one session's process withheld the tool of another: %s", a.body)
		}
	})
	t.Run("before a session begins", func(t *testing.T) {
		c := newChild(t, scripted.Good, greet)
		d := serve(t, document(t, c.definitions()...), c.command()...).ready()
		c.lists(strings.Replace(greet, `"string"`, `"string","description":"now other"`, 1))
		checkAllWithheld(t, c, d)
	})
	t.Run("without a word, found when the list is read again", func(t *testing.T) {
		c := newChild(t, scripted.Good, greet)
		doc := document(t, c.definitions()...)
		doc.Policy.Discovery.TTLSeconds = 1
		d := serve(t, doc, c.command()...).ready()
		s := d.session(latest)
		if a := s.call("greet", `{"name":"x"}`); a.refusal().Kind != "" || a.Error != nil {
			t.Fatalf("a good call: %s", a.body)
		}
		was := d.state().Catalogue.Digest
		c.lists(strings.Replace(greet, `"loud"`, `"louder"`, 1))
		d.until("discovery has seen it", func(s registry.State) bool { return s.Catalogue.Digest != was })
		var last *answer
		defer func() {
			if t.Failed() {
				t.Logf("the last answer: %s\nthe server has read %s", last.body, c.read())
			}
		}()
		await(t, "the session has seen it", func() bool {
			last = s.call("greet", `{"name":"x"}`)
			return last.refusal().Reason == "DefinitionChanged"
		})
		checkBadCall(t, c, s, denied("greet", "DefinitionChanged"))
	})
	t.Run("over HTTP", func(t *testing.T) {
		c := newChild(t, scripted.Good, greet)
		d := serve(t, overHTTP(t, c)).ready()
		c.lists(strings.Replace(greet, `"string"`, `"string","description":"now other"`, 1))
		checkAllWithheld(t, c, d)
	})
	t.Run("in notation alone, which is no change", func(t *testing.T) {
		c := newChild(t, scripted.Good, greet)
		d := serve(t, document(t, c.definitions()...), c.command()...).ready()
		c.lists(strings.NewReplacer(`"string"`, `"\u0073tring"`, `:`, `: `).Replace(greet))
		if a := d.session(latest).call("greet", `{"name":"x"}`); a.refusal().Kind != "" || a.Error != nil {
			t.Errorf("G-115: %s", a.body)
		}
	})
}

// checkAllWithheld wants a session and calls of either era without one to be refused.
func checkAllWithheld(t *testing.T, c *child, d *dispatcher) {
	t.Helper()
	want := denied("greet", "DefinitionChanged")
	if a := d.session(latest).post(want.body); a.refusal().Reason != want.reason {
		t.Errorf("in a session: %s", a.body)
	}
	if a := d.anonymous().post(want.body); a.refusal().Reason != want.reason {
		t.Errorf("without a session: %s", a.body)
	}
	if a := d.anonymous().modernCall("greet", `{"name":"x"}`); a.refusal().Reason != want.reason {
		t.Errorf("modern: %s", a.body)
	}
	if strings.Contains(c.read(), "tools/call") {
		t.Error("a call reached the server")
	}
}

// TestAddedToolIsUnknown wants a tool that the server adds to stay unknown until policy admits it.
func TestAddedToolIsUnknown(t *testing.T) {
	c := newChild(t, scripted.Good, greet)
	doc := document(t, c.definitions()...)
	file := write(t, doc)
	d := serveFile(t, file, c.command()...).ready()
	c.lists(greet, remove)
	s := d.session(latest)
	checkBadCall(t, c, s, badCall{inCall(`{"name":"remove","arguments":{}}`), "ToolNotFoundError", "UnknownTool", -32602, 200})
	next := document(t, c.definitions()...)
	next.Sequence++
	replace(t, file, encode(t, next))
	d.until("the document is in force", func(s registry.State) bool { return s.Registry.Sequence == next.Sequence })
	if names, _ := s.tools(); !slices.Equal(names, []string{"greet", "remove"}) {
		t.Errorf("tools %v", names)
	}
	if a := s.call("remove", `{}`); a.refusal().Kind != "" || a.Error != nil {
		t.Errorf("the tool that was admitted: %s", a.body)
	}
}
