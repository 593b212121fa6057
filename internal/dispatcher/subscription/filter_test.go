// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/dispatcher/policy"
)

// list is a filter with n resources, each of them named times times.
func list(n, times int) string {
	var uris []string
	for range times {
		for i := range n {
			uris = append(uris, fmt.Sprintf(`"file:///%d"`, i))
		}
	}
	return `{"resourceSubscriptions":[` + strings.Join(uris, ",") + `]}`
}

func TestParseFilter(t *testing.T) {
	const resources = "/notifications/resourceSubscriptions"
	for name, tc := range map[string]struct {
		raw      string
		want     Filter
		wantPath string // of the refusal
	}{
		"everything": {
			raw:  `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["file:///a"]}`,
			want: Filter{Tools: true, Prompts: true, Resources: true, URIs: []string{"file:///a"}},
		},
		"nothing":                            {raw: `{}`},
		"false is the same as not there":     {raw: `{"toolsListChanged":false,"promptsListChanged":true}`, want: Filter{Prompts: true}},
		"what nobody knows is left out":      {raw: `{"tasksListChanged":7,"toolsListChanged":true}`, want: Filter{Tools: true}},
		"an empty list names nothing":        {raw: `{"resourceSubscriptions":[]}`},
		"a resource named twice is one":      {raw: `{"resourceSubscriptions":["a","b","a"]}`, want: Filter{URIs: []string{"a", "b"}}},
		"escapes are no other resource":      {raw: `{"resourceSubscriptions":["a","\u0061"]}`, want: Filter{URIs: []string{"a"}}},
		"there is no filter":                 {raw: ``, wantPath: "/notifications"},
		"the filter is null":                 {raw: `null`, wantPath: "/notifications"},
		"the filter is a list":               {raw: `["toolsListChanged"]`, wantPath: "/notifications"},
		"a flag is a text":                   {raw: `{"toolsListChanged":"true"}`, wantPath: "/notifications/toolsListChanged"},
		"a flag is null":                     {raw: `{"promptsListChanged":null}`, wantPath: "/notifications/promptsListChanged"},
		"a flag is a number":                 {raw: `{"resourcesListChanged":1}`, wantPath: "/notifications/resourcesListChanged"},
		"the resources are one text":         {raw: `{"resourceSubscriptions":"file:///a"}`, wantPath: resources},
		"the resources are null":             {raw: `{"resourceSubscriptions":null}`, wantPath: resources},
		"the resources are an object":        {raw: `{"resourceSubscriptions":{"0":"file:///a"}}`, wantPath: resources},
		"a resource is a number":             {raw: `{"resourceSubscriptions":["a",1]}`, wantPath: resources},
		"a resource is null":                 {raw: `{"resourceSubscriptions":[null]}`, wantPath: resources},
		"a resource is empty":                {raw: `{"resourceSubscriptions":["a",""]}`, wantPath: resources},
		"one resource too many":              {raw: list(257, 1), wantPath: resources},
		"resources named twice count as one": {raw: list(1, 300), want: Filter{URIs: []string{"file:///0"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, refusal := ParseFilter([]byte(tc.raw))
			if tc.wantPath == "" {
				if refusal != nil {
					t.Fatalf("refused: %+v", refusal)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("the filter (-want +got):\n%s", diff)
				}
				return
			}
			if refusal == nil {
				t.Fatalf("accepted as %+v", got)
			}
			if refusal.Path != tc.wantPath || refusal.Kind != policy.InvalidParams || refusal.Message == "" {
				t.Errorf("got %+v, want InvalidParams at %s", refusal, tc.wantPath)
			}
		})
	}
}

// As many resources as are allowed are taken, all of them, in their order.
func TestParseFilterTakesAsManyResourcesAsItSays(t *testing.T) {
	got, refusal := ParseFilter([]byte(list(256, 2)))
	if refusal != nil {
		t.Fatalf("refused: %+v", refusal)
	}
	if len(got.URIs) != 256 || got.URIs[0] != "file:///0" || got.URIs[255] != "file:///255" {
		t.Errorf("%d resources", len(got.URIs))
	}
}

// A client hears of nothing that it was not offered.
func TestWithin(t *testing.T) {
	all := Filter{Tools: true, Prompts: true, Resources: true, URIs: []string{"a"}}
	for name, tc := range map[string]struct {
		filter       Filter
		capabilities string
		want         Filter
	}{
		"everything is offered": {
			filter: all, want: all,
			capabilities: `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true}}`,
		},
		"what is offered is not asked for": {
			capabilities: `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true}}`,
		},
		"nothing is offered":                           {filter: all, capabilities: `{}`},
		"no capabilities are known":                    {filter: all},
		"tools without changes":                        {filter: all, capabilities: `{"tools":{}}`},
		"tools alone":                                  {filter: all, capabilities: `{"tools":{"listChanged":true}}`, want: Filter{Tools: true}},
		"prompts alone":                                {filter: all, capabilities: `{"prompts":{"listChanged":true}}`, want: Filter{Prompts: true}},
		"the list of resources, and not their updates": {filter: all, capabilities: `{"resources":{"listChanged":true}}`, want: Filter{Resources: true}},
		"updates of resources, and not their list":     {filter: all, capabilities: `{"resources":{"subscribe":true}}`, want: Filter{URIs: []string{"a"}}},
		"offered in so many words":                     {filter: all, capabilities: `{"tools":{"listChanged":false},"resources":{"subscribe":false}}`},
		"an offer that is no word":                     {filter: all, capabilities: `{"tools":{"listChanged":"true"},"prompts":true,"resources":{"subscribe":1}}`},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.filter.Within([]byte(tc.capabilities))); diff != "" {
				t.Errorf("what is left (-want +got):\n%s", diff)
			}
		})
	}
}
