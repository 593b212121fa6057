// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"maps"
	"slices"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/registry"
)

// View is what the pods of a server list, all replicas and revisions together.
type View struct {
	// Judged is the revision by which tools are judged: one whose pods serve, the spec's before any other.
	Judged string
	// listings are whole catalogues, by revision.
	listings map[string][]listed
	// names are all tools that any pod lists, sorted.
	names []string
	// first is the recorded first catalogue of each revision.
	first map[string]string
	// kept are first catalogues that are remembered.
	kept Firsts
	// founding is the revision whose catalogue was recorded first of all.
	founding string
	// unread says that some pod has not told its catalogue.
	unread bool
}

// listed is a catalogue, found by name: each tool of thousands asks several times.
type listed struct {
	digest string
	// tools are the definitions of each name: more than one where the server lists it twice.
	tools map[string][]*registry.ObservedTool
}

func byName(c *registry.Catalogue) listed {
	out := listed{digest: c.Digest, tools: make(map[string][]*registry.ObservedTool, len(c.Tools))}
	for i := range c.Tools {
		t := &c.Tools[i]
		out.tools[t.Name] = append(out.tools[t.Name], t)
	}
	return out
}

// Listing is what one pod lists. A nil catalogue has not been told yet; of a pod without a revision, whose label somebody has taken
// off, nobody can say by which pins its tools are judged.
type Listing struct {
	Revision  string
	Catalogue *registry.Catalogue
	// Serves says that calls reach the pod.
	Serves bool
}

// NewView looks at what the pods of a server list; s is nil where the server is gone.
func NewView(s *mcpv1alpha1.MCPServer, current string, pods []Listing) *View {
	v := &View{Judged: current, listings: map[string][]listed{}, first: map[string]string{}}
	if s != nil {
		for _, r := range s.Status.Revisions {
			v.first[r.Name] = r.FirstCatalogueDigest
			if v.founding == "" && r.FirstCatalogueDigest != "" {
				v.founding = r.Name
			}
		}
	}
	serves := map[string]bool{}
	for _, pod := range pods {
		if pod.Serves && pod.Revision != "" {
			serves[pod.Revision] = true
		}
		if pod.Catalogue == nil || pod.Revision == "" {
			v.unread = true
			continue
		}
		v.listings[pod.Revision] = append(v.listings[pod.Revision], byName(pod.Catalogue))
	}
	names := map[string]bool{}
	for _, cats := range v.listings {
		for _, cat := range cats {
			for name := range cat.tools {
				names[name] = true
			}
		}
	}
	v.names = slices.Sorted(maps.Keys(names))
	v.Judged = v.judged(current, serves)
	return v
}

// judged picks a revision: what clients meet counts before what the spec asks for, and what has listed its tools before what has not.
// A new revision that never gets ready says nothing of the tools that the old one serves.
func (v *View) judged(current string, serves map[string]bool) string {
	serving, told := slices.Sorted(maps.Keys(serves)), slices.Sorted(maps.Keys(v.listings))
	both := slices.DeleteFunc(slices.Clone(serving), func(r string) bool { return len(v.listings[r]) == 0 })
	for _, revisions := range [][]string{both, serving, told} {
		switch {
		case slices.Contains(revisions, current):
			return current
		case len(revisions) > 0:
			return revisions[0]
		}
	}
	return current
}

// Known says whether the catalogue by which tools are judged is known. Where it is not, no tool may be called gone.
func (v *View) Known() bool { return len(v.listings[v.Judged]) > 0 }

// Complete says whether every pod has told its catalogue.
func (v *View) Complete() bool { return len(v.listings) > 0 && !v.unread }

// Names are all tools that any pod lists, sorted.
func (v *View) Names() []string { return v.names }

// Lists says whether any pod lists a tool.
func (v *View) Lists(name string) bool {
	_, found := slices.BinarySearch(v.names, name)
	return found
}

// Recorded says whether the first catalogue of the judged revision is recorded.
func (v *View) Recorded() bool { return v.first[v.Judged] != "" }

// definitions are all different definitions of a tool, whichever revision lists them, by digest.
func (v *View) definitions(name string) map[string]registry.ObservedTool {
	out := map[string]registry.ObservedTool{}
	for _, cats := range v.listings {
		for _, cat := range cats {
			for _, t := range cat.tools[name] {
				out[t.Digest] = *t
			}
		}
	}
	return out
}

// Variants are the different definitions of a tool in the judged revision, sorted by digest, and whether one catalogue has
// it twice.
func (v *View) Variants(name string) (defs []registry.ObservedTool, twice bool) {
	byDigest := map[string]registry.ObservedTool{}
	for _, cat := range v.listings[v.Judged] {
		for _, t := range cat.tools[name] {
			byDigest[t.Digest] = *t
		}
		twice = twice || len(cat.tools[name]) > 1
	}
	for _, digest := range slices.Sorted(maps.Keys(byDigest)) {
		defs = append(defs, byDigest[digest])
	}
	return defs, twice
}

// Unrecorded says that a revision lists tools of which the first catalogue is not recorded yet.
func (v *View) Unrecorded() bool {
	for name := range v.listings {
		if v.first[name] == "" {
			return true
		}
	}
	return false
}
