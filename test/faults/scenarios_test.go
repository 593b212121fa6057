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
		{"a server is created", nothing, oneServer},
		{"two servers are created", nothing, func(ctx context.Context, p person) error {
			return p.create(ctx, p.server("files"), p.server("more"))
		}},
		{"a server is deleted", oneServer, func(ctx context.Context, p person) error { return p.delete(ctx, p.server("files")) }},
		{"a server is deleted of whose tools a person has spoken", withRules, func(ctx context.Context, p person) error {
			return p.delete(ctx, p.server("files"))
		}},
		{"another image is rolled out", oneServer, change(func(s *mcpv1alpha1.MCPServerSpec) { s.Container.Image = secondImage })},
		{"the replicas grow", oneServer, change(func(s *mcpv1alpha1.MCPServerSpec) { s.Replicas = new(int32(3)) })},
		{"a server is disabled", withRules, change(func(s *mcpv1alpha1.MCPServerSpec) { s.State = mcpv1alpha1.StateDisabled })},
		{"a server is trusted", withRules, change(func(s *mcpv1alpha1.MCPServerSpec) { s.Trust.State = mcpv1alpha1.Trusted })},
		{"rules come", oneServer, func(ctx context.Context, p person) error {
			return p.create(ctx, p.ruleSet("rules", "'path' in args"))
		}},
		{"rules change", withRules, func(ctx context.Context, p person) error {
			return edit(ctx, p, &mcpv1alpha1.RuleSet{}, "rules", func(rs *mcpv1alpha1.RuleSet) { rs.Spec.Rules[0].When = "size(args) > 3" })
		}},
		{"rules break", withRules, func(ctx context.Context, p person) error {
			return edit(ctx, p, &mcpv1alpha1.RuleSet{}, "rules", func(rs *mcpv1alpha1.RuleSet) { rs.Spec.Rules[0].When = "size(args" })
		}},
		{"rules go", withRules, func(ctx context.Context, p person) error { return p.delete(ctx, p.ruleSet("rules", "")) }},
		{"a person disables a tool", oneServer, func(ctx context.Context, p person) error {
			return edit(ctx, p, &mcpv1alpha1.MCPTool{}, "files.write-file", func(m *mcpv1alpha1.MCPTool) { m.Spec.State = mcpv1alpha1.StateDisabled })
		}},
		{"a server moves elsewhere", oneServer, change(func(s *mcpv1alpha1.MCPServerSpec) {
			s.Container, s.Remote = nil, &mcpv1alpha1.Remote{URL: "https://mcp.example.com/mcp"}
		})},
	}
}
