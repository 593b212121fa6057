// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package compare_test

import "testing"

func TestReferencesIntoTexts(t *testing.T) {
	behind := func(keyword, ref, value string) string {
		return object(`"properties":{"p":{"$ref":"#/` + ref + `"}},"` + keyword + `":` + value)
	}
	run(t, map[string]comparing{
		"an example narrows":       {behind("examples", "examples/0", `[{"type":"number"}]`), behind("examples", "examples/0", `[{"type":"integer"}]`), breaks, patch, ""},
		"an example changes":       {behind("examples", "examples/0", `[{"type":"string"}]`), behind("examples", "examples/0", `[{"type":"integer"}]`), breaks, breaks, ""},
		"one example changes":      {behind("example", "example", `{"type":"string"}`), behind("example", "example", `{"type":"integer"}`), breaks, breaks, ""},
		"an example that is coded": {behind("examples", "%65xamples/0", `[{"type":"string"}]`), behind("examples", "%65xamples/0", `[{"type":"integer"}]`), breaks, breaks, ""},
		"another example changes": {
			behind("examples", "examples/0", `[{"type":"string"},1]`), behind("examples", "examples/0", `[{"type":"string"},2]`), patch, patch, "",
		},
		"words of an example change": {
			behind("examples", "examples/0", `[{"type":"string"}]`), behind("examples", "examples/0", `[{"type":"string","title":"T"}]`), patch, patch, "",
		},
		"a member is named like a text": {
			object(`"properties":{"title":{"type":"string"},"p":{"$ref":"#/properties/title"}}`),
			object(`"description":"d","properties":{"title":{"type":"string"},"p":{"$ref":"#/properties/title"}}`), patch, patch, "",
		},
		"words change beside a reference by a name": {
			object(`"properties":{"a":{"$ref":"#d"}},"$defs":{"D":{"$anchor":"d","type":"string"}}`),
			object(`"description":"d","properties":{"a":{"$ref":"#d"}},"$defs":{"D":{"$anchor":"d","type":"string"}}`), patch, patch, "",
		},
	})
}
