// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// step is what a person does.
type step func(context.Context, person) error

// scenario is a change of a cluster at rest; before brings it about, and nothing fails until that has come to rest.
type scenario struct {
	name         string
	before, then step
	// most is how many of its points are tried at most, kills how many of those at which the manager is killed.
	most, kills int
}

func nothing(context.Context, person) error { return nil }

func oneServer(ctx context.Context, p person) error { return p.create(ctx, p.server("files")) }

// withRules is a server with a set of rules, and a word of a person on one of its tools.
func withRules(ctx context.Context, p person) error {
	tool := &mcpv1alpha1.MCPTool{
		ObjectMeta: p.meta("files.write-file"),
		Spec: mcpv1alpha1.MCPToolSpec{
			ServerRef: mcpv1alpha1.ServerRef{Name: "files"}, ToolName: "write_file",
			Hints: mcpv1alpha1.Hints{Destructive: mcpv1alpha1.HintTrue},
		},
	}
	return p.create(ctx, p.server("files"), p.ruleSet("rules", "'path' in args"), tool)
}

// change makes a step of an edit of the server's spec.
func change(edit func(*mcpv1alpha1.MCPServerSpec)) step {
	return func(ctx context.Context, p person) error { return p.editServer(ctx, edit) }
}

// basic are the scenarios that are no change of a single field.
func basic() []scenario {
	return []scenario{
		{name: "a server is created", before: nothing, then: oneServer},
		{name: "two servers are created", before: nothing, then: func(ctx context.Context, p person) error {
			return p.create(ctx, p.server("files"), p.server("more"))
		}},
		{name: "a server is deleted", before: oneServer, then: func(ctx context.Context, p person) error { return p.delete(ctx, p.server("files")) }},
		{name: "a server is deleted of whose tools a person has spoken", before: withRules, then: func(ctx context.Context, p person) error {
			return p.delete(ctx, p.server("files"))
		}},
		{name: "another image is rolled out", before: oneServer, then: change(func(s *mcpv1alpha1.MCPServerSpec) { s.Container.Image = secondImage })},
		{name: "the replicas grow", before: oneServer, then: change(func(s *mcpv1alpha1.MCPServerSpec) { s.Replicas = new(int32(3)) })},
		{name: "a server is disabled", before: withRules, then: change(func(s *mcpv1alpha1.MCPServerSpec) { s.State = mcpv1alpha1.StateDisabled })},
		{name: "a server is trusted", before: withRules, then: change(func(s *mcpv1alpha1.MCPServerSpec) { s.Trust.State = mcpv1alpha1.Trusted })},
		{name: "rules come", before: oneServer, then: func(ctx context.Context, p person) error {
			return p.create(ctx, p.ruleSet("rules", "'path' in args"))
		}},
		{name: "rules change", before: withRules, then: func(ctx context.Context, p person) error {
			return edit(ctx, p, &mcpv1alpha1.RuleSet{}, "rules", func(rs *mcpv1alpha1.RuleSet) { rs.Spec.Rules[0].When = "size(args) > 3" })
		}},
		{name: "rules break", before: withRules, then: func(ctx context.Context, p person) error {
			return edit(ctx, p, &mcpv1alpha1.RuleSet{}, "rules", func(rs *mcpv1alpha1.RuleSet) { rs.Spec.Rules[0].When = "size(args" })
		}},
		{name: "rules go", before: withRules, then: func(ctx context.Context, p person) error { return p.delete(ctx, p.ruleSet("rules", "")) }},
		{name: "a person disables a tool", before: oneServer, then: func(ctx context.Context, p person) error {
			return edit(ctx, p, &mcpv1alpha1.MCPTool{}, "files.write-file", func(m *mcpv1alpha1.MCPTool) { m.Spec.State = mcpv1alpha1.StateDisabled })
		}},
		{name: "a server moves elsewhere", before: oneServer, then: change(func(s *mcpv1alpha1.MCPServerSpec) {
			s.Container, s.Remote = nil, &mcpv1alpha1.Remote{URL: "https://mcp.example.com/mcp"}
		})},
	}
}
