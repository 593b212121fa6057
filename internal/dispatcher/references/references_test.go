// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package references_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/dispatcher/references"
)

// pod is what the kubelet mounts.
type pod struct {
	t    *testing.T
	root string
	told int
}

func newPod(t *testing.T) *pod {
	p := &pod{t: t, root: t.TempDir()}
	p.object("secret.web", nil)
	p.object("configmap.web", map[string]string{"mode": "fast"})
	return p
}

// object replaces an object as the kubelet does: a new directory, and a symlink that is swapped. Nil is an object that does
// not exist.
func (p *pod) object(name string, files map[string]string) {
	p.t.Helper()
	dir := filepath.Join(p.root, "references", name)
	must(p.t, os.RemoveAll(dir))
	data := filepath.Join(dir, "..2026_11_28")
	must(p.t, os.MkdirAll(data, 0o755))
	must(p.t, os.Symlink(filepath.Base(data), filepath.Join(dir, "..data")))
	for key, value := range files {
		must(p.t, os.WriteFile(filepath.Join(data, key), []byte(value), 0o644))
		must(p.t, os.Symlink(filepath.Join("..data", key), filepath.Join(dir, key)))
	}
}

// dispatcher starts, as after each restart of its container.
func (p *pod) dispatcher() *references.Watcher {
	return references.New(references.Options{
		Dir: filepath.Join(p.root, "references"), Baseline: filepath.Join(p.root, "baseline.json"),
		Changed: func() { p.told++ }, Log: slog.New(slog.DiscardHandler),
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestContentCountsAndNothingElse(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*pod)
		want   []string
	}{
		"nothing changes":                      {func(*pod) {}, nil},
		"the same content is mounted anew":     {func(p *pod) { p.object("configmap.web", map[string]string{"mode": "fast"}) }, nil},
		"a value changes":                      {func(p *pod) { p.object("configmap.web", map[string]string{"mode": "slow"}) }, []string{"configmap.web"}},
		"a key is added":                       {func(p *pod) { p.object("configmap.web", map[string]string{"mode": "fast", "b": ""}) }, []string{"configmap.web"}},
		"text moves from a key into a value":   {func(p *pod) { p.object("configmap.web", map[string]string{"mod": "efast"}) }, []string{"configmap.web"}},
		"a missing object comes":               {func(p *pod) { p.object("secret.web", map[string]string{"token": "x"}) }, nil},
		"an object is deleted: the pods go on": {func(p *pod) { p.object("configmap.web", nil) }, nil},
		"what came before it changed is changed": {func(p *pod) {
			p.object("configmap.web", map[string]string{"mode": "1"})
			p.object("secret.web", map[string]string{"t": "1"})
		}, []string{"configmap.web"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			w := p.dispatcher()
			must(t, w.Look())
			tc.change(p)
			must(t, w.Look())
			must(t, w.Look())
			got := w.State()
			if diff := cmp.Diff(tc.want, got.Changed); diff != "" {
				t.Error(diff)
			}
			if (got.Digest != "") != (tc.want != nil) || p.told != len(tc.want) {
				t.Errorf("digest %q, told %d times", got.Digest, p.told)
			}
		})
	}
}

func TestARestartOfTheDispatcherForgetsNothing(t *testing.T) {
	p := newPod(t)
	must(t, p.dispatcher().Look())
	p.object("secret.web", map[string]string{"token": "first"})
	must(t, p.dispatcher().Look())
	p.object("secret.web", map[string]string{"token": "second"})
	w := p.dispatcher()
	must(t, w.Look())
	first := w.State()
	if diff := cmp.Diff([]string{"secret.web"}, first.Changed); diff != "" {
		t.Fatal(diff)
	}
	again := p.dispatcher()
	must(t, again.Look())
	if diff := cmp.Diff(first, again.State()); diff != "" {
		t.Error(diff)
	}
	p.object("secret.web", map[string]string{"token": "first"})
	must(t, again.Look())
	if got := again.State(); len(got.Changed) > 0 {
		t.Errorf("what is as it was counts as changed: %v", got)
	}
}

func TestDigestsAreKeyed(t *testing.T) {
	digest := func() string {
		p := newPod(t)
		w := p.dispatcher()
		must(t, w.Look())
		p.object("configmap.web", map[string]string{"mode": "slow"})
		must(t, w.Look())
		return w.State().Digest
	}
	if a, b := digest(), digest(); a == b {
		t.Errorf("two pods give one digest, %s: whoever reads it could try out contents", a)
	}
}

func TestWhatCannotBeReadIsNoChange(t *testing.T) {
	p := newPod(t)
	w := p.dispatcher()
	must(t, w.Look())
	must(t, os.RemoveAll(filepath.Join(p.root, "references")))
	if err := w.Look(); err == nil {
		t.Error("no error")
	}
	if got := w.State(); len(got.Changed) > 0 {
		t.Errorf("%v", got)
	}
	must(t, os.WriteFile(filepath.Join(p.root, "baseline.json"), []byte("{}"), 0o600))
	if err := p.dispatcher().Look(); err == nil {
		t.Error("a baseline that is none was taken up")
	}
}
