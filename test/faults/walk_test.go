// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/test/faults/memory"
	"toolgate.dev/toolgate/test/faults/rig"
	"toolgate.dev/toolgate/test/faults/specs"
)

// names are those of the one object of each kind.
var names = map[string]string{"MCPServer": "files", "MCPTool": "files.write-file", "RuleSet": "rules"}

// kindsInOrder are the kinds of names.
var kindsInOrder = []string{"MCPServer", "RuleSet", "MCPTool"}

// trio are the specs of a namespace.
type trio map[string]specs.Object

func (s trio) copy() trio {
	out := trio{}
	for kind, spec := range s {
		out[kind] = specs.Merge(spec, nil)
	}
	return out
}

func object(kind, namespace string, spec specs.Object) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": specs.Merge(spec, nil)}}
	o.SetGroupVersionKind(mcpv1alpha1.GroupVersion.WithKind(kind))
	o.SetNamespace(namespace)
	o.SetName(names[kind])
	o.SetLabels(map[string]string{"example.com/key": "one"}) // for those who select
	return o
}

// walkers share what walks and effects need.
type walkers struct {
	*rig.Rig
	// trial is a namespace in which nothing is ever made.
	trial   string
	changes []specs.Change

	// report tells of a difference; the other walks go on.
	report func(format string, args ...any)

	walks, transitions, compared, refused, differing atomic.Int64
	// bad are states that the manager refused, healed those of them after which the next valid spec was as a fresh one.
	bad, healed atomic.Int64
}

// try asks the API server what it would say.
func (w *walkers) try(ctx context.Context) func(kind string, spec specs.Object) error {
	return func(kind string, spec specs.Object) error {
		return w.Client.Create(ctx, object(kind, w.trial, spec), client.DryRunAll)
	}
}

// find makes changes for the leaves, and says for which there is none.
func (w *walkers) find(ctx context.Context, leaves []specs.Leaf, each int) ([]string, error) {
	var mu sync.Mutex
	var without []string
	var group errgroup.Group
	group.SetLimit(parallel)
	for _, leaf := range leaves {
		group.Go(func() error {
			found, err := leaf.Valid(each, w.try(ctx))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				without = append(without, fmt.Sprintf("%s%s: %v", leaf.Kind, leaf.Path, err))
			}
			w.changes = append(w.changes, found...)
			return ctx.Err()
		})
	}
	err := group.Wait()
	slices.Sort(without)
	slices.SortFunc(w.changes, func(a, b specs.Change) int {
		return strings.Compare(fmt.Sprint(a.Leaf, a.Set), fmt.Sprint(b.Leaf, b.Set))
	})
	return without, err
}

// classes makes what pods may name.
func (w *walkers) classes(ctx context.Context) error {
	for _, o := range []client.Object{
		&nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "files"}, Handler: "files"},
		&nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "other"}, Handler: "files"},
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "files"}, Value: 10},
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "other"}, Value: 20},
	} {
		if err := w.Client.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("making classes: %w", err)
		}
	}
	return nil
}

// begin makes the objects of a namespace.
func (w *walkers) begin(ctx context.Context, specs trio) (string, error) {
	ns, err := w.Namespace(ctx)
	if err != nil {
		return "", err
	}
	for _, kind := range kindsInOrder {
		if err := w.Client.Create(ctx, object(kind, ns, specs[kind])); err != nil {
			return "", fmt.Errorf("making %s: %w", kind, err)
		}
	}
	return ns, nil
}

func kindOf(c specs.Change) string {
	kind, _, _ := strings.Cut(c.Leaf, ".")
	return kind
}

// TestSpecWalk changes specs in many steps, and wants each state to be what a fresh object of the same spec comes to.
func TestSpecWalk(t *testing.T) {
	r, began := need(t), time.Now()
	w := &walkers{Rig: r, trial: namespace(t, r), report: t.Errorf}
	random := dice(4)
	leaves, err := specs.Leaves(root)
	if err != nil {
		t.Fatal(err)
	}
	random.Shuffle(len(leaves), func(i, j int) { leaves[i], leaves[j] = leaves[j], leaves[i] })
	leaves = leaves[:sized(t, 8, len(leaves), len(leaves))]
	without, err := w.find(t.Context(), leaves, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.classes(t.Context()); err != nil {
		t.Fatal(err)
	}
	manager(t, r, rig.ManagerOptions{})
	progress(t, &w.transitions, "transitions")
	var group errgroup.Group
	walks := sized(t, 1, 16, 100)
	group.SetLimit(parallel)
	for number := range walks {
		if !inPart(t, number) {
			continue
		}
		walk := &walk{walkers: w, name: fmt.Sprintf("PART=%d/%d", number+1, walks), random: dice(uint64(4_000 + number)), steps: sized(t, 2, 15, 20)}
		w.walks.Add(1)
		group.Go(func() error { return walk.run(t.Context()) })
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	if len(without) > 0 {
		t.Errorf("no valid change was found for these; give them values in test/faults/specs:\n%s", strings.Join(without, "\n"))
	}
	figures(t, began, "%d of %d leaf fields with %d changes, %d transitions in %d walks (%d more refused by admission): "+
		"%d states compared with a fresh object, %d refused by the manager of which %d healed, %d differences",
		len(leaves)-len(without), len(leaves), len(w.changes), w.transitions.Load(), w.walks.Load(), w.refused.Load(),
		w.compared.Load(), w.bad.Load(), w.healed.Load(), w.differing.Load())
}

// walk is one namespace on its way.
type walk struct {
	*walkers
	// name is what replays it.
	name      string
	random    *rand.Rand
	steps     int
	namespace string
	specs     trio
	// path is what was done so far.
	path []string
	// good are the specs of the last state that was as it should be, running what it ran, and since the steps after it.
	good    trio
	running running
	since   int
	// past is all that there was, and remembered what was remembered of it last.
	past       *memory.Past
	remembered memory.Memory
}

func (w *walk) run(ctx context.Context) error {
	if err := w.depart(ctx); err != nil {
		return err
	}
	for done := 0; done < w.steps; {
		change := w.changes[w.random.IntN(len(w.changes))]
		if done == w.steps/2 {
			change = specs.Refused()
		}
		moved, err := w.step(ctx, change)
		if err != nil {
			return err
		}
		if !moved && done != w.steps/2 {
			continue
		}
		done++
		// Half of the changes follow the one before at once.
		if done < w.steps && w.random.IntN(2) != 0 {
			continue
		}
		if err := w.compare(ctx); err != nil {
			w.differing.Add(1)
			w.report("%s, after %s: %v", w.name, strings.Join(w.path, ", "), err)
			if err := w.depart(ctx); err != nil {
				return err
			}
		}
	}
	return w.Clear(ctx, w.namespace)
}

// depart begins at a namespace of its own, also after a difference, which would stay one.
func (w *walk) depart(ctx context.Context) error {
	if w.namespace != "" {
		if err := w.Clear(ctx, w.namespace); err != nil {
			return err
		}
	}
	base := []string{"stdio", "http", "remote"}[w.random.IntN(3)]
	w.specs = trio{"MCPServer": specs.Base("MCPServer", base), "MCPTool": specs.Base("MCPTool", "tool"), "RuleSet": specs.Base("RuleSet", "cel")}
	w.good, w.path, w.since = w.specs.copy(), []string{base}, 0
	var err error
	if w.namespace, err = w.begin(ctx, w.specs); err != nil {
		return err
	}
	w.past, w.remembered = memory.Begin(), memory.Memory{}
	for _, kind := range kindsInOrder {
		// Nothing is changed, and what the API server makes of it is written down.
		if err := w.put(ctx, kind, w.specs[kind]); err != nil {
			return err
		}
	}
	w.running, err = w.serves(ctx, w.namespace)
	return err
}

// step makes a change if admission takes it.
func (w *walk) step(ctx context.Context, c specs.Change) (bool, error) {
	kind, patch, word := kindOf(c), c.Set, "set "
	if w.random.IntN(3) == 0 && c.Leaf != specs.Refused().Leaf {
		patch, word = c.Unset, "unset "
	}
	next := specs.Merge(w.specs[kind], patch)
	if fmt.Sprint(next) == fmt.Sprint(w.specs[kind]) {
		return false, nil
	}
	err := w.put(ctx, kind, next)
	switch {
	case apierrors.IsInvalid(err) || apierrors.IsForbidden(err):
		w.refused.Add(1)
		return false, nil
	case err != nil:
		return false, fmt.Errorf("%s%s: %w", word, c.Leaf, err)
	}
	w.specs[kind] = next
	w.path = append(w.path, word+c.Leaf)
	w.since++
	w.transitions.Add(1)
	return true, nil
}

// put writes a spec whole, over a status that may have moved meanwhile.
func (w *walk) put(ctx context.Context, kind string, spec specs.Object) error {
	for {
		live := object(kind, w.namespace, nil)
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(live), live); err != nil {
			return err
		}
		live.Object["spec"] = specs.Merge(spec, nil)
		err := w.Client.Update(ctx, live)
		switch {
		case apierrors.IsConflict(err):
			continue
		case err != nil:
			return err
		}
		return w.note(live)
	}
}

// compare makes a fresh namespace of the same specs and waits until both are the same and stay so. Where the manager refuses
// the specs, a fresh server has nothing that runs, while the walked one keeps what it has.
func (w *walk) compare(ctx context.Context) error {
	fresh, err := w.begin(ctx, w.specs)
	if err != nil {
		return err
	}
	said, err := w.verdict(ctx, fresh)
	if err != nil {
		return err
	}
	if said.refuses() {
		err = w.refusal(ctx, said)
	} else {
		err = w.agree(ctx, fresh)
	}
	return errors.Join(err, w.Clear(ctx, fresh))
}
