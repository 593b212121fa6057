// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolgate.dev/toolgate/test/dataplane/scripted"
)

// TestTrustThatLapsesIsToldOf hides blocked tools of a server that is trusted as long as somebody reads the dispatcher's state.
// Clients of both eras hear that the list is another when nobody has, though neither server nor document has changed.
func TestTrustThatLapsesIsToldOf(t *testing.T) {
	t.Parallel()
	c := newChild(t, scripted.Good, greet, remove)
	doc := document(t, c.definitions()...)
	doc.Policy.Trust.MaxStalenessSeconds, doc.Policy.Gating.HideBlocked = 1, true
	d := serve(t, doc, c.command()...).ready()
	for _, version := range []string{latest, modern} {
		t.Run(version, func(t *testing.T) {
			d := &dispatcher{t: t, Dispatcher: d.Dispatcher, mcp: d.mcp, admin: d.admin}
			s, heard := d.listening(version)
			listed := func() bool {
				tools := must[*mcp.ListToolsResult](t)(s.ListTools(t.Context(), nil)).Tools
				return slices.ContainsFunc(tools, func(tool *mcp.Tool) bool { return tool.Name == "remove" })
			}
			await(t, "the destructive tool is listed while somebody reads the state", func() bool { d.state(); return listed() })
			for told := false; !told; {
				heard.until(t, "tools")
				told = !listed()
			}
		})
	}
}
