// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
)

// IncompleteError says that a shard is not the one that the root names: the two are on their way. The same files may be complete
// a moment later.
type IncompleteError struct {
	File, Why string
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("registry document: %s %s; the document is complete when all its files are of one generation", e.File, e.Why)
}

// Decode reads the document that begins with a root or is of one piece (Root), with the strictness of registry.Decode.
// The error is an *IncompleteError where the files do not belong together.
func Decode(first []byte, load Load) (*registry.Document, error) {
	if !sharded(first) {
		return registry.Decode(first)
	}
	r, err := decodeRoot(first)
	if err != nil {
		return nil, fmt.Errorf("registry document: %w", err)
	}
	parts := make([]part, 0, len(r.Shards))
	for _, ref := range r.Shards {
		plain, err := loadShard(ref, load)
		if err != nil {
			return nil, err
		}
		var p part
		if err := registry.Strict(plain, &p, plainBytes); err != nil {
			return nil, fmt.Errorf("registry document: %s: %w", ref.File, err)
		}
		if p.Version != registry.VersionSharded {
			return nil, fmt.Errorf("registry document: %s: version %d is not that of its root, %d", ref.File, p.Version, registry.VersionSharded)
		}
		parts = append(parts, p)
	}
	doc, err := r.join(parts)
	if err != nil {
		return nil, fmt.Errorf("registry document: %w", err)
	}
	return doc, nil
}

// Sequence is that of a document by its first file alone; 0 where that can't be read.
func Sequence(first []byte) int64 {
	if sharded(first) {
		r, err := decodeRoot(first)
		if err != nil {
			return 0
		}
		return r.Sequence
	}
	doc, err := registry.Decode(first)
	if err != nil {
		return 0
	}
	return doc.Sequence
}

// sharded goes by the version, so that a file may have any name. What has no version is registry.Decode's to refuse.
func sharded(first []byte) bool {
	raw, _ := jsonrpc.Member(first, "version")
	return string(raw) == strconv.Itoa(registry.VersionSharded)
}

func decodeRoot(data []byte) (*root, error) {
	var r root
	if err := registry.Strict(data, &r, registry.MaxBytes); err != nil {
		return nil, err
	}
	if r.Shards == nil {
		return nil, errors.New("member /shards is missing; without it tools and rules would be")
	}
	last := ""
	for i, s := range r.Shards {
		switch {
		case !known(s.File):
			return nil, fmt.Errorf("member /shards/%d/file %q is not one of %s", i, s.File, strings.Join(Names(), ", "))
		case s.File <= last:
			return nil, fmt.Errorf("member /shards/%d/file %q is there twice or out of order", i, s.File)
		case s.Digest == "":
			return nil, fmt.Errorf("member /shards/%d/digest is empty", i)
		}
		last = s.File
	}
	seen := map[string]bool{}
	for i, name := range r.Revisions {
		if seen[name] {
			return nil, fmt.Errorf("member /revisions/%d %q is there twice", i, name)
		}
		seen[name] = true
	}
	return &r, nil
}

// loadShard gives the text of a shard that is the one that the root names.
func loadShard(ref ref, load Load) ([]byte, error) {
	data, err := load(ref.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &IncompleteError{ref.File, "is not there yet"}
	case err != nil:
		return nil, fmt.Errorf("registry document: %w", err)
	}
	plain, err := Expand(data, plainBytes)
	if err != nil {
		return nil, &IncompleteError{ref.File, "cannot be read: " + err.Error()}
	}
	if got := registry.Digest(plain); got != ref.Digest {
		return nil, &IncompleteError{ref.File, fmt.Sprintf("is %s and the root names %s", got, ref.Digest)}
	}
	return plain, nil
}

// join puts a document together.
func (r *root) join(parts []part) (*registry.Document, error) {
	doc := &registry.Document{
		Version: registry.Version, Sequence: r.Sequence,
		Server: r.Server, Upstream: r.Upstream, Policy: r.Policy, Telemetry: r.Telemetry, DomainModel: r.DomainModel,
		Revisions: make(map[string]registry.Revision, len(r.Revisions)),
	}
	for _, name := range r.Revisions {
		doc.Revisions[name] = registry.Revision{Tools: []registry.Tool{}}
	}
	for _, p := range parts {
		for _, e := range p.Tools {
			if len(e.Revisions) == 0 {
				return nil, fmt.Errorf("tool %q is of no revision", e.Tool.Name)
			}
			for _, name := range e.Revisions {
				rev, ok := doc.Revisions[name]
				if !ok {
					return nil, fmt.Errorf("tool %q is of revision %q, which the root does not name", e.Tool.Name, name)
				}
				rev.Tools = append(rev.Tools, e.Tool)
				doc.Revisions[name] = rev
			}
		}
		doc.RuleSets = append(doc.RuleSets, p.RuleSets...)
	}
	if err := doc.Validate(); err != nil {
		return nil, err
	}
	return doc.Sorted(), nil
}
