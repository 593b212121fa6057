// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// keptRevisions are remembered after their last pod has gone, so that going back to one is not a new first use.
const keptRevisions = 10

// revisions records each revision's first catalogue. It is written before anything is pinned out of it, and never changed:
// whatever the server lists later in the same revision is drift. The order is that of the first catalogues, then that of first
// sight: the first revision of all is known for good, because with Strict pinning nothing but its first catalogue is admitted.
func revisions(recorded []mcpv1alpha1.RevisionStatus, current string, pods []Pod) []mcpv1alpha1.RevisionStatus {
	out := slices.Clone(recorded)
	index := func(name string) int {
		return slices.IndexFunc(out, func(r mcpv1alpha1.RevisionStatus) bool { return r.Name == name })
	}
	live := map[string]bool{current: true}
	if current != "" && index(current) < 0 {
		out = append(out, mcpv1alpha1.RevisionStatus{Name: current})
	}
	for i := range pods {
		name := pods[i].Revision()
		if name == "" {
			continue
		}
		live[name] = true
		if index(name) < 0 {
			out = append(out, mcpv1alpha1.RevisionStatus{Name: name})
		}
	}
	out = record(out, pods)
	for excess := len(out) - keptRevisions; excess > 0; excess-- {
		oldest := slices.IndexFunc(out[1:], func(r mcpv1alpha1.RevisionStatus) bool { return !live[r.Name] }) + 1
		if oldest < 1 {
			break
		}
		out = slices.Delete(out, oldest, oldest+1)
	}
	return out
}

// record notes first catalogues that have been read now, behind those that were there before.
func record(revisions []mcpv1alpha1.RevisionStatus, pods []Pod) []mcpv1alpha1.RevisionStatus {
	var before, now, none []mcpv1alpha1.RevisionStatus
	for _, r := range revisions {
		if r.FirstCatalogueDigest != "" {
			before = append(before, r)
			continue
		}
		if r.FirstCatalogueDigest = leastCatalogue(r.Name, pods); r.FirstCatalogueDigest != "" {
			now = append(now, r)
		} else {
			none = append(none, r)
		}
	}
	return slices.Concat(before, now, none)
}

// leastCatalogue takes one of several first catalogues that are seen at once, whichever pod answered first.
func leastCatalogue(revision string, pods []Pod) string {
	least := ""
	for i := range pods {
		cat := pods[i].catalogue()
		if pods[i].Revision() == revision && cat != nil && (least == "" || cat.Digest < least) {
			least = cat.Digest
		}
	}
	return least
}
