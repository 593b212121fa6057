// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/registry"
)

// A server that has no resources at all has the domain model once the document names it, and a new text without a restart.
func TestTheDomainModelIsServedAndReplacedLive(t *testing.T) {
	file := filepath.Join(t.TempDir(), "model.md")
	text := func(s string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := start(t, &spawner{}, nil)
	eventually(t, "ready", r.ready)
	const read = `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"toolgate://domain-model"}}`
	if got := r.post(read); !strings.Contains(got, "-32002") {
		t.Errorf("before there is one: %s", got)
	}
	r.write(func(d *registry.Document) {
		d.DomainModel = registry.DomainModel{File: file, Format: registry.ModelMarkdown}
	})
	eventually(t, "that it is missing", func() bool { return r.state().DomainModel.Missing })
	text("# Builds")
	eventually(t, "the model", func() bool { return strings.Contains(r.post(read), "# Builds") })
	if got := r.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`); !strings.Contains(got, `"resources":{}`) {
		t.Errorf("initialize: %s", got)
	}
	if got := r.post(`{"jsonrpc":"2.0","id":1,"method":"resources/list"}`); !strings.Contains(got, "toolgate://domain-model") {
		t.Errorf("list: %s", got)
	}
	text("# Releases")
	eventually(t, "the new text", func() bool { return strings.Contains(r.post(read), "# Releases") })
	text("\xff")
	eventually(t, "what is wrong with it", func() bool { return strings.Contains(r.state().DomainModel.Error, "UTF-8") })
	if got := r.post(read); !strings.Contains(got, "# Releases") {
		t.Errorf("the last good one: %s", got)
	}
	r.write(nil)
	eventually(t, "that the document takes it away", func() bool { return strings.Contains(r.post(read), "-32002") })
}

// What changes beside a running server is told with its name, and no content with it.
func TestChangedReferencesAreTold(t *testing.T) {
	dir := t.TempDir()
	object := filepath.Join(dir, "secret.web")
	if err := os.Mkdir(object, 0o755); err != nil {
		t.Fatal(err)
	}
	token := func(s string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(object, "token"), []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	token("first")
	baseline := filepath.Join(t.TempDir(), "baseline.json")
	r := startWith(t, &spawner{}, nil, func(o *Options) { o.References = References{Dir: dir, Baseline: baseline} })
	eventually(t, "what the pod was started with", func() bool { _, err := os.Stat(baseline); return err == nil })
	token("second")
	eventually(t, "the change", func() bool { return len(r.state().References.Changed) == 1 })
	if got := r.state().References; got.Changed[0] != "secret.web" || got.Digest == "" {
		t.Errorf("%+v", got)
	}
}
