// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"testing"

	"toolgate.dev/toolgate/internal/render/rendertest"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/index"
)

func TestIndex(t *testing.T) {
	disabled := rendertest.Named("off", mcpv1alpha1.MCPServerSpec{State: mcpv1alpha1.StateDisabled})
	content := index.New([]mcpv1alpha1.MCPServer{*rendertest.Listening(), *rendertest.Stdio(), *disabled}, append(rendertest.Tools("files"), rendertest.Tools("off")...))
	all, err := index.ConfigMaps("ns", content, false)
	if err != nil || len(all) != 1 {
		t.Fatal(len(all), err)
	}
	rendertest.Golden(t, "index.yaml", rendertest.YAML(t, all[render.IndexName]))
}

// TestTheIndexNamesWhatClientsMeet: the spec's revision has another definition admitted than the one that serves.
func TestTheIndexNamesWhatClientsMeet(t *testing.T) {
	s := rendertest.Stdio()
	next := rendertest.Must(render.Revision(s))
	tool := rendertest.Tools(s.Name)[0]
	tool.Status.Observed = &mcpv1alpha1.ObservedTool{Digest: "d1", Revision: "old"}
	tool.Status.Pins = []mcpv1alpha1.RevisionPin{{Revision: "old", Digest: "d1"}, {Revision: next, Digest: "d2"}}
	content := index.New([]mcpv1alpha1.MCPServer{*s}, []mcpv1alpha1.MCPTool{tool})
	if got := content.Servers[0].Tools[0].Digest; got != "d1" {
		t.Errorf("digest %s, and clients meet d1", got)
	}
}
