// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dispatchertest

import (
	"testing"

	"toolgate.dev/toolgate/internal/registry"
)

// Revision is the one that documents of this package name.
const Revision = "r1"

// Definitions of tools that tests call.
const (
	// Echo only reads and wants a text.
	Echo = `{"name":"echo","title":"Echo","description":"Says it again.","inputSchema":{"type":"object","properties":{"text":{"type":"string"},"n":{"type":"integer"}},"required":["text"]},"annotations":{"readOnlyHint":true},"x-vendor":{"b":1,"a":9007199254740993}}`
	// Remove destroys.
	Remove = `{"name":"remove","inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]},"annotations":{"destructiveHint":true}}`
	// Plain says nothing of what it does, and takes anything.
	Plain = `{"name":"plain","inputSchema":{"type":"object"}}`
)

// Document gives a document that admits every tool of the server and exposes everything.
func Document(s *Server) *registry.Document {
	doc := &registry.Document{
		Version: registry.Version, Sequence: 1,
		Server:   registry.Server{Namespace: "default", Name: "my-files", Domain: "files", URL: "http://my-files.default.svc/mcp"},
		Upstream: registry.Upstream{Transport: registry.TransportStdio, Isolation: registry.IsolationSession},
		Policy: registry.Policy{
			TimeoutSeconds: 30,
			Limits:         registry.Limits{MaxConcurrent: 10, MaxSessions: 10, SessionIdleSeconds: 60, MaxRequestBytes: 4 << 20, MaxResponseBytes: 4 << 20},
			Health:         registry.Health{IntervalSeconds: 15, TimeoutSeconds: 5, FailureThreshold: 3},
			Discovery:      registry.Discovery{TTLSeconds: 300},
			Expose:         registry.Expose{Tools: true, Resources: true, Prompts: true, Completions: true},
			Client:         registry.Client{Sampling: true, ElicitationForm: true, Roots: true},
			Validation:     registry.Validation{Arguments: registry.Enforce, Results: registry.Warn},
		},
		Revisions: map[string]registry.Revision{},
	}
	var tools []registry.Tool
	for _, t := range s.Catalogue().Tools {
		if t.Err == nil {
			tools = append(tools, registry.Tool{Name: t.Name, Digest: t.Digest})
		}
	}
	doc.Revisions[Revision] = registry.Revision{Tools: tools}
	return doc
}

// Snapshot compiles a document.
func Snapshot(t testing.TB, doc *registry.Document) *registry.Snapshot {
	t.Helper()
	_, digest, err := doc.Encode()
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := registry.Compile(doc, digest, Revision)
	if err != nil {
		t.Fatal(err)
	}
	return snapshot
}
