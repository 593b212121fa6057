// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/test/dataplane/scripted"
)

// names are those of what sessions list and discovery does not.
func names(s registry.State) string {
	var out []string
	for _, t := range s.Sessions.Tools {
		out = append(out, t.Name)
	}
	return strings.Join(out, " ")
}

// TestWhatSessionsListIsTold has sessions list what discovery does not: it is judged as ever, and told at /state.
func TestWhatSessionsListIsTold(t *testing.T) {
	t.Run("another definition", func(t *testing.T) {
		c := newChild(t, scripted.Good, greet, scripted.Change)
		d := serve(t, document(t, c.definitions()...), c.command()...).ready()
		changing, other := d.session(latest), d.session(latest)
		if a := other.call("greet", `{"name":"x"}`); a.refusal().Kind != "" || a.Error != nil {
			t.Fatalf("a good call: %s", a.body)
		}
		before := d.state()
		if got := names(before); got != "" {
			t.Errorf("%s is told of, and all sessions list what discovery lists", got)
		}
		changing.call("change", `{}`)
		await(t, "the tool is withheld", func() bool { return changing.call("greet", `{"name":"x"}`).refusal().Reason == "DefinitionChanged" })
		told := d.until("it is told", func(s registry.State) bool { return names(s) == "change greet" })
		if n := figure(t, d, `toolgate_catalogue_drift_tools{change="sessions"}`); n != 2 {
			t.Errorf("the metric tells of %v tools", n)
		}
		if diff := cmp.Diff(before.Catalogue, told.Catalogue); diff != "" {
			t.Errorf("discovery has seen something of it: %s", diff)
		}
		if a := other.call("greet", `{"name":"x"}`); a.refusal().Kind != "" || a.Error != nil {
			t.Errorf("the tool of another session: %s", a.body)
		}
		if a := d.session(latest).call("greet", `{"name":"x"}`); a.refusal().Kind != "" || a.Error != nil {
			t.Errorf("the tool of a new session: %s", a.body)
		}
		if diff := cmp.Diff(told.Sessions, d.state().Sessions); diff != "" {
			t.Errorf("sessions that list what is known already change the state: %s", diff)
		}
	})
	t.Run("a further tool, which is served there once its digest is admitted", func(t *testing.T) {
		c := newChild(t, scripted.Good, greet)
		doc := document(t, c.definitions()...)
		file := write(t, doc)
		d := serveFile(t, file, c.command()...).ready()
		c.lists(greet, remove)
		s := d.session(latest)
		if got, _ := s.tools(); len(got) != 1 {
			t.Errorf("tools %v", got)
		}
		checkBadCall(t, c, s, badCall{inCall(`{"name":"remove","arguments":{}}`), "ToolNotFoundError", "UnknownTool", -32602, 200})
		told := d.until("it is told", func(s registry.State) bool { return names(s) == "remove" })
		next := document(t, c.definitions()[0], told.Sessions.Tools[0].Definition)
		next.Sequence++
		replace(t, file, encode(t, next))
		d.until("the document is in force", func(s registry.State) bool { return s.Registry.Sequence == next.Sequence })
		if a := s.call("remove", `{}`); a.refusal().Kind != "" || a.Error != nil {
			t.Errorf("the tool that was admitted: %s", a.body)
		}
	})
}
