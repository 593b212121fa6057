// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"fmt"
	"testing"

	"toolgate.dev/toolgate/internal/registry"
)

// BenchmarkDecodeThousand reads the document of a server of a thousand tools, as each of its dispatchers does after a change.
func BenchmarkDecodeThousand(b *testing.B) {
	doc := document()
	tools := make([]registry.Tool, 0, 1000)
	for i := range cap(tools) {
		tools = append(tools, registry.Tool{Name: fmt.Sprintf("tool%04d", i), Digest: fmt.Sprintf("v1:sha256:%064d", i)})
	}
	for name := range doc.Revisions {
		doc.Revisions[name] = registry.Revision{Tools: tools}
		break
	}
	data, _, err := doc.Encode()
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := registry.Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}
