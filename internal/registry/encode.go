// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"toolgate.dev/toolgate/internal/rules"
)

// MaxBytes is the largest encoded document: a ConfigMap holds 1 MiB, and its metadata needs room too.
const MaxBytes = 1 << 20 * 95 / 100

// Encode gives the document as deterministic JSON, and the digest over exactly these bytes. Lists whose order has no
// meaning are sorted on the way, so that equal content gives equal bytes. A document that Decode would refuse is an error.
func (d *Document) Encode() (data []byte, digest string, err error) {
	sorted := d.Sorted()
	if err := sorted.Validate(); err != nil {
		return nil, "", fmt.Errorf("encoding registry document: %w", err)
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(sorted); err != nil {
		return nil, "", fmt.Errorf("encoding registry document: %w", err)
	}
	data = buf.Bytes()
	return data, Digest(data), nil
}

// Digest is the name of an encoded document: "sha256:" and 64 hex digits over its bytes.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Sorted is a copy in which every list without an order of its own is sorted; what it shares with d it does not write.
func (d *Document) Sorted() *Document {
	s := *d
	s.Server.Capabilities = slices.Sorted(slices.Values(d.Server.Capabilities))
	s.Policy.Passthrough = slices.Sorted(slices.Values(d.Policy.Passthrough))
	s.Policy.Audit.Redact = slices.Sorted(slices.Values(d.Policy.Audit.Redact))
	s.Upstream.Headers = slices.Clone(d.Upstream.Headers)
	slices.SortStableFunc(s.Upstream.Headers, func(a, b HeaderFile) int { return cmp.Compare(a.Name, b.Name) })
	s.RuleSets = slices.Clone(d.RuleSets)
	slices.SortStableFunc(s.RuleSets, func(a, b rules.Set) int { return cmp.Compare(a.Name, b.Name) })
	s.Revisions = make(map[string]Revision, len(d.Revisions))
	for name, rev := range d.Revisions {
		// Never null: a revision without tools and one that forgot its list must not look alike.
		tools := append(make([]Tool, 0, len(rev.Tools)), rev.Tools...)
		slices.SortStableFunc(tools, func(a, b Tool) int { return cmp.Compare(a.Name, b.Name) })
		s.Revisions[name] = Revision{Tools: tools}
	}
	return &s
}
