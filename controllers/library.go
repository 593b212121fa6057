// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/prober"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/rules"
)

// Library remembers what is costly to compute twice: compiled RuleSets, and which generation of each set a document holds.
// All of it can be computed again; a restart loses nothing. It is safe for concurrent use.
type Library struct {
	// Schemas are those of tools, compiled once for all servers.
	Schemas *registry.SchemaCache

	mu        sync.Mutex
	sets      map[types.UID]compiledSet
	documents map[prober.Key]*history
}

type compiledSet struct {
	generation int64
	errors     []rules.RuleError
}

// maxSets bounds what is remembered of RuleSets.
const maxSets = 4096

// keptDocuments are remembered for each server: a pod can be a few behind.
const keptDocuments = 16

// history are the last documents of one server, newest last.
type history struct {
	holds []holding
	err   decide.Refusal
}

// holding says which generations one document holds.
type holding struct {
	digest      string
	generations map[string]int64
}

// NewLibrary gives an empty library.
func NewLibrary() *Library {
	return &Library{
		Schemas:   registry.NewSchemaCache(),
		sets:      map[types.UID]compiledSet{},
		documents: map[prober.Key]*history{},
	}
}

// ruleErrors compiles a RuleSet with the very function that dispatchers use.
func (l *Library) ruleErrors(rs *mcpv1alpha1.RuleSet) []rules.RuleError {
	l.mu.Lock()
	known, ok := l.sets[rs.UID]
	l.mu.Unlock()
	if ok && known.generation == rs.Generation {
		return known.errors
	}
	_, errs := rules.Compile(render.RuleSet(rs))
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.sets) >= maxSets {
		// Sets that are gone leave nothing else behind; those in use are compiled once more.
		clear(l.sets)
	}
	l.sets[rs.UID] = compiledSet{generation: rs.Generation, errors: errs}
	return errs
}

// broken says of the RuleSets that do not compile why.
func (l *Library) broken(sets []mcpv1alpha1.RuleSet) map[string]string {
	out := map[string]string{}
	for i := range sets {
		rs := &sets[i]
		if message := render.SelectorError(rs); message != "" {
			out[rs.Name] = message
		} else if errs := l.ruleErrors(rs); len(errs) > 0 {
			out[rs.Name] = decide.ErrorText(errs)
		}
	}
	return out
}

// remember notes what a document holds. data is decoded only if its digest is new.
func (l *Library) remember(key prober.Key, data []byte) (digest string) {
	digest = digestOf(data)
	if digest == "" || l.known(key, digest) {
		return digest
	}
	doc, err := registry.Decode(data)
	if err != nil {
		// Somebody else wrote it; it holds nothing, and the registry controller is about to write it anew.
		doc = &registry.Document{}
	}
	generations := map[string]int64{}
	for _, set := range doc.RuleSets {
		generations[set.Name] = set.Generation
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.history(key)
	h.holds = append(h.holds, holding{digest, generations})
	h.holds = h.holds[max(0, len(h.holds)-keptDocuments):]
	return digest
}

func (l *Library) known(key prober.Key, digest string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range l.history(key).holds {
		if h.digest == digest {
			return true
		}
	}
	return false
}

// history is called with the lock held.
func (l *Library) history(key prober.Key) *history {
	h := l.documents[key]
	if h == nil {
		h = &history{}
		l.documents[key] = h
	}
	return h
}

// holds says whether a document of a server holds a generation of a set. One that is not remembered does not, as far as
// anybody can say.
func (l *Library) holds(key prober.Key, digest, set string, generation int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range l.history(key).holds {
		if h.digest == digest {
			held, ok := h.generations[set]
			return ok && held == generation
		}
	}
	return false
}

// setDocumentError notes why a server's document can't be written; the zero Refusal takes it back. It says whether that is
// news.
func (l *Library) setDocumentError(key prober.Key, err decide.Refusal) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.history(key)
	changed := h.err != err
	h.err = err
	return changed
}

func (l *Library) documentError(key prober.Key) decide.Refusal {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.history(key).err
}

// forget is for a server that is gone.
func (l *Library) forget(key prober.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.documents, key)
}
