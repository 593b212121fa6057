// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/test/faults/rig"
	"toolgate.dev/toolgate/test/faults/specs"
)

// withoutEffect are fields of which a namespace shows nothing, or in which no two specs can differ alone, and why. The table is
// exact: an entry that shows something fails.
var withoutEffect = map[string]string{
	"MCPTool.serverRef.name": "the name of the object is made of it",
	"MCPTool.toolName":       "the name of the object is made of it",
	"RuleSet.format":         "rules of one format are refused in another, and cel is the default: to change it is to change the rules",
	"MCPServer.pod.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[].matchFields[].key": onlyName,
	"MCPServer.pod.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[].preference.matchFields[].key":       onlyName,
}

const onlyName = "metadata.name is the one field of nodes that there is, and a term has to name a field"

// effects come from fingerprints of fresh namespaces, one for each trio of specs.
type effects struct {
	*walkers
	mu    sync.Mutex
	taken map[string]func() (rig.State, error)
	made  atomic.Int64
}

// TestEveryFieldActs sets and unsets each leaf field of each spec, or sets it to another value where it is required, and wants
// something to come of it beside the spec itself and the name of the revision: in an object of the server's, in the document,
// or in a status.
func TestEveryFieldActs(t *testing.T) {
	r, began := need(t), time.Now()
	e := &effects{walkers: &walkers{Rig: r, trial: namespace(t, r)}, taken: map[string]func() (rig.State, error){}}
	leaves, err := specs.Leaves(root)
	if err != nil {
		t.Fatal(err)
	}
	all := len(leaves)
	dice(6).Shuffle(all, func(i, j int) { leaves[i], leaves[j] = leaves[j], leaves[i] })
	leaves = leaves[:sized(t, 4, 60, all)]
	if err := e.classes(t.Context()); err != nil {
		t.Fatal(err)
	}
	manager(t, r, rig.ManagerOptions{})
	var done, pairs atomic.Int64
	progress(t, &done, "fields")
	var group errgroup.Group
	group.SetLimit(parallel)
	name, err := regexp.Compile(os.Getenv("FIELD"))
	if err != nil {
		t.Fatal("FIELD:", err)
	}
	for i, leaf := range leaves {
		if !inPart(t, i) || !name.MatchString(leaf.Kind+leaf.Path) {
			continue
		}
		group.Go(func() error {
			start := time.Now()
			tried, err := e.acts(t.Context(), leaf)
			t.Logf("%s%s: %d pairs in %.1f s", leaf.Kind, leaf.Path, tried, time.Since(start).Seconds())
			pairs.Add(int64(tried))
			done.Add(1)
			reason, excused := withoutEffect[leaf.Kind+leaf.Path]
			switch {
			case err != nil && !excused:
				t.Errorf("%s%s: %v", leaf.Kind, leaf.Path, err)
			case err == nil && excused:
				t.Errorf("%s%s is said to have no effect (%s), and has one: take it out of the table", leaf.Kind, leaf.Path, reason)
			}
			return t.Context().Err()
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	figures(t, began, "%d of %d leaf fields set and unset, %d pairs of specs in %d namespaces, %d fields known to show nothing",
		done.Load(), all, pairs.Load(), e.made.Load(), len(withoutEffect))
}

// acts looks for a pair of specs that differ in a leaf alone and come to different states, and says how many it looked at.
func (e *effects) acts(ctx context.Context, leaf specs.Leaf) (int, error) {
	pairs, err := leaf.Pairs(6, e.try(ctx))
	if err != nil {
		return 0, err
	}
	for i, pair := range pairs {
		with, err := e.state(ctx, leaf.Kind, pair.Base, pair.With)
		if err != nil {
			return i, err
		}
		without, err := e.state(ctx, leaf.Kind, pair.Base, pair.Without)
		if err != nil {
			return i, err
		}
		if rig.Diff(without, with) != "" {
			return i + 1, nil
		}
	}
	return len(pairs), fmt.Errorf("no effect of it: the states are the same for all of %d pairs of specs, such as\n%v\n%v",
		len(pairs), pairs[0].With, pairs[0].Without)
}

// state is what a trio with this spec in it comes to, without the specs.
func (e *effects) state(ctx context.Context, kind, base string, spec specs.Object) (rig.State, error) {
	around := trio{"MCPServer": specs.Base("MCPServer", "stdio"), "MCPTool": specs.Base("MCPTool", "tool"), "RuleSet": specs.Base("RuleSet", "cel")}
	if kind == "RuleSet" {
		around[kind] = specs.Base(kind, base)
	}
	around[kind] = spec
	name := fmt.Sprint(around)
	e.mu.Lock()
	take, there := e.taken[name]
	if !there {
		take = sync.OnceValues(func() (rig.State, error) { return e.take(ctx, around) })
		e.taken[name] = take
	}
	e.mu.Unlock()
	return take()
}

// take makes two namespaces of the same specs and gives the state in which both come to rest: what one of them shows by the
// way, on a busy machine, is no effect of a field.
func (e *effects) take(ctx context.Context, specs trio) (rig.State, error) {
	var twins [2]string
	for i := range twins {
		e.made.Add(1)
		var err error
		if twins[i], err = e.begin(ctx, specs); err != nil {
			return nil, err
		}
	}
	if err := e.settled(ctx, twins[0], twins[1]); err != nil {
		return nil, err
	}
	state, err := e.State(ctx, twins[0])
	if err != nil {
		return nil, err
	}
	objects, err := e.Objects(ctx, twins[0])
	if err != nil {
		return nil, err
	}
	out, err := bare(state, revisionOf(objects))
	if err != nil {
		return nil, err
	}
	return out, errors.Join(e.Clear(ctx, twins[0]), e.Clear(ctx, twins[1]))
}

// settled waits for a state that both share and in which nothing is on its way, or says so for long.
func (e *effects) settled(ctx context.Context, one, other string) error {
	for quiet := time.Second; ; quiet *= 2 {
		state, err := e.Rest(ctx, one, quiet)
		if err != nil {
			return err
		}
		text := fmt.Sprint(state)
		waiting := strings.Contains(text, `"stale"`) || strings.Contains(text, `"reason": "Progressing"`) || strings.Contains(text, `"reason": "Pending"`)
		refused := strings.Contains(text, `"reason": "`+mcpv1alpha1.ReasonApplyFailed+`"`)
		if !waiting || refused || quiet > time.Second {
			return e.Agree(ctx, one, other, func(context.Context) error { return nil })
		}
	}
}

// revisionOf is the name of the revision that the Deployment runs, which says only that some field has changed.
func revisionOf(objects []unstructured.Unstructured) string {
	for i := range objects {
		if objects[i].GetKind() == "Deployment" {
			name, _, _ := unstructured.NestedString(objects[i].Object, "spec", "template", "metadata", "labels", render.LabelRevision)
			return name
		}
	}
	return ""
}

// bare is a state without our specs and without the revision's name.
func bare(state rig.State, revision string) (rig.State, error) {
	out := rig.State{}
	for name, text := range state {
		if kind, _, _ := strings.Cut(name, "/"); slices.Contains(kindsInOrder, kind) {
			var o map[string]any
			if err := json.Unmarshal([]byte(text), &o); err != nil {
				return nil, fmt.Errorf("reading the state of %s: %w", name, err)
			}
			delete(o, "spec")
			data, err := json.MarshalIndent(o, "", " ")
			if err != nil {
				return nil, fmt.Errorf("encoding the state of %s: %w", name, err)
			}
			text = string(data)
		}
		if revision != "" {
			text = strings.ReplaceAll(text, revision, "REVISION")
		}
		out[name] = text
	}
	return out, nil
}
