// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"encoding/json"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/test/dataplane/scripted"
)

// TestStateStaysWithItsOwner is G-74: what a server remembers of a session is there at the session's next call, and at nobody
// else's unless all share one process on purpose.
func TestStateStaysWithItsOwner(t *testing.T) {
	for isolation, want := range map[registry.Isolation]string{
		registry.IsolationSession: "a1 b1 a2 b2 a3 x1 y1 z1",
		registry.IsolationShared:  "a1 b2 a3 b4 a5 x6 y7 z8",
	} {
		t.Run(string(isolation), func(t *testing.T) {
			c := newChild(t, scripted.Good, scripted.Count)
			doc := document(t, c.definitions()...)
			doc.Upstream.Isolation = isolation
			d := serve(t, doc, c.command()...).ready()
			a, b := d.session(latest), d.session(older)
			var got []string
			for _, caller := range []struct {
				name string
				*client
			}{{"a", a}, {"b", b}, {"a", a}, {"b", b}, {"a", a}, {"x", d.anonymous()}, {"y", d.anonymous()}, {"z", d.anonymous()}} {
				var result struct{ Content []struct{ Text string } }
				if err := json.Unmarshal(caller.call("count", `{}`).Result, &result); err != nil || len(result.Content) != 1 {
					t.Fatalf("%s: %v", caller.name, err)
				}
				got = append(got, caller.name+result.Content[0].Text)
			}
			if strings.Join(got, " ") != want {
				t.Errorf("counts %s, want %s", strings.Join(got, " "), want)
			}
		})
	}
}

// TestALegacyServerHearsOneInitialize is G-72, G-102 and G-103: clients of all eras, discovering and initialising, before a server
// that knows one initialize. One process is asked whether it can discover, by the dispatcher, and no other after that.
func TestALegacyServerHearsOneInitialize(t *testing.T) {
	for _, isolation := range []registry.Isolation{registry.IsolationSession, registry.IsolationShared} {
		t.Run(string(isolation), func(t *testing.T) {
			c := newChild(t, scripted.Good, greet)
			doc := document(t, c.definitions()...)
			doc.Upstream.Isolation = isolation
			d := serve(t, doc, c.command()...).ready()
			if a := d.anonymous().modern("server/discover", ""); a.status != 200 || !strings.Contains(string(a.Result), modern) {
				t.Errorf("discover: %d %s", a.status, a.body)
			}
			if a := d.anonymous().modernCall("greet", `{"name":"x"}`); !a.good() {
				t.Errorf("a modern call: %d %s", a.status, a.body)
			}
			for _, version := range []string{oldest, latest} {
				if a := d.session(version).call("greet", `{"name":"x"}`); !a.good() {
					t.Errorf("a call in a session of %s: %s", version, a.body)
				}
			}
			d.stop()
			discovering := 0
			for _, process := range c.processes() {
				if n := strings.Count(process, `"method":"initialize"`); n != 1 {
					t.Errorf("a process was initialised %d times", n)
				}
				discovering += strings.Count(process, "server/discover")
			}
			if discovering != 1 {
				t.Errorf("%d times was a process asked to discover", discovering)
			}
		})
	}
}
