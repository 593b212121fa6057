// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/catalog"
)

func TestAdmits(t *testing.T) {
	for name, tc := range map[string]struct {
		tool   Tool
		digest string
		off    bool
		want   bool
	}{
		"the admitted definition":                      {tool: Tool{Digest: "a"}, digest: "a", want: true},
		"another one":                                  {tool: Tool{Digest: "a"}, digest: "b"},
		"another one, where only some are pinned":      {tool: Tool{Digest: "a"}, digest: "b", off: true},
		"any, where none is admitted":                  {digest: "a"},
		"any, where nobody pins":                       {digest: "a", off: true, want: true},
		"one of those that may be served":              {tool: Tool{Digests: []string{"a", "b"}}, digest: "b", off: true, want: true},
		"none of those that may be served":             {tool: Tool{Digests: []string{"a", "b"}}, digest: "c", off: true},
		"one that might, where nothing is off":         {tool: Tool{Digests: []string{"a"}}, digest: "a"},
		"one without a digest, where none is admitted": {},
	} {
		t.Run(name, func(t *testing.T) {
			p := &Policy{Discovery: Discovery{PinningOff: tc.off}}
			if got := tc.tool.Admits(tc.digest, p); got != tc.want {
				t.Errorf("Admits(%q) = %v, want %v", tc.digest, got, tc.want)
			}
		})
	}
}

func TestOverrides(t *testing.T) {
	yes, no := new(true), new(false)
	if diff := cmp.Diff(catalog.Hints{}, (*Hints)(nil).Overrides()); diff != "" {
		t.Errorf("of none (-want +got):\n%s", diff)
	}
	got := (&Hints{ReadOnly: yes, Destructive: no, OpenWorld: no}).Overrides()
	if diff := cmp.Diff(catalog.Hints{ReadOnly: yes, Destructive: no, OpenWorld: no}, got); diff != "" {
		t.Errorf("overrides (-want +got):\n%s", diff)
	}
}

func TestEnded(t *testing.T) {
	at := time.Unix(1000, 0)
	for name, tc := range map[string]struct {
		ends int64
		want bool
	}{
		"never":            {},
		"a second later":   {ends: 1001},
		"now":              {ends: 1000, want: true},
		"a second earlier": {ends: 999, want: true},
	} {
		if got := (Trust{Trusted: true, ExpiresAt: tc.ends}).Ended(at); got != tc.want {
			t.Errorf("%s: Ended = %v, want %v", name, got, tc.want)
		}
	}
}
