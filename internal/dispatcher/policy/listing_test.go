// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/registry"
)

func TestListing(t *testing.T) {
	view := allDefinitions(t)
	names := func(e *Engine, trusted bool) (got []string) {
		for _, l := range e.Listing(view, trusted) {
			got = append(got, l.Tool.Name)
		}
		return got
	}
	all := []string{"append", "odd", "odd_result", "read_file", "run", "sum", "write_file"}
	cases := map[string]struct {
		change  func(*registry.Document)
		trusted bool
		want    []string
	}{
		"blocked tools are listed": {want: all},
		"blocked tools can be hidden": {
			change: func(d *registry.Document) { d.Policy.Gating.HideBlocked = true }, want: []string{"append", "odd", "odd_result", "read_file", "sum"},
		},
		"a trusted server hides nothing": {
			change: func(d *registry.Document) { d.Policy.Gating.HideBlocked = true }, trusted: true, want: all,
		},
		"withheld and changed tools are not listed": {
			change: func(d *registry.Document) {
				entry(d, "append").Withheld = "Disabled"
				entry(d, "odd").Digest, entry(d, "odd_result").Digest = "", ""
				entry(d, "run").Digest = "v1:sha256:" + strings.Repeat("1", 64)
			},
			want: []string{"read_file", "sum", "write_file"},
		},
		"where nothing is pinned, what is not known to keep its contract is not listed": {
			change: func(d *registry.Document) {
				d.Policy.Discovery.PinningOff = true
				entry(d, "append").Digest, entry(d, "append").Digests = "", []string{"v1:sha256:x"}
				entry(d, "odd").Digest, entry(d, "odd").Digests = "", []string{entry(d, "odd").Digest}
				entry(d, "run").Digest = ""
			},
			want: []string{"odd", "odd_result", "read_file", "run", "sum", "write_file"},
		},
		"nothing is listed where tools are not exposed": {change: func(d *registry.Document) { d.Policy.Expose.Tools = false }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, names(engine(t, view, tc.change), tc.trusted)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestListingTellsEffectiveAnnotations(t *testing.T) {
	withTask := `{"vendor":{"x":9007199254740993},"name":"t","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional","k":1}}`
	view := listing(t, readTool, withTask)
	e := engine(t, view, func(d *registry.Document) {
		entry(d, "read_file").Hints = &registry.Hints{Destructive: ptr(true), ReadOnly: ptr(false)}
	})
	got := map[string]string{}
	for _, l := range e.Listing(view, true) {
		got[l.Tool.Name] = string(l.Definition)
	}
	if want := `"annotations":{"readOnlyHint":false,"destructiveHint":true}`; !strings.Contains(got["read_file"], want) {
		t.Errorf("got %s, want it to contain %s", got["read_file"], want)
	}
	want := `{"vendor":{"x":9007199254740993},"name":"t","inputSchema":{"type":"object"},"execution":{"k":1}}`
	if got["t"] != want {
		t.Errorf("got %s, want %s: every other byte as it was", got["t"], want)
	}
}
