// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"crypto/sha256"
	"encoding/json"

	"toolgate.dev/toolgate/controllers/prober"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/rules"
)

// keptDocuments are remembered for each server: a pod can be a few behind.
const keptDocuments = 16

// Held is what is remembered of an encoded document. The zero value is no document.
type Held struct {
	// Digest is its name; "" for no document.
	Digest string
	// Sequence is 0 where the document can't be read: somebody else wrote it, and it is about to be written anew.
	Sequence int64
	// sets are the digests of the sets in it, by name.
	sets map[string][sha256.Size]byte
}

// Has says whether the document holds a set just as it is: its generation, its rules, and whom it reaches. The generation
// alone would not do: a RuleSet that was deleted and made again starts over at 1, and a server's labels and its tools' specs
// say whom a set reaches without giving it another.
func (h Held) Has(set rules.Set) bool {
	held, ok := h.sets[set.Name]
	return ok && held == digestOf(set)
}

// digestOf names a set. What can't be encoded is in no document.
func digestOf(set rules.Set) [sha256.Size]byte {
	data, err := json.Marshal(set)
	if err != nil {
		return [sha256.Size]byte{}
	}
	return sha256.Sum256(data)
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
	held := Held{Digest: digest, sets: map[string][sha256.Size]byte{}}
	if doc, err := registry.Decode(data); err == nil {
		held.Sequence = doc.Sequence
		for _, set := range doc.RuleSets {
			held.sets[set.Name] = digestOf(set)
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
