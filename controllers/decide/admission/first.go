// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/registry"
)

// Firsts are first catalogues of a server, by their digests: of each the digests of its tools, by name, "" for one that it has twice.
//
// A server may list something else by the time that its first catalogue is recorded. What was in that is admitted nevertheless, as long
// as a manager remembers it; which catalogue counts, the record alone says.
type Firsts map[string]map[string]string

// Keep gives the catalogues that are recorded, out of those that were kept before and those that are listed now. f stays as it is.
func (f Firsts) Keep(recorded []mcpv1alpha1.RevisionStatus, listed []*registry.Catalogue) Firsts {
	out := Firsts{}
	for _, r := range recorded {
		if tools, known := f[r.FirstCatalogueDigest]; known {
			out[r.FirstCatalogueDigest] = tools
			continue
		}
		for _, cat := range listed {
			if cat.Digest != "" && cat.Digest == r.FirstCatalogueDigest {
				out[cat.Digest] = digests(cat)
				break
			}
		}
	}
	return out
}

func digests(cat *registry.Catalogue) map[string]string {
	out := make(map[string]string, len(cat.Tools))
	for _, t := range cat.Tools {
		if _, twice := out[t.Name]; twice {
			t.Digest = ""
		}
		out[t.Name] = t.Digest
	}
	return out
}

// Recall gives a view the first catalogues that are remembered. Nobody may write to them any more.
func (v *View) Recall(f Firsts) *View {
	v.kept = f
	return v
}

// inFirst finds a tool in the first catalogue of a revision: its digest, "" where that catalogue has it twice, for nobody can say which
// of the two is meant; and whether it has it at all. The catalogue is known where a pod still lists exactly that, or it is remembered.
func (v *View) inFirst(revision, name string) (digest string, has, known bool) {
	first := v.first[revision]
	if first == "" {
		return "", false, false
	}
	for _, cat := range v.listings[revision] {
		if cat.digest != first {
			continue
		}
		if defs := cat.tools[name]; len(defs) == 1 {
			return defs[0].Digest, true, true
		}
		return "", len(cat.tools[name]) > 0, true
	}
	tools, known := v.kept[first]
	digest, has = tools[name]
	return digest, has, known
}

// firstDigest is the digest of a tool in the first catalogue of a revision, as far as that is known; else "".
func (v *View) firstDigest(revision, name string) string {
	digest, _, _ := v.inFirst(revision, name)
	return digest
}
