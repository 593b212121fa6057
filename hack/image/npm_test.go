// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fakeNPM installs one package as npm does, with notes of where it came from.
const fakeNPM = `#!/bin/sh
set -e
case "$1" in
config) echo https://packages.test:8443/npm/ ;;
install|ci)
	echo "$@" >"$NPM_CALLS"
	mkdir -p node_modules/@scope/server/dist node_modules/.bin node_modules/other
	echo '{"name":"@scope/server","version":"1.2.3","_resolved":"https://packages.test:8443/npm/server.tgz","bin":{"server":"dist/index.js"}}' >node_modules/@scope/server/package.json
	printf '#!/usr/bin/env node\n' >node_modules/@scope/server/dist/index.js
	chmod 700 node_modules/@scope/server/dist/index.js
	ln -s ../@scope/server/dist/index.js node_modules/.bin/server
	echo '{"packages":{"x":{"resolved":"https://packages.test:8443/npm/server.tgz"}}}' >node_modules/.package-lock.json
	echo "$README" >node_modules/other/README.md ;;
*) exit 9 ;;
esac
`

// useFakeNPM puts fakeNPM in front of PATH and returns the file in which it
// notes its arguments.
func useFakeNPM(t *testing.T, readme string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "npm"), []byte(fakeNPM), 0o755); err != nil {
		t.Fatal(err)
	}
	calls := filepath.Join(dir, "calls")
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("NPM_CALLS", calls)
	t.Setenv("README", readme)
	return calls
}

func TestNPMImage(t *testing.T) {
	calls := useFakeNPM(t, "see https://docs.test")
	args := []string{"npm", "--tag", "toolgate.dev/demo/server:1.2.3", "--package", "@scope/server@1.2.3", "--cache", t.TempDir()}
	archive := build(t, args...)
	image, _ := open(t, archive)

	got := config(t, image)
	if got.User != "10001:10001" || got.WorkingDir != "/app" || !slices.Contains(got.Env, "PATH=/app/node_modules/.bin:/usr/bin:/bin") {
		t.Errorf("user %q, folder %q, environment %q", got.User, got.WorkingDir, got.Env)
	}
	links, modes := map[string]string{}, map[string]int64{}
	for _, h := range headers(t, image) {
		links[h.Name], modes[h.Name] = h.Linkname, h.Mode
	}
	if link := links["app/node_modules/.bin/server"]; link != "../@scope/server/dist/index.js" {
		t.Errorf("the launcher links to %q", link)
	}
	for name, want := range map[string]int64{
		"usr/bin/node": 0o755, "usr/bin/env": 0o755, "tmp/": 0o1777,
		"app/node_modules/@scope/server/dist/index.js": 0o755,
		"app/node_modules/@scope/server/package.json":  0o644,
	} {
		if mode, ok := modes[name]; !ok || mode != want {
			t.Errorf("%s has mode %o (there: %v), want %o", name, mode, ok, want)
		}
	}
	content, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	for _, trace := range []string{"packages.test", "_resolved", ".package-lock.json"} {
		if strings.Contains(string(content), trace) {
			t.Errorf("the archive holds %q", trace)
		}
	}
	if !strings.Contains(string(content), "server:x:10001:10001") {
		t.Error("the archive's passwd lacks user 10001")
	}
	wantCall(t, calls, "install --no-package-lock --ignore-scripts --omit=dev")
}

func TestNPMImageIsInstalledOnceAndReproducible(t *testing.T) {
	calls := useFakeNPM(t, "")
	lock := filepath.Join(t.TempDir(), "lock.json")
	if err := os.WriteFile(lock, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"npm", "--tag", "toolgate.dev/demo/server:1.2.3", "--package", "@scope/server@1.2.3", "--lock", lock, "--cache", t.TempDir()}
	first, _ := open(t, build(t, args...))
	wantCall(t, calls, "ci --ignore-scripts")
	if err := os.Remove(calls); err != nil {
		t.Fatal(err)
	}
	second, _ := open(t, build(t, args...))
	if _, err := os.Stat(calls); err == nil {
		t.Error("the package was installed again")
	}
	a, errA := first.Digest()
	b, errB := second.Digest()
	if errA != nil || errB != nil || a != b {
		t.Errorf("digests %v and %v differ (%v, %v)", a, b, errA, errB)
	}
}

func TestImagesOfTwoPackagesShareTheirFirstLayer(t *testing.T) {
	useFakeNPM(t, "")
	one, _ := open(t, build(t, "npm", "--tag", "a.test/one:1", "--package", "@scope/server@1.2.3", "--cache", t.TempDir()))
	t.Setenv("README", "another")
	two, _ := open(t, build(t, "npm", "--tag", "a.test/two:1", "--package", "@scope/server@1.2.4", "--cache", t.TempDir()))
	a, errA := one.Layers()
	b, errB := two.Layers()
	if errA != nil || errB != nil || len(a) != 2 || len(b) != 2 {
		t.Fatalf("layers: %v and %v (%v, %v), want 2 each", a, b, errA, errB)
	}
	for i, want := range []bool{true, false} {
		x, errX := a[i].Digest()
		y, errY := b[i].Digest()
		if errX != nil || errY != nil || (x == y) != want {
			t.Errorf("layer %d: equal is %v, want %v (%v, %v)", i, x == y, want, errX, errY)
		}
	}
}

func TestNPMImageRefusesATraceOfTheRegistry(t *testing.T) {
	useFakeNPM(t, "from packages.test:8443")
	err := run(t.Context(), []string{"npm", "--out", filepath.Join(t.TempDir(), "x"), "--tag", "a.test/b:1", "--package", "@scope/server@1.2.3", "--cache", t.TempDir()}, os.Stderr)
	if err == nil || !strings.Contains(err.Error(), "app/node_modules/other/README.md names the package registry") {
		t.Errorf("got %v, want an error that names the file", err)
	}
}

func TestWithoutNotes(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		want string // "" if it stays as it is
	}{
		"npm's notes go":               {`{"name":"x","_id":"x@1","_resolved":"y"}`, `{"name":"x"}`},
		"what has none stays":          {`{"name": "x"}`, ""},
		"what is no object stays":      {`["_id"]`, ""},
		"what is no JSON stays":        {`{`, ""},
		"a note within a field stays":  {`{"repository":{"_x":"1"}}`, ""},
		"big numbers keep their digit": {`{"_id":1,"n":12345678901234567890}`, `{"n":12345678901234567890}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, changed := withoutNotes([]byte(tc.in))
			if changed != (tc.want != "") {
				t.Fatalf("changed is %v", changed)
			}
			if !changed {
				return
			}
			var compact json.RawMessage
			if err := json.Unmarshal(got, &compact); err != nil {
				t.Fatal(err)
			}
			squeezed := strings.NewReplacer("\n", "", " ", "").Replace(string(compact))
			if squeezed != tc.want {
				t.Errorf("got %s, want %s", squeezed, tc.want)
			}
		})
	}
}

func wantCall(t *testing.T, calls, want string) {
	t.Helper()
	got, err := os.ReadFile(calls)
	if err != nil || !strings.Contains(string(got), want) {
		t.Errorf("npm was called with %q (%v), want %q", got, err, want)
	}
}
