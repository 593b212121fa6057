// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/decide/admission"
	"toolgate.dev/toolgate/internal/render/document"
	"toolgate.dev/toolgate/internal/rules"
)

// maxSets bounds what is remembered of RuleSets.
const maxSets = 4096

// Library is safe for concurrent use.
type Library struct {
	// Definitions are those of tools, judged once for all servers.
	Definitions *decide.Definitions

	mu      sync.Mutex
	sets    map[types.UID]compiledSet
	servers map[types.NamespacedName]*documents
}

type compiledSet struct {
	generation int64
	errors     []rules.RuleError
}

// documents is what is known of the documents of one server.
type documents struct {
	asked *rendering
	held  []Held // newest last
	last  last
	// refused is how the last attempt at writing one ended; tried says that there was one.
	refused decide.Refusal
	tried   bool
	leftOut LeftOut
	firsts  admission.Firsts
	// failing are the children whose last attempt did not end well, by name.
	failing map[string]failure
}

// LeftOut are tools of a server that can't have an MCPTool.
type LeftOut struct {
	// Why, by the tools' names. Nobody may write to it.
	Why map[string]decide.Refusal
	// Again is when they are tried once more: what forbade them may have changed, and nothing that is watched tells.
	Again time.Time
}

// New gives an empty library.
func New() *Library {
	return &Library{
		Definitions: decide.NewDefinitions(),
		sets:        map[types.UID]compiledSet{},
		servers:     map[types.NamespacedName]*documents{},
	}
}

// RuleErrors compiles a RuleSet with the very function that dispatchers use.
func (l *Library) RuleErrors(rs *mcpv1alpha1.RuleSet) []rules.RuleError {
	l.mu.Lock()
	known, ok := l.sets[rs.UID]
	l.mu.Unlock()
	if ok && known.generation == rs.Generation {
		return known.errors
	}
	_, errs := rules.Compile(document.RuleSet(rs))
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
		if why := l.Broken(&sets[i]); why != "" {
			out[sets[i].Name] = why
		}
	}
	return out
}

// Broken says why a RuleSet denies what it governs, or "".
func (l *Library) Broken(rs *mcpv1alpha1.RuleSet) string {
	if message := document.SelectorError(rs); message != "" {
		return message
	}
	return decide.ErrorText(l.RuleErrors(rs))
}

// known is what is known of a server, which may be nothing. It is called with the lock held, and what it gives is not written to:
// who only asks must not bring a server back that was forgotten.
func (l *Library) known(key types.NamespacedName) *documents {
	if d := l.servers[key]; d != nil {
		return d
	}
	return &documents{}
}

// of is called with the lock held.
func (l *Library) of(key types.NamespacedName) *documents {
	d := l.servers[key]
	if d == nil {
		d = &documents{}
		l.servers[key] = d
	}
	return d
}

// Refuse notes why a server's document can't be written; the zero Refusal says that it could. It says whether that is news.
func (l *Library) Refuse(key types.NamespacedName, why decide.Refusal) (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.of(key)
	news = d.refused != why || !d.tried
	d.refused, d.tried = why, true
	return news
}

// Tried says whether anybody has tried to write a server's document, since this manager was started.
func (l *Library) Tried(key types.NamespacedName) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known(key).tried
}

// Refused says why a server's document can't be written; the zero Refusal where it can.
func (l *Library) Refused(key types.NamespacedName) decide.Refusal {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known(key).refused
}

// Unwritten says why a server's newest document is not what was asked for: an attempt to write it was refused, so that the one before
// is in force, or it denies everything, because what was asked for does not fit. The zero Refusal is neither.
func (l *Library) Unwritten(key types.NamespacedName, newest *Document) decide.Refusal {
	if refused := l.Refused(key); refused != (decide.Refusal{}) {
		return refused
	}
	return newest.Refused()
}

// LeaveOut notes which tools of a server have no MCPTool. It says whether that, or why, is news.
func (l *Library) LeaveOut(key types.NamespacedName, tools LeftOut) (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.of(key)
	news = !maps.Equal(d.leftOut.Why, tools.Why)
	d.leftOut = tools
	return news
}

// LeftOut are the tools of a server that have no MCPTool.
func (l *Library) LeftOut(key types.NamespacedName) LeftOut {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known(key).leftOut
}

// KeepFirsts remembers the first catalogues of a server. Nobody may write to them any more.
func (l *Library) KeepFirsts(key types.NamespacedName, firsts admission.Firsts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(firsts) > 0 || len(l.known(key).firsts) > 0 {
		l.of(key).firsts = firsts
	}
}

// Firsts are the first catalogues of a server that are remembered. Nobody may write to them.
func (l *Library) Firsts(key types.NamespacedName) admission.Firsts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known(key).firsts
}

// Forget is for a server that is gone.
func (l *Library) Forget(key types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.servers, key)
}
