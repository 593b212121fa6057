// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"encoding/json"
	"testing"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/registry"
)

// TestWhatIsShownHasMemoryOfItsOwn decodes what the API server makes of a schema into the object that was written, as a client
// does: shorter than it was, for numbers and escapes come back in another form.
func TestWhatIsShownHasMemoryOfItsOwn(t *testing.T) {
	const definition = `{"name":"a","inputSchema":{"type":"object","properties":{"t":{"default":1.0}}},"outputSchema":{"type":"object","title":"\u00e9"}}`
	def := &registry.ObservedTool{Name: "a", Digest: "a1", Definition: []byte(definition)}
	status := mcpv1alpha1.MCPToolStatus{Observed: observed(nil, def, 0)}
	answer := `{"observed":{"inputSchema":{"properties":{"t":{"default":1}},"type":"object"},"outputSchema":{"title":"é","type":"object"}}}`
	if err := json.Unmarshal([]byte(answer), &status); err != nil {
		t.Fatal(err)
	}
	if got := string(def.Definition); got != definition {
		t.Errorf("the definition has become %s", got)
	}
}
