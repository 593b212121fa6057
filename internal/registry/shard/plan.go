// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"toolgate.dev/toolgate/internal/registry"
)

// Plan is a document on its way into files, before anybody said under which sequence. It is safe for concurrent use, and nobody
// may write to what it was made of.
type Plan struct {
	// doc is sorted, with Sequence 0; it is what the files say.
	doc     *registry.Document
	content string
	// size is that of the document in one piece.
	size int
	// cuts are the shards, or why there can be none. They are made when they are first asked for.
	cuts func() ([]cut, error)
	// tooLarge says that doc stands for one that does not fit.
	tooLarge *TooLargeError
}

// cut is one shard.
type cut struct {
	ref  ref
	data []byte
}

// TooLargeError says that a document does not fit even into shards.
type TooLargeError struct {
	// What is too large, and by how much.
	What        string
	Size, Limit int
	Tools, Sets int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the registry document (tools in all revisions: %d, RuleSets: %d) does not fit into its ConfigMaps: %s has %d bytes of at most %d; every call is refused until it fits: shorten rules, or split the server",
		e.Tools, e.Sets, e.What, e.Size, e.Limit)
}

// NewPlan makes the plan of a document; its sequence does not count. A document that no dispatcher would read is an error. One
// that does not fit gives a plan that denies everything (TooLarge).
func NewPlan(doc *registry.Document) (*Plan, error) {
	p, err := planOf(doc)
	if err != nil || p.size <= splitBytes {
		return p, err
	}
	_, err = p.cuts()
	var large *TooLargeError
	if !errors.As(err, &large) {
		return p, err
	}
	shut, err := planOf(closed(p.doc))
	if err != nil {
		return nil, err
	}
	shut.tooLarge = large
	return shut, nil
}

func planOf(doc *registry.Document) (*Plan, error) {
	p := &Plan{doc: doc.Sorted()}
	p.doc.Sequence = 0
	data, digest, err := p.doc.Encode()
	if err != nil {
		return nil, err
	}
	p.content, p.size = digest, textSize(data)
	p.cuts = sync.OnceValues(p.cut)
	return p, nil
}

// Content names what the document says, whatever its sequence and however it is cut.
func (p *Plan) Content() string { return p.content }

// TooLarge says why the files deny everything; nil where they hold the document itself.
func (p *Plan) TooLarge() *TooLargeError { return p.tooLarge }

// Form is what the files must take into account beside the document.
type Form struct {
	// Split says that the document stands in shards now; a little smaller than one that would be cut, it goes on to.
	Split bool
	// WholeReaders says that a dispatcher reads documents of one piece alone, ShardReaders that one reads none of them.
	WholeReaders, ShardReaders bool
}

// Files gives the document under a sequence. There always is one of one piece; where the document is too large for that, it
// denies everything, to dispatchers that read no other, beside the root and shards for all others.
func (p *Plan) Files(sequence int64, form Form) (Files, error) {
	large := p.size > splitBytes || form.Split && p.size > mergeBytes
	files := Files{}
	if large || form.ShardReaders {
		cuts, err := p.cuts()
		if err != nil {
			return nil, err
		}
		for _, c := range cuts {
			files[c.ref.File] = c.data
		}
		if files[RootFile], err = text(p.root(sequence, cuts)); err != nil {
			return nil, err
		}
	}
	whole := *p.doc
	if large && (!form.WholeReaders || p.size > wholeBytes) {
		whole = *closed(p.doc)
	}
	whole.Sequence = sequence
	var err error
	files[registry.FileName], _, err = whole.Encode()
	return files, err
}

// closed denies everything: it admits no tool and exposes no other part of MCP. Rules are not needed where nothing passes.
func closed(d *registry.Document) *registry.Document {
	out := &registry.Document{
		Version: d.Version, Sequence: d.Sequence, Server: d.Server, Upstream: d.Upstream, Telemetry: d.Telemetry,
		Policy: registry.Policy{
			TimeoutSeconds: d.Policy.TimeoutSeconds,
			Limits:         d.Policy.Limits, Health: d.Policy.Health,
			Discovery: registry.Discovery{TTLSeconds: d.Policy.Discovery.TTLSeconds},
			Trust:     registry.Trust{MaxStalenessSeconds: d.Policy.Trust.MaxStalenessSeconds},
		},
		Revisions: map[string]registry.Revision{},
	}
	out.Server.Description, out.Server.Capabilities = "", nil
	for name := range d.Revisions {
		out.Revisions[name] = registry.Revision{Tools: []registry.Tool{}}
	}
	return out
}

// cut makes the shards that hold something. The error is a *TooLargeError where that can't be done.
func (p *Plan) cut() ([]cut, error) {
	var cuts []cut
	for i, part := range p.divide() {
		if len(part.Tools) == 0 && len(part.RuleSets) == 0 {
			continue
		}
		plain, err := text(part)
		if err != nil {
			return nil, err
		}
		if len(plain) > plainBytes {
			return nil, p.refuse(fmt.Sprintf("shard %d before compression", i), len(plain), plainBytes)
		}
		data, err := Compress(plain)
		if err != nil {
			return nil, err
		}
		if size := binarySize(data); size > shardBytes {
			return nil, p.refuse(fmt.Sprintf("shard %d", i), size, shardBytes)
		}
		cuts = append(cuts, cut{ref{File(i), registry.Digest(plain)}, data})
	}
	data, err := text(p.root(0, cuts))
	if err != nil {
		return nil, err
	}
	if size := textSize(data); size > rootBytes {
		return nil, p.refuse("what is neither tool nor RuleSet", size, rootBytes)
	}
	return cuts, nil
}

func (p *Plan) refuse(what string, size, limit int) error {
	tools := 0
	for _, rev := range p.doc.Revisions {
		tools += len(rev.Tools)
	}
	return &TooLargeError{What: what, Size: size, Limit: limit, Tools: tools, Sets: len(p.doc.RuleSets)}
}

// divide gives every tool and every set to the shard of its name.
func (p *Plan) divide() []part {
	parts := make([]part, Count)
	for i := range parts {
		parts[i].Version = registry.VersionSharded
	}
	for _, revision := range slices.Sorted(maps.Keys(p.doc.Revisions)) {
		for _, tool := range p.doc.Revisions[revision].Tools {
			part := &parts[Of("tool/"+tool.Name, Count)]
			part.Tools = append(part.Tools, entry{[]string{revision}, tool})
		}
	}
	for i := range parts {
		parts[i].Tools = joined(parts[i].Tools)
	}
	for _, set := range p.doc.RuleSets {
		part := &parts[Of("ruleSet/"+set.Name, Count)]
		part.RuleSets = append(part.RuleSets, set)
	}
	return parts
}

// joined makes one entry of equal tools of several revisions, sorted by name and first revision.
func joined(entries []entry) []entry {
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.Tool.Name, b.Tool.Name) })
	out := entries[:0]
	first := 0 // the first entry of out with the name at hand
	for _, e := range entries {
		if len(out) > 0 && out[first].Tool.Name != e.Tool.Name {
			first = len(out)
		}
		if i := slices.IndexFunc(out[first:], func(o entry) bool { return reflect.DeepEqual(o.Tool, e.Tool) }); i >= 0 {
			out[first+i].Revisions = append(out[first+i].Revisions, e.Revisions...)
			continue
		}
		out = append(out, e)
	}
	return out
}

func (p *Plan) root(sequence int64, cuts []cut) root {
	r := root{
		Version: registry.VersionSharded, Sequence: sequence,
		Server: p.doc.Server, Upstream: p.doc.Upstream, Policy: p.doc.Policy, Telemetry: p.doc.Telemetry, DomainModel: p.doc.DomainModel,
		Revisions: slices.AppendSeq([]string{}, maps.Keys(p.doc.Revisions)), Shards: []ref{},
	}
	slices.Sort(r.Revisions)
	for _, c := range cuts {
		r.Shards = append(r.Shards, c.ref)
	}
	return r
}
