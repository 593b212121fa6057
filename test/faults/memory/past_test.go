// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/render"
)

// remembered is what a server of one image remembers when all is as it should be; the catalogue is that of its revision.
func remembered(t *testing.T) (m Memory, past *Past, revision string) {
	t.Helper()
	server := &mcpv1alpha1.MCPServer{Spec: mcpv1alpha1.MCPServerSpec{Container: &mcpv1alpha1.Container{Image: "example.com/files:1"}}}
	past = Begin()
	if err := past.Server(server, &registry.Catalogue{Digest: "all", Tools: []registry.ObservedTool{{Name: "read", Digest: "one"}}}); err != nil {
		t.Fatal(err)
	}
	revision, err := render.Revision(server)
	if err != nil {
		t.Fatal(err)
	}
	server.Status.Revisions = []mcpv1alpha1.RevisionStatus{{Name: revision, FirstCatalogueDigest: "all"}}
	tool := &mcpv1alpha1.MCPTool{Spec: mcpv1alpha1.MCPToolSpec{ToolName: "read"}}
	tool.Status.Pins = []mcpv1alpha1.RevisionPin{{Revision: revision, Digest: "one"}}
	return Memory{server: server, deployment: &appsv1.Deployment{}, tools: map[string]*mcpv1alpha1.MCPTool{"files.read": tool}}, past, revision
}

func TestAMemoryIsJudgedByThePast(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(m *Memory, revision string)
		want   string
	}{
		"what the past accounts for passes": {func(*Memory, string) {}, ""},
		"a revision that never was": {func(m *Memory, _ string) {
			m.server.Status.Revisions = append(m.server.Status.Revisions, mcpv1alpha1.RevisionStatus{Name: "other"})
		}, "never had the revision other"},
		"a revision with another catalogue": {func(m *Memory, _ string) {
			m.server.Status.Revisions[0].FirstCatalogueDigest = "else"
		}, "is remembered with catalogue else"},
		"the revision of now is missing": {func(m *Memory, _ string) { m.server.Status.Revisions = nil }, "does not remember its revision"},
		"a pin of what was not listed": {func(m *Memory, _ string) {
			m.tools["files.read"].Status.Pins[0].Digest = "two"
		}, "is pinned to two"},
		"a pin of a revision that is forgotten": {func(m *Memory, _ string) {
			m.tools["files.read"].Status.Pins[0].Revision = "other"
		}, "which the server does not remember"},
		"a pin that is missing": {func(m *Memory, _ string) { m.tools["files.read"].Status.Pins = nil }, "has no pin of revision"},
		"a change from what never was": {func(m *Memory, _ string) {
			m.tools["files.read"].Status.Change = &mcpv1alpha1.ToolChange{Kind: mcpv1alpha1.ChangeBreaking, From: "three"}
		}, "a change from three"},
		"a definition shown as admitted that never was": {func(m *Memory, _ string) {
			m.tools["files.read"].Status.Admitted = &mcpv1alpha1.ObservedTool{Digest: "four"}
		}, "shows four as admitted"},
		"replicas for which nobody asked": {func(m *Memory, _ string) {
			m.server.Spec.Scaling, m.deployment.Spec.Replicas = mcpv1alpha1.ScalingExternal, new(int32(7))
		}, "nobody ever asked for 7 replicas"},
	} {
		t.Run(name, func(t *testing.T) {
			m, past, revision := remembered(t)
			tc.change(&m, revision)
			err := m.Judge(past, Memory{})
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestAMemoryMayNotBeLost(t *testing.T) {
	before, past, _ := remembered(t)
	now, _, _ := remembered(t)
	now.tools["files.read"].Status.Pins[0].Digest = "two"
	past.byPeople["two"], past.strict = true, true
	if err := now.Judge(past, before); err == nil || !strings.Contains(err.Error(), "was one, and is \"two\"") {
		t.Errorf("got %v for a pin that is another than before", err)
	}
	if err := before.Judge(past, before); err != nil {
		t.Errorf("got %v for a memory that stays", err)
	}
}
