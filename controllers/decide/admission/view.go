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
	// sessions are what clients' sessions list beside them, by revision and name.
	sessions map[string]map[string][]registry.ObservedTool
	// names are all tools that any pod lists, sorted, and discovered those of whole catalogues.
	names      []string
	discovered map[string]bool
	// first is the recorded first catalogue of each revision.
	first map[string]string
	// kept are first catalogues that are remembered.
	kept Firsts
	// founding is the revision whose catalogue was recorded first of all.
	founding string
	// unread says that some pod has not told its catalogue, and unheard of which revisions one could have and has not been asked.
	unread  bool
	unheard map[string]bool
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
	// Sessions are definitions that clients' sessions list there and the catalogue does not have. Nothing is pinned out of them.
	Sessions []registry.ObservedTool
	// Unheard says that the pod has not been asked yet, and could tell.
	Unheard bool
	// Serves says that calls reach the pod.
	Serves bool
}

// NewView looks at what the pods of a server list; s is nil where the server is gone.
func NewView(s *mcpv1alpha1.MCPServer, current string, pods []Listing) *View {
	v := &View{Judged: current, listings: map[string][]listed{}, sessions: map[string]map[string][]registry.ObservedTool{},
		discovered: map[string]bool{}, first: map[string]string{}, unheard: map[string]bool{}}
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
			v.unheard[pod.Revision] = v.unheard[pod.Revision] || pod.Unheard
			continue
		}
		v.add(pod)
	}
	names := maps.Clone(v.discovered)
	for _, tools := range v.sessions {
		for name := range tools {
			names[name] = true
		}
	}
	v.names = slices.Sorted(maps.Keys(names))
	v.Judged = v.judged(current, serves)
	return v
}

// add adds what a pod has told.
func (v *View) add(pod Listing) {
	cat := byName(pod.Catalogue)
	v.listings[pod.Revision] = append(v.listings[pod.Revision], cat)
	for name := range cat.tools {
		v.discovered[name] = true
	}
	if len(pod.Sessions) == 0 {
		return
	}
	of := v.sessions[pod.Revision]
	if of == nil {
		of = map[string][]registry.ObservedTool{}
		v.sessions[pod.Revision] = of
	}
	for _, t := range pod.Sessions {
		of[t.Name] = append(of[t.Name], t)
	}
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

// Names are all tools that any pod lists, be it in sessions alone, sorted.
func (v *View) Names() []string { return v.names }

// Discovers says whether any pod lists a tool in its catalogue, and not in sessions alone.
func (v *View) Discovers(name string) bool { return v.discovered[name] }

// Lists says whether any pod lists a tool, be it in sessions alone.
func (v *View) Lists(name string) bool {
	_, found := slices.BinarySearch(v.names, name)
	return found
}

// Recorded says whether the first catalogue of the judged revision is recorded.
func (v *View) Recorded() bool { return v.first[v.Judged] != "" }

// definitions are all different definitions of a tool, whoever lists them, by digest.
func (v *View) definitions(name string) map[string]registry.ObservedTool {
	out := v.discoveredDefinitions(name)
	for _, tools := range v.sessions {
		for _, t := range tools[name] {
			out[t.Digest] = t
		}
	}
	return out
}

// discoveredDefinitions are those that catalogues have, whichever revision lists them: what nothing but sessions list is not served
// for being listed.
func (v *View) discoveredDefinitions(name string) map[string]registry.ObservedTool {
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

// InSessions are the different definitions of a tool that clients' sessions list in the judged revision, and no catalogue there has,
// sorted by digest.
func (v *View) InSessions(name string) []registry.ObservedTool {
	if len(v.sessions[v.Judged][name]) == 0 {
		return nil
	}
	defs, _ := v.Variants(name)
	byDigest := map[string]registry.ObservedTool{}
	for _, t := range v.sessions[v.Judged][name] {
		byDigest[t.Digest] = t
	}
	for _, t := range defs {
		delete(byDigest, t.Digest)
	}
	return sorted(byDigest)
}

func sorted(byDigest map[string]registry.ObservedTool) (defs []registry.ObservedTool) {
	for _, digest := range slices.Sorted(maps.Keys(byDigest)) {
		defs = append(defs, byDigest[digest])
	}
	return defs
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
	return sorted(byDigest), twice
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
