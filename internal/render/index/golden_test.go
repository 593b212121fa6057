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
	content, err := index.New([]mcpv1alpha1.MCPServer{*rendertest.Listening(), *rendertest.Stdio(), *disabled}, append(rendertest.Tools("files"), rendertest.Tools("off")...))
	if err != nil {
		t.Fatal(err)
	}
	all, err := index.ConfigMaps("ns", content, false)
	if err != nil || len(all) != 1 {
		t.Fatal(len(all), err)
	}
	rendertest.Golden(t, "index.yaml", rendertest.YAML(t, all[render.IndexName]))
}
