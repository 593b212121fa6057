// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/test/dataplane/scripted"
)

const megabyte = 1_000_000

// TestFootprint holds what the dispatcher takes at rest to its bounds: it runs in every server's pod.
func TestFootprint(t *testing.T) {
	const tools, bound = 100, 25 * megabyte
	binary := must[os.FileInfo](t)(os.Stat(binaries.dispatcher)).Size()
	c := newChild(t, scripted.Good, manyTools(tools)...)
	d := serve(t, document(t, c.definitions()...), c.command()...).ready()
	s := d.until("the server is connected", func(s registry.State) bool { return s.Upstream.Phase == registry.UpstreamConnected })
	if got := len(s.Catalogue.Tools); got != tools {
		t.Fatalf("%d tools, want %d", got, tools)
	}
	fresh := resident(t, d)
	client := d.session(latest)
	for i := range tools {
		if a := client.call(fmt.Sprintf("tool-%d", i), `{"path":"/a","mode":"read"}`); !a.good() {
			t.Fatalf("tool %d: %s", i, a.body)
		}
	}
	used := resident(t, d)
	t.Logf("binary %.1f MB; resident with %d tools %.1f MB at rest, %.1f MB after a call to each", mb(binary), tools, mb(fresh), mb(used))
	if fresh > bound || binary > bound {
		t.Errorf("more than %.0f MB", mb(bound))
	}
}

func mb(n int64) float64 { return float64(n) / megabyte }

// manyTools are of the size that tools of real servers have.
func manyTools(n int) []string {
	tools := make([]string, n)
	for i := range tools {
		tools[i] = fmt.Sprintf(`{"name":"tool-%d","description":%q,"inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{`+
			`"path":{"type":"string","minLength":1,"pattern":"^/","description":%q},"mode":{"enum":["read","write"]},"limit":{"type":"integer","minimum":0,"default":10},`+
			`"filter":{"anyOf":[{"type":"string"},{"type":"object","properties":{"any":{"type":"array","items":{"type":"string"}}}}]}},"required":["path"],"additionalProperties":false},`+
			`"annotations":{"readOnlyHint":true}}`, i, strings.Repeat("Does a thing. ", 20), strings.Repeat("Where it is. ", 10))
	}
	return tools
}

// resident is VmRSS of the dispatcher in bytes.
func resident(t *testing.T, d *dispatcher) int64 {
	t.Helper()
	status := must[[]byte](t)(os.ReadFile(fmt.Sprintf("/proc/%d/status", d.Process.Pid)))
	for line := range strings.Lines(string(status)) {
		if value, found := strings.CutPrefix(line, "VmRSS:"); found {
			kilobytes := must[int64](t)(strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64))
			return kilobytes * 1024
		}
	}
	t.Fatalf("no VmRSS in %s", status)
	return 0
}
