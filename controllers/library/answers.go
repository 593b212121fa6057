// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
)

// Silence is how long attempts at a child may end without an answer before people are told: a webhook that fails, or a time-out, is
// no verdict, but while it lasts the child is not there.
const Silence = 10 * time.Second

// Attempt is how an attempt to write a child ended: well, with a verdict, or with an error that is none.
type Attempt struct {
	At      time.Time
	Refused decide.Refusal
	Err     error
}

// failure is what is known of a child whose last attempt did not end well.
type failure struct {
	// since is when attempts began to go without an answer; zero where the last had one.
	since time.Time
	// told is the last verdict, or why there has been none for long.
	told decide.Refusal
}

// Answered notes how an attempt at a child of a server ended, and gives what is to be told of it until the next answer; the zero
// Refusal for nothing. What was told once stays as it is while there is no answer, however each further attempt words it.
func (l *Library) Answered(key types.NamespacedName, child string, a Attempt) decide.Refusal {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.Err == nil && a.Refused == (decide.Refusal{}) {
		delete(l.known(key).failing, child)
		return decide.Refusal{}
	}
	d := l.of(key)
	f := d.failing[child]
	switch {
	case a.Err == nil:
		f = failure{told: a.Refused}
	case f.since.IsZero():
		f.since = a.At
	case f.told == (decide.Refusal{}) && a.At.Sub(f.since) >= Silence:
		f.told = decide.Refusal{Reason: mcpv1alpha1.ReasonApplyFailed, Message: a.Err.Error()}
	}
	if d.failing == nil {
		d.failing = map[string]failure{}
	}
	d.failing[child] = f
	return f.told
}

// Abandon drops what is known of children that nobody tries to write any more: names that a server has stopped listing must not pile up.
func (l *Library) Abandon(key types.NamespacedName, abandoned func(child string) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.known(key).failing, func(child string, _ failure) bool { return abandoned(child) })
}
