// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"k8s.io/apimachinery/pkg/types"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/registry/shard"
	"toolgate.dev/toolgate/internal/render/document"
)

// keptDocuments are remembered for each server: a pod can be a few behind.
const keptDocuments = 16

// Held is what is remembered of a document that is written. The zero value is no document.
type Held struct {
	// Digest names it: that of its root where it is in shards, else that of its one piece; "" for no document.
	Digest string
	// Piece is the digest of the document of one piece, which is always there; Closed says that it denies everything, because
	// the document itself is too large for one piece.
	Piece  string
	Closed bool
	// Split says that there is a root.
	Split bool
	// Content is what it says (shard.Plan.Content); "" where it can't be read whole.
	Content string
	// Sequence is 0 where the document can't be read: somebody else wrote it, and it is about to be written anew.
	Sequence int64
	// sets are those in it, by name.
	sets map[string]Named
}

// Current says whether a dispatcher that has this digest in force can have nothing newer.
func (h Held) Current(digest string) bool {
	return digest == h.Digest || digest == h.Piece
}

// Read says what the files of a server's document hold; none is no document. They are decoded only if they are new. Shards
// come from load.
func (l *Library) Read(key types.NamespacedName, files shard.Files, load shard.Load) Held {
	first, err := shard.Root(files.Load)
	if err != nil {
		return Held{}
	}
	_, split := files[shard.RootFile]
	held := Held{Digest: registry.Digest(first), Piece: registry.Digest(files[registry.FileName]), Split: split}
	if last, known := l.find(key, func(h Held) bool { return h.Digest == held.Digest && h.Piece == held.Piece }); known {
		return last
	}
	held.sets = map[string]Named{}
	doc, err := shard.Decode(first, load)
	if err != nil {
		// What comes next must pass it all the same. It is not remembered: its shards may be on their way.
		held.Sequence = shard.Sequence(first)
		return held
	}
	held.Sequence, held.Content = doc.Sequence, contentOf(doc)
	if split {
		piece, err := registry.Decode(files[registry.FileName])
		held.Closed = err != nil || contentOf(piece) != held.Content
	}
	for _, set := range doc.RuleSets {
		held.sets[set.Name] = new(Namer).Name(set)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.of(key)
	d.held = append(d.held, held)
	d.held = d.held[max(0, len(d.held)-keptDocuments):]
	return held
}

// beginning is what begins a server's document, as its ConfigMap has it.
type beginning struct{ piece, root string }

// last is a document as it was read last.
type last struct {
	of   beginning
	held Held
}

// ReadData is Read for the data of a ConfigMap. While that is as it was the last time, nothing of it is gone through: it is the same
// strings, and Go need not compare those.
func (l *Library) ReadData(key types.NamespacedName, data map[string]string, load shard.Load) Held {
	of := beginning{piece: data[registry.FileName], root: data[shard.RootFile]}
	if of == (beginning{}) {
		return Held{}
	}
	l.mu.Lock()
	before := l.known(key).last
	l.mu.Unlock()
	if before.of == of {
		return before.held
	}
	held := l.Read(key, document.Files(data), load)
	l.mu.Lock()
	defer l.mu.Unlock()
	if d := l.servers[key]; d != nil && held.Content != "" {
		d.last = last{of, held}
	}
	return held
}

// contentOf is what a document says, whatever its sequence; "" if it can't be written.
func contentOf(doc *registry.Document) string {
	plan, err := shard.NewPlan(doc)
	if err != nil {
		return ""
	}
	return plan.Content()
}

// Known gives a document that was read before, by the digest that a dispatcher has in force. One that is not remembered is none,
// as far as anybody can say, and so is one that denies everything.
func (l *Library) Known(key types.NamespacedName, digest string) Held {
	held, _ := l.find(key, func(h Held) bool { return h.Digest == digest || h.Piece == digest && !h.Closed })
	return held
}

func (l *Library) find(key types.NamespacedName, is func(Held) bool) (Held, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, held := range l.known(key).held {
		if is(held) {
			return held, true
		}
	}
	return Held{}, false
}
