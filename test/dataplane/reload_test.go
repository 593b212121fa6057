// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/rules"
	"toolgate.dev/toolgate/test/dataplane/scripted"
)

func (a *answer) good() bool { return a.Error == nil && a.refusal().Kind == "" && a.status == 200 }

// noJohn is a RuleSet that refuses one argument.
func noJohn() rules.Set {
	return rules.Set{Name: "names", Type: rules.TypePolicy, Format: rules.FormatCEL,
		Rules: []rules.Rule{{Name: "no-john", Action: rules.Reject, When: `args.name == "John"`, Message: "John is not greeted; greet Jane"}}}
}

// TestReload changes the document under a running dispatcher.
func TestReload(t *testing.T) {
	c := newChild(t, scripted.Good, greet, remove, scripted.Hang)
	doc := document(t, c.definitions()...)
	file := write(t, doc)
	d := serveFile(t, file, c.command()...).ready()
	s := d.session(latest)
	// apply changes the document and waits until it is in force.
	apply := func(t *testing.T, change func()) {
		t.Helper()
		change()
		doc.Sequence++
		replace(t, file, encode(t, doc))
		d.until("the document is in force", func(s registry.State) bool { return s.Registry.Sequence == doc.Sequence && s.Registry.Error == "" })
	}
	t.Run("a rule set is enforced", func(t *testing.T) {
		if a := s.call("greet", `{"name":"John"}`); !a.good() {
			t.Fatalf("before: %s", a.body)
		}
		apply(t, func() { doc.RuleSets = []rules.Set{noJohn()} })
		a := s.call("greet", `{"name":"John"}`)
		if r := a.refusal(); r.Kind != "Denied" || r.Reason != "RuleRejected" || !strings.Contains(string(a.Result), "greet Jane") {
			t.Errorf("after: %s", a.body)
		}
		if a := s.call("greet", `{"name":"Jane"}`); !a.good() {
			t.Errorf("another argument: %s", a.body)
		}
	})
	t.Run("a rule set that does not compile denies what it governs", func(t *testing.T) {
		apply(t, func() { doc.RuleSets[0].Rules[0].When = `args.name ==` })
		if a := s.call("greet", `{"name":"Jane"}`); a.refusal().Kind != "Denied" {
			t.Errorf("under a broken rule set: %s", a.body)
		}
		apply(t, func() { doc.RuleSets = nil })
	})
	t.Run("trust that is taken away", func(t *testing.T) {
		if a := s.call("remove", `{}`); !a.good() {
			t.Fatalf("trusted: %s", a.body)
		}
		apply(t, func() { doc.Policy.Trust.Trusted = false })
		checkBadCall(t, c, s, denied("remove", "Untrusted"))
		apply(t, func() { doc.Policy.Trust.Trusted = true })
	})
	t.Run("calls in flight go on under what let them through", func(t *testing.T) {
		done := make(chan *answer, 1)
		go func() {
			a, _ := s.tryCall("hang", `{}`) // nil fails below
			done <- a
		}()
		await(t, "the call has reached the server", func() bool { return strings.Contains(c.read(), `"hang"`) })
		apply(t, func() { doc.Revisions[revision].Tools[2].Withheld = "Disabled" })
		if r := s.call("hang", `{}`).refusal(); r.Reason != "Disabled" {
			t.Errorf("a call after the change: %+v", r)
		}
		c.release()
		if a := <-done; a == nil || !a.good() {
			t.Errorf("the call in flight: %+v", a)
		}
	})
	t.Run("documents that are refused", func(t *testing.T) { checkRefusedDocuments(t, d, s, doc, file) })
	t.Run("a file that is gone", func(t *testing.T) {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		d.until("the state says so", func(s registry.State) bool {
			return strings.Contains(s.Registry.Error, "no such file") && s.Registry.Sequence == doc.Sequence
		})
		if a := s.call("greet", `{"name":"Jane"}`); !a.good() {
			t.Errorf("under the last good document: %s", a.body)
		}
		apply(t, func() {})
	})
}

// checkRefusedDocuments wants the last good document to stay in force, and the state to say why.
func checkRefusedDocuments(t *testing.T, d *dispatcher, s *client, doc *registry.Document, file string) {
	good := string(encode(t, doc))
	older := *doc
	older.Sequence--
	for name, tc := range map[string]struct{ data, says string }{
		"is no JSON":            {`{"version":1,`, "registry document"},
		"is empty":              {``, "registry document"},
		"has an unknown member": {strings.Replace(good, `"policy":{`, `"policy":{"trutsed":true,`, 1), "trutsed"},
		"has a key twice":       {strings.Replace(good, `"sequence":`, `"sequence":99,"sequence":`, 1), "sequence"},
		"is of a later version": {strings.Replace(good, `"version":1`, `"version":99`, 1), "99"},
		"has a lower sequence":  {string(encode(t, &older)), "lower"},
		"has another transport": {strings.Replace(good, `"transport":"stdio"`, `"transport":"smoke"`, 1), "smoke"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.data == good {
				t.Fatal("the case changes nothing")
			}
			replace(t, file, []byte(tc.data))
			d.until("the state says why", func(s registry.State) bool {
				return strings.Contains(s.Registry.Error, tc.says) && s.Registry.Sequence == doc.Sequence && s.Ready
			})
			if a := s.call("greet", `{"name":"Jane"}`); !a.good() {
				t.Errorf("under the last good document: %s", a.body)
			}
			replace(t, file, []byte(good))
			d.until("the error is gone", func(s registry.State) bool { return s.Registry.Error == "" })
		})
	}
}

// TestReloadOfAMountedVolume replaces the document as the kubelet does: through a symlink to a folder.
func TestReloadOfAMountedVolume(t *testing.T) {
	c := newChild(t, scripted.Good, greet)
	doc := document(t, c.definitions()...)
	volume := t.TempDir()
	mount := func(version string) {
		t.Helper()
		folder := filepath.Join(volume, "..2026_"+version)
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		replace(t, filepath.Join(folder, registry.FileName), encode(t, doc))
		if err := os.Symlink(filepath.Base(folder), filepath.Join(volume, "..data_tmp")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(volume, "..data_tmp"), filepath.Join(volume, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	mount("1")
	file := filepath.Join(volume, registry.FileName)
	if err := os.Symlink(filepath.Join("..data", registry.FileName), file); err != nil {
		t.Fatal(err)
	}
	d := serveFile(t, file, c.command()...).ready()
	doc.Sequence, doc.RuleSets = 2, []rules.Set{noJohn()}
	mount("2")
	d.until("the document is in force", func(s registry.State) bool { return s.Registry.Sequence == 2 })
	if a := d.session(latest).call("greet", `{"name":"John"}`); a.refusal().Reason != "RuleRejected" {
		t.Errorf("the call: %s", a.body)
	}
}

// TestNoDocument wants everything to be refused until there is a document, and served from then on.
func TestNoDocument(t *testing.T) {
	c := newChild(t, scripted.Good, greet)
	file := filepath.Join(t.TempDir(), registry.FileName)
	d := serveFile(t, file, c.command()...)
	s := d.state()
	if s.Ready || s.Registry.Digest != "" {
		t.Errorf("state %+v", s)
	}
	for _, body := range []string{initialize(latest), withArguments(`{"name":"` + mark + `"}`), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`} {
		if a := d.anonymous().post(body); a.refusal().Kind != "Denied" || a.refusal().Reason != "NoRegistry" {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
	if strings.Contains(c.read(), mark) {
		t.Error("a call has reached the server")
	}
	replace(t, file, encode(t, document(t, json.RawMessage(greet))))
	d.ready()
	if a := d.session(latest).call("greet", `{"name":"Jane"}`); !a.good() {
		t.Errorf("with a document: %s", a.body)
	}
}
