// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package edge

import "testing"

func TestCleanPath(t *testing.T) {
	for path, want := range map[string]string{
		"/mcp": "/mcp", "/mcp/": "/mcp", "//mcp": "/mcp", "///mcp//": "/mcp", "/": "/", "": "", "//": "/",
		"/api//mcp/tools/": "/api/mcp/tools", "/x/../mcp": "/x/../mcp", "/./mcp": "/./mcp", "/MCP": "/MCP",
	} {
		if got := CleanPath(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}
