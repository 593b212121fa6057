// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"fmt"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/dispatcher/upstream/pool"
	"toolgate.dev/toolgate/internal/registry"
)

// TestALimitOfSessionsCanBeReached lets one caller have more sessions than a pool holds by itself, and raises the limit later.
func TestALimitOfSessionsCanBeReached(t *testing.T) {
	sessions := func(n int) func(*registry.Document) {
		return func(d *registry.Document) { d.Policy.Limits.MaxSessions = n }
	}
	r := start(t, &spawner{}, sessions(pool.DefaultMaxConns+10))
	eventually(t, "ready", r.ready)
	open := func(i int) string {
		return r.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, i))
	}
	opened := 0
	fill := func(to int) {
		t.Helper()
		for ; opened < to; opened++ {
			if got := open(opened); !strings.Contains(got, `"protocolVersion"`) {
				t.Fatalf("session %d: %s", opened, got)
			}
		}
	}
	fill(pool.DefaultMaxConns + 10)
	if got := open(0); !strings.Contains(got, "MaxSessions") {
		t.Errorf("one session too many: %s", got)
	}
	r.write(sessions(pool.DefaultMaxConns + 30))
	eventually(t, "the new limit counts", func() bool { return strings.Contains(open(0), `"protocolVersion"`) })
	opened++
	fill(pool.DefaultMaxConns + 30)
}
