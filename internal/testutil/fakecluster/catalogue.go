// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package fakecluster

import (
	"encoding/json"
	"fmt"

	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/registry"
)

// Definition is a tool as a server lists it; more is put before the closing brace.
func Definition(name, more string) string {
	return fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}%s}`, name, more)
}

// ReadOnly is the annotation of a tool that the gate lets through, for Definition.
const ReadOnly = `,"annotations":{"readOnlyHint":true}`

// CatalogueOf is what a dispatcher makes of the definitions of a server.
func CatalogueOf(definitions ...string) *registry.Catalogue {
	out := &registry.Catalogue{Resources: -1, Prompts: -1}
	tools := make([]catalog.Tool, 0, len(definitions))
	for _, def := range definitions {
		tool, err := catalog.ParseTool([]byte(def))
		observed := registry.ObservedTool{Name: tool.Name, Digest: tool.Digest, Definition: json.RawMessage(def)}
		if err != nil {
			observed.Error = err.Error()
		}
		out.Tools = append(out.Tools, observed)
		tools = append(tools, tool)
	}
	out.Digest = catalog.CatalogueDigest(tools)
	return out
}
