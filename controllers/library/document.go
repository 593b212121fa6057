// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/registry/shard"
	"toolgate.dev/toolgate/internal/render/document"
	"toolgate.dev/toolgate/internal/rules"
)

// Document is what the objects of one server ask its dispatchers to enforce, before anybody said under which sequence. It is
// safe for concurrent use, and nobody may write to what it gives.
type Document struct {
	doc  *registry.Document
	plan *shard.Plan

	mu   sync.Mutex
	last written
}

// written is a document as it was last put into files.
type written struct {
	sequence int64
	form     shard.Form
	files    shard.Files
}

// rendering is one document on its way: reconcilers that ask for the same one wait for it instead of making it again.
type rendering struct {
	inputs [sha256.Size]byte
	once   sync.Once
	doc    *Document
	err    error
}

// UnwritableError says that the objects of a server ask for a document that no dispatcher would read: a field has a value that only
// another release knows, as after going back to an older one.
type UnwritableError struct{ err error }

func (e *UnwritableError) Error() string {
	return fmt.Sprintf("no registry document can be made of the spec, so that the last one, if there is any, stays in force: %s; give the field a value that this release of Toolgate knows, or run one that knows it",
		strings.ReplaceAll(e.err.Error(), "\n", "; "))
}

func (e *UnwritableError) Unwrap() error { return e.err }

// Document renders what the objects of a server ask for. Of each server the last one is remembered, because one change wakes
// several reconcilers that each need it. in.Broken is filled in here. It gives an *UnwritableError where there can be none.
func (l *Library) Document(in document.Input) (*Document, error) {
	inputs, err := inputsOf(in)
	if err != nil {
		return nil, err
	}
	key := types.NamespacedName{Namespace: in.Server.Namespace, Name: in.Server.Name}
	l.mu.Lock()
	d := l.of(key)
	if d.asked == nil || d.asked.inputs != inputs {
		d.asked = &rendering{inputs: inputs}
	}
	asked := d.asked
	l.mu.Unlock()
	asked.once.Do(func() {
		in.Broken = l.broken(in.RuleSets)
		doc, err := document.Render(in)
		if err != nil {
			asked.err = &UnwritableError{err}
			return
		}
		plan, err := shard.NewPlan(doc)
		if err != nil {
			asked.err = &UnwritableError{err}
			return
		}
		asked.doc = &Document{doc: doc, plan: plan}
	})
	return asked.doc, asked.err
}

// inputsOf names all that a document depends on without going through it. Of a server and of a set that is identity, spec and
// labels: their status changes with every document. Of a tool the status counts.
func inputsOf(in document.Input) ([sha256.Size]byte, error) {
	type version struct {
		UID        types.UID
		Name       string
		Generation int64
		Version    string
	}
	type inputs struct {
		Server    version
		Labels    map[string]string
		Tools     []version
		Sets      []version
		Revisions []string
		Replicas  *int32
	}
	of := inputs{
		Server:    version{UID: in.Server.UID, Name: in.Server.Name, Generation: in.Server.Generation},
		Labels:    in.Server.Labels,
		Revisions: in.Revisions,
		Replicas:  in.Replicas,
	}
	for i := range in.Tools {
		t := &in.Tools[i]
		of.Tools = append(of.Tools, version{UID: t.UID, Name: t.Name, Version: t.ResourceVersion})
	}
	for i := range in.RuleSets {
		rs := &in.RuleSets[i]
		of.Sets = append(of.Sets, version{UID: rs.UID, Name: rs.Name, Generation: rs.Generation})
	}
	data, err := json.Marshal(of)
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("naming what the registry document depends on: %w", err)
	}
	return sha256.Sum256(data), nil
}

// BrokenSets are the sets of the document that deny what they govern.
func (d *Document) BrokenSets() []*rules.Compiled { return decide.BrokenSets(d.doc) }

// Refused says why the document denies everything instead of what it was asked for; the zero Refusal where it does not.
func (d *Document) Refused() decide.Refusal {
	if large := d.plan.TooLarge(); large != nil {
		return decide.Refusal{Reason: mcpv1alpha1.ReasonRegistryTooLarge, Message: large.Error()}
	}
	return decide.Refusal{}
}

// Is says whether a document that was written is this one, but for its sequence and for how it is cut.
func (d *Document) Is(held Held) bool {
	return held.Sequence != 0 && held.Content == d.plan.Content()
}

// Next puts the document into files under the sequence that it needs: that of the one that is written while nothing has changed,
// else the next. Dispatchers remember the highest that they have seen, so a ConfigMap that was deleted and starts over must
// come out above that, or it would be refused.
func (d *Document) Next(held Held, pods []decide.Pod) (shard.Files, error) {
	same := d.Is(held)
	next := held.Sequence
	if !same || overtaken(held, pods) {
		next++
		for i := range pods {
			state := pods[i].Seen.State
			// A pod that has this very document in force asks for no sequence above its own.
			if state != nil && (!same || !held.Current(state.Registry.Digest)) {
				next = max(next, state.Registry.Sequence+1)
			}
		}
	}
	return d.under(next, formFor(held, pods))
}

// overtaken says whether a pod has seen another document under the sequence of the one that is written, or a higher one.
func overtaken(held Held, pods []decide.Pod) bool {
	return slices.ContainsFunc(pods, func(p decide.Pod) bool {
		state := p.Seen.State
		return state != nil && state.Registry.Digest != "" && !held.Current(state.Registry.Digest) && state.Registry.Sequence >= held.Sequence
	})
}

// formFor asks what the dispatchers say that they read. One that has said nothing yet changes nothing.
func formFor(held Held, pods []decide.Pod) shard.Form {
	form := shard.Form{Split: held.Split}
	for i := range pods {
		state := pods[i].Seen.State
		if state == nil {
			form.WholeReaders = form.WholeReaders || !held.Closed
			form.ShardReaders = form.ShardReaders || held.Split
			continue
		}
		form.WholeReaders = form.WholeReaders || !slices.Contains(state.Supports, registry.VersionSharded)
		form.ShardReaders = form.ShardReaders || !slices.Contains(state.Supports, registry.Version)
	}
	return form
}

func (d *Document) under(sequence int64, form shard.Form) (shard.Files, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last.files != nil && d.last.sequence == sequence && d.last.form == form {
		return d.last.files, nil
	}
	files, err := d.plan.Files(sequence, form)
	if err != nil {
		return nil, err
	}
	d.last = written{sequence, form, files}
	return files, nil
}
