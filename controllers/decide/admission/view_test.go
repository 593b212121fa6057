// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/registry"
)

// recorded is a server that remembers the first catalogues of its revisions, oldest first.
func recorded(revisions ...string) *mcpv1alpha1.MCPServer {
	s := &mcpv1alpha1.MCPServer{}
	for _, name := range revisions {
		s.Status.Revisions = append(s.Status.Revisions, mcpv1alpha1.RevisionStatus{Name: name, FirstCatalogueDigest: "first-of-" + name})
	}
	return s
}

// lists is a pod that lists tools, each as name and digest.
func lists(revision, catalogue string, tools ...string) Listing {
	l := Listing{Revision: revision, Catalogue: &registry.Catalogue{Digest: catalogue}}
	for i := 0; i < len(tools); i += 2 {
		l.Catalogue.Tools = append(l.Catalogue.Tools, registry.ObservedTool{Name: tools[i], Digest: tools[i+1]})
	}
	return l
}

// inSessions adds tools that clients' sessions list in a pod, likewise.
func inSessions(l Listing, tools ...string) Listing {
	l.Sessions = lists("", "", tools...).Catalogue.Tools
	return l
}

// serving is such a pod behind the Service.
func serving(l Listing) Listing {
	l.Serves = true
	return l
}

func TestView(t *testing.T) {
	type want struct {
		Judged                                string
		Names                                 []string
		Known, Complete, Recorded, Unrecorded bool
	}
	silent := Listing{Revision: "r2"}
	cases := map[string]struct {
		server *mcpv1alpha1.MCPServer
		pods   []Listing
		want   want
	}{
		"no pods": {recorded(), nil, want{Judged: "r2"}},
		"a pod that has told nothing yet": {recorded(), []Listing{silent},
			want{Judged: "r2"}},
		"a first catalogue that is not recorded": {recorded(), []Listing{lists("r2", "c", "a", "1")},
			want{Judged: "r2", Names: []string{"a"}, Known: true, Complete: true, Unrecorded: true}},
		"a rollout whose new pods have told nothing": {recorded("r1"), []Listing{lists("r1", "c", "b", "1", "a", "1"), silent},
			want{Judged: "r1", Names: []string{"a", "b"}, Known: true, Recorded: true}},
		"a rollout whose new pods have told": {recorded("r1", "r2"), []Listing{lists("r1", "c", "a", "1"), lists("r2", "d", "b", "1")},
			want{Judged: "r2", Names: []string{"a", "b"}, Known: true, Complete: true, Recorded: true}},
		"a rollout whose new pods serve": {recorded("r1", "r2"), []Listing{serving(lists("r1", "c", "a", "1")), serving(lists("r2", "d", "b", "1"))},
			want{Judged: "r2", Names: []string{"a", "b"}, Known: true, Complete: true, Recorded: true}},
		"a rollout whose new pods have told and do not serve": {recorded("r1", "r2"), []Listing{serving(lists("r1", "c", "a", "1")), lists("r2", "d", "b", "1")},
			want{Judged: "r1", Names: []string{"a", "b"}, Known: true, Complete: true, Recorded: true}},
		"a rollout of which a manager that has just started knows no more than what does not serve": {
			recorded("r1", "r2"), []Listing{serving(Listing{Revision: "r1"}), lists("r2", "d", "b", "1")},
			want{Judged: "r1", Names: []string{"b"}, Recorded: true}},
		"a rollout whose new pods serve and have told this manager nothing": {
			recorded("r1", "r2"), []Listing{serving(lists("r1", "c", "a", "1")), serving(silent)},
			want{Judged: "r1", Names: []string{"a"}, Known: true, Recorded: true}},
		"a pod that serves and whose revision somebody took off": {recorded("r2"), []Listing{lists("r2", "c", "a", "1"), serving(lists("", "c", "x", "1"))},
			want{Judged: "r2", Names: []string{"a"}, Known: true, Recorded: true}},
		"a pod whose revision somebody took off": {recorded("r2"), []Listing{lists("r2", "c", "a", "1"), lists("", "c", "x", "1")},
			want{Judged: "r2", Names: []string{"a"}, Known: true, Recorded: true}},
		"tools that sessions alone list": {recorded("r1", "r2"), []Listing{
			inSessions(lists("r1", "c", "a", "1"), "old", "1"), serving(inSessions(lists("r2", "c", "a", "1"), "a", "2", "b", "1"))},
			want{Judged: "r2", Names: []string{"a", "b", "old"}, Known: true, Complete: true, Recorded: true}},
		"sessions of a pod that has told no catalogue": {recorded("r2"), []Listing{inSessions(silent, "b", "1")},
			want{Judged: "r2", Recorded: true}},
		"only such a pod": {recorded("r2"), []Listing{lists("", "c", "x", "1")},
			want{Judged: "r2", Recorded: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := NewView(tc.server, "r2", tc.pods)
			got := want{v.Judged, v.Names(), v.Known(), v.Complete(), v.Recorded(), v.Unrecorded()}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestVariants(t *testing.T) {
	v := NewView(recorded("r2"), "r2", []Listing{
		lists("r2", "c", "a", "2", "b", "1"), lists("r2", "d", "a", "1", "b", "1", "b", "1"), lists("r1", "e", "a", "0"),
	})
	for name, want := range map[string]struct {
		digests []string
		twice   bool
	}{
		"a": {[]string{"1", "2"}, false}, // those of another revision do not count
		"b": {[]string{"1"}, true},
		"c": {nil, false},
	} {
		defs, twice := v.Variants(name)
		var digests []string
		for _, d := range defs {
			digests = append(digests, d.Digest)
		}
		if !cmp.Equal(digests, want.digests) || twice != want.twice {
			t.Errorf("%s: got %v, twice %t; want %v", name, digests, twice, want)
		}
	}
}

func TestWhatSessionsAloneList(t *testing.T) {
	v := NewView(recorded("r2"), "r2", []Listing{
		inSessions(lists("r2", "first-of-r2", "a", "1"), "a", "3", "b", "1"), inSessions(lists("r2", "d", "a", "2"), "a", "1", "a", "3", "b", "0"),
		inSessions(lists("r1", "e", "a", "0"), "a", "9", "c", "1"),
	})
	for name, want := range map[string][]string{
		"a": {"3"},      // 1 is what another replica discovers, and those of another revision do not count
		"b": {"0", "1"}, // which no catalogue has
		"c": nil,
	} {
		var digests []string
		for _, d := range v.InSessions(name) {
			digests = append(digests, d.Digest)
		}
		if !cmp.Equal(digests, want) || !v.Lists(name) || v.Discovers(name) != (name == "a") {
			t.Errorf("%s: got %v, want %v; discovered %t", name, digests, want, v.Discovers(name))
		}
	}
	if got := v.firstDigest("r2", "b"); got != "" {
		t.Errorf("%s is pinned out of a session", got)
	}
}

func TestWhatMayNotHaveBeenTold(t *testing.T) {
	told := lists("r2", "c", "a", "1")
	for name, tc := range map[string]struct {
		pods []Listing
		of   string
		want bool
	}{
		"all pods have told":                      {[]Listing{told}, "r2", false},
		"a pod has not been asked":                {[]Listing{told, {Revision: "r2", Unheard: true}, {Revision: "r2"}}, "r2", true},
		"which tells nothing of another revision": {[]Listing{told, {Revision: "r2", Unheard: true}}, "r1", false},
		"a pod that could not tell":               {[]Listing{told, {Revision: "r2"}}, "r2", false},
		"a pod of another revision":               {[]Listing{told, {Revision: "r1", Unheard: true}}, "r2", false},
	} {
		t.Run(name, func(t *testing.T) {
			tool := Tool{View: NewView(recorded("r2"), "r2", tc.pods)}
			if got := tool.Untold(&mcpv1alpha1.ObservedTool{Revision: tc.of}); got != tc.want || tool.Untold(nil) {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}

// A tool is pinned out of the very catalogue that was recorded first, listed or remembered, and out of no other: what is added later
// waits for a person.
func TestFirstDigest(t *testing.T) {
	v := NewView(recorded("r1", "r2"), "r2", []Listing{
		lists("r2", "first-of-r2", "a", "1", "twice", "1", "twice", "2"), lists("r2", "later", "a", "2", "new", "1"), lists("r1", "later", "a", "3"),
	})
	v.Recall(Firsts{"first-of-r1": {"a": "0", "twice": ""}, "later": {"a": "3", "new": "1"}, "first-of-r2": {"new": "1"}})
	for _, tc := range []struct{ revision, tool, want string }{
		{"r1", "a", "0"}, {"r1", "new", ""}, {"r1", "twice", ""},
		{"r2", "a", "1"}, {"r2", "new", ""}, {"r2", "twice", ""}, {"r3", "a", ""},
	} {
		if got := v.firstDigest(tc.revision, tc.tool); got != tc.want {
			t.Errorf("%s of %s: got %q, want %q", tc.tool, tc.revision, got, tc.want)
		}
	}
}
