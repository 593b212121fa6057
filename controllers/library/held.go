// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"toolgate.dev/toolgate/controllers/prober"
	"toolgate.dev/toolgate/internal/registry"
)

// keptDocuments are remembered for each server: a pod can be a few behind.
const keptDocuments = 16

// Held is what is remembered of an encoded document. The zero value is no document.
type Held struct {
	// Digest is its name; "" for no document.
	Digest string
	// Sequence is 0 where the document can't be read: somebody else wrote it, and it is about to be written anew.
	Sequence int64
	// generations are those of the sets in it, by name.
	generations map[string]int64
}

// Has says whether the document holds a generation of a set.
func (h Held) Has(set string, generation int64) bool {
	held, ok := h.generations[set]
	return ok && held == generation
}

// Read says what an encoded document of a server holds; nil is no document. It is decoded only if its digest is new.
func (l *Library) Read(key prober.Key, data []byte) Held {
	if data == nil {
		return Held{}
	}
	digest := registry.Digest(data)
	if held := l.Known(key, digest); held.Digest != "" {
		return held
	}
	held := Held{Digest: digest, generations: map[string]int64{}}
	if doc, err := registry.Decode(data); err == nil {
		held.Sequence = doc.Sequence
		for _, set := range doc.RuleSets {
			held.generations[set.Name] = set.Generation
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.of(key)
	d.held = append(d.held, held)
	d.held = d.held[max(0, len(d.held)-keptDocuments):]
	return held
}

// Known gives a document that was read before. One that is not remembered is none, as far as anybody can say.
func (l *Library) Known(key prober.Key, digest string) Held {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, held := range l.of(key).held {
		if held.Digest == digest {
			return held
		}
	}
	return Held{}
}
