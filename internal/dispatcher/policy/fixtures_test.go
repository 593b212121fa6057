// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"testing"

	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/rules"
)

const (
	readTool = `{"name":"read_file","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"head":{"type":"integer","default":10}},` +
		`"required":["path"]},"annotations":{"readOnlyHint":true}}`
	writeTool = `{"name":"write_file","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},` +
		`"required":["path","content"]},"annotations":{"readOnlyHint":false,"destructiveHint":true}}`
	silentTool   = `{"name":"run","inputSchema":{"type":"object"}}`
	additiveTool = `{"name":"append","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false,"destructiveHint":false}}`
	taskTool     = `{"name":"crawl","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"execution":{"taskSupport":"required"}}`
	lookahead    = `{"name":"odd","inputSchema":{"type":"object","properties":{"p":{"type":"string","pattern":"(?!x)"}}},"annotations":{"readOnlyHint":true}}`
	oddResult    = `{"name":"odd_result","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"p":{"pattern":"(?!x)"}}},"annotations":{"readOnlyHint":true}}`
	sumTool      = `{"name":"sum","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},` +
		`"outputSchema":{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"]}}`
)

// catalogue is a View over definitions.
type catalogue map[string]catalog.Tool

func (c catalogue) Lookup(name string) (catalog.Tool, error) {
	t, ok := c[name]
	if !ok {
		return t, ErrNotListed
	}
	return t, nil
}

func parse(t *testing.T, def string) catalog.Tool {
	t.Helper()
	tool, err := catalog.ParseTool([]byte(def))
	if err != nil {
		t.Fatalf("definition %s: %v", def, err)
	}
	return tool
}

func listing(t *testing.T, defs ...string) catalogue {
	t.Helper()
	c := catalogue{}
	for _, def := range defs {
		tool := parse(t, def)
		c[tool.Name] = tool
	}
	return c
}

func allDefinitions(t *testing.T) catalogue {
	return listing(t, readTool, writeTool, silentTool, additiveTool, taskTool, lookahead, oddResult, sumTool)
}

const revision = "r1"

// engine gives the engine of a document in which every tool of the view is admitted as it is; change may alter it.
func engine(t *testing.T, view catalogue, change func(*registry.Document)) *Engine {
	t.Helper()
	doc := &registry.Document{
		Version: registry.Version, Sequence: 1,
		Server:   registry.Server{Namespace: "ns", Name: "files"},
		Upstream: registry.Upstream{Transport: registry.TransportStdio, Isolation: registry.IsolationSession},
		Policy: registry.Policy{
			TimeoutSeconds: 30,
			Limits: registry.Limits{
				MaxConcurrent: 1, MaxSessions: 1, SessionIdleSeconds: 60, MaxRequestBytes: 1 << 20, MaxResponseBytes: 1 << 20,
			},
			Health:     registry.Health{IntervalSeconds: 15, TimeoutSeconds: 5, FailureThreshold: 3},
			Discovery:  registry.Discovery{TTLSeconds: 300},
			Expose:     registry.Expose{Tools: true, Resources: true},
			Validation: registry.Validation{Arguments: registry.Enforce, Results: registry.Warn},
		},
	}
	var tools []registry.Tool
	for name, tool := range view {
		tools = append(tools, registry.Tool{Name: name, Digest: tool.Digest})
	}
	doc.Revisions = map[string]registry.Revision{revision: {Tools: tools}}
	if change != nil {
		change(doc)
	}
	snapshot, err := registry.Compile(doc, "sha256:0", revision)
	if err != nil {
		t.Fatal(err)
	}
	return New(snapshot, registry.NewSchemaCache())
}

// entry is the registry's entry of one tool.
func entry(doc *registry.Document, name string) *registry.Tool {
	tools := doc.Revisions[revision].Tools
	for i := range tools {
		if tools[i].Name == name {
			return &tools[i]
		}
	}
	return nil
}

func ptr(b bool) *bool { return &b }

func celSet(rule rules.Rule) rules.Set {
	return rules.Set{Name: "limits", Type: rules.TypePolicy, Format: rules.FormatCEL, Rules: []rules.Rule{rule}}
}
