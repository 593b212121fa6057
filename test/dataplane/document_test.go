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

	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/test/dataplane/scripted"
)

const revision = "r1"

// document admits the tools that definitions give and trusts the server. Probes and readings are so rare that nothing but the
// test moves, and limits are lifted.
func document(t testing.TB, definitions ...json.RawMessage) *registry.Document {
	t.Helper()
	const hour = 3600
	doc := &registry.Document{
		Version: registry.Version, Sequence: 1,
		Server:   registry.Server{Namespace: "default", Name: "server"},
		Upstream: registry.Upstream{Transport: registry.TransportStdio, Isolation: registry.IsolationSession},
		Policy: registry.Policy{
			TimeoutSeconds: 60,
			Limits:         registry.Limits{MaxConcurrent: 256, MaxSessions: 64, SessionIdleSeconds: hour, MaxRequestBytes: 32 << 20, MaxResponseBytes: 32 << 20},
			Health:         registry.Health{IntervalSeconds: hour, TimeoutSeconds: 30, FailureThreshold: 3},
			Discovery:      registry.Discovery{TTLSeconds: hour},
			Trust:          registry.Trust{Trusted: true},
			Expose:         registry.Expose{Tools: true, Resources: true, Prompts: true, Completions: true},
			Client:         registry.Client{Sampling: true, ElicitationForm: true, Roots: true},
			Validation:     registry.Validation{Arguments: registry.Enforce, Results: registry.Warn},
		},
	}
	tools := []registry.Tool{}
	for _, d := range definitions {
		tool, err := catalog.ParseTool(d)
		if tool.Name == "" {
			t.Fatalf("no tool: %s: %v", d, err)
		}
		tools = append(tools, registry.Tool{Name: tool.Name, Digest: tool.Digest})
	}
	doc.Revisions = map[string]registry.Revision{revision: {Tools: tools}}
	return doc
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
