// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"toolgate.dev/toolgate/internal/rules"
)

// Snapshot is a document as one revision's dispatcher enforces it. It is immutable and safe for concurrent use: nobody may
// write to what its methods give.
type Snapshot struct {
	doc    *Document
	digest string
	known  bool
	tools  []*Tool
	byName map[string]*Tool
	sets   func() []*rules.Compiled
}

// Compile makes the snapshot of one revision. A revision that the document does not name has no tools, so every call of
// its dispatchers is refused. A rule set that does not compile denies what it governs (rules.Compile); only a document that
// Validate refuses is an error. The snapshot takes d over, and puts the usual numbers where its policy says none: the caller must
// not write to it afterwards.
//
// Rule sets are compiled beside whoever goes on with the snapshot, and RuleSets waits for them: the server starts meanwhile.
func Compile(d *Document, digest string, revision string) (*Snapshot, error) {
	if err := d.Validate(); err != nil {
		return nil, fmt.Errorf("compiling registry document: %w", err)
	}
	d.Policy.fill()
	rev, known := d.Revisions[revision]
	s := &Snapshot{doc: d, digest: digest, known: known, byName: make(map[string]*Tool, len(rev.Tools))}
	for i := range rev.Tools {
		t := &rev.Tools[i]
		s.tools = append(s.tools, t)
		s.byName[t.Name] = t
	}
	slices.SortFunc(s.tools, func(a, b *Tool) int { return cmp.Compare(a.Name, b.Name) })
	s.sets = sync.OnceValue(func() []*rules.Compiled {
		sets := make([]*rules.Compiled, len(d.RuleSets))
		for i, set := range d.RuleSets {
			sets[i], _ = rules.Compile(set)
		}
		return sets
	})
	if len(d.RuleSets) > 0 {
		go s.sets()
	}
	return s, nil
}

// Document is what the snapshot was made of.
func (s *Snapshot) Document() *Document { return s.doc }

// Digest is the document's digest, as Encode gave it.
func (s *Snapshot) Digest() string { return s.digest }

// Known says whether the document names the snapshot's revision. Readiness waits for it.
func (s *Snapshot) Known() bool { return s.known }

// Tool is one tool of the snapshot's own revision, by its true name, compared byte for byte.
func (s *Snapshot) Tool(name string) (*Tool, bool) {
	t, ok := s.byName[name]
	return t, ok
}

// Tools are the tools of the snapshot's own revision, sorted by name.
func (s *Snapshot) Tools() []*Tool { return s.tools }

// RuleSets are the document's sets, compiled.
func (s *Snapshot) RuleSets() []*rules.Compiled { return s.sets() }
