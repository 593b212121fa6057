// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/testutil/documents"
	"toolgate.dev/toolgate/test/dataplane/scripted"
)

const revision = "r1"

// document is one of package documents.
func document(t testing.TB, definitions ...json.RawMessage) *registry.Document {
	t.Helper()
	return must[*registry.Document](t)(documents.Admitting(revision, definitions...))
}

// write puts a document into a folder of its own, as a mounted volume has it.
func write(t testing.TB, doc *registry.Document) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), registry.FileName)
	replace(t, path, encode(t, doc))
	return path
}

func encode(t testing.TB, doc *registry.Document) []byte {
	t.Helper()
	data, _, err := doc.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// replace puts data in the place of a file, at once.
func replace(t testing.TB, path string, data []byte) {
	t.Helper()
	next := path + ".next"
	if err := os.WriteFile(next, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, path); err != nil {
		t.Fatal(err)
	}
}

// child is a scripted server that is started over stdio.
type child struct {
	scripted.Options
	t testing.TB
}

// newChild gives a child with tools; it is started by a dispatcher.
func newChild(t testing.TB, mood scripted.Mood, definitions ...string) *child {
	t.Helper()
	folder := t.TempDir()
	c := &child{t: t, Options: scripted.Options{Mood: mood, Log: folder, Tools: filepath.Join(folder, "tools.json")}}
	c.lists(definitions...)
	return c
}

// lists changes what the server lists from now on.
func (c *child) lists(definitions ...string) {
	c.t.Helper()
	replace(c.t, c.Tools, fmt.Appendf(nil, `{"tools":[%s]}`, strings.Join(definitions, ",")))
}

func (c *child) command() []string { return scripted.Command(binaries.self, c.Options) }

func (c *child) definitions() []json.RawMessage {
	c.t.Helper()
	return must[[]json.RawMessage](c.t)(scripted.Definitions(c.Tools))
}

// release lets calls of hang return.
func (c *child) release() {
	c.t.Helper()
	if err := os.WriteFile(scripted.Release(c.Log), nil, 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// processes is what has reached each of the server's processes so far.
func (c *child) processes() []string {
	c.t.Helper()
	var all []string
	for _, file := range must[[]string](c.t)(filepath.Glob(filepath.Join(c.Log, "*.read"))) {
		all = append(all, string(must[[]byte](c.t)(os.ReadFile(file))))
	}
	return all
}

// read is all that has reached the server's processes so far.
func (c *child) read() string {
	c.t.Helper()
	return strings.Join(c.processes(), "")
}

// calls are the params of the calls that have reached one process, in their order.
func (c *child) calls() []json.RawMessage {
	c.t.Helper()
	var calls []json.RawMessage
	for line := range strings.Lines(c.read()) {
		var m struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			c.t.Fatalf("the server read what is no JSON: %q", line)
		}
		if m.Method == "tools/call" {
			calls = append(calls, m.Params)
		}
	}
	return calls
}
