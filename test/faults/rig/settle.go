// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// Times of waiting. None is asserted: they bound a wait on a loaded machine.
const (
	// Patience is how long a state may take to be reached.
	Patience = 90 * time.Second
	poll     = 100 * time.Millisecond
)

// Reach waits until a namespace is in a state, and says how long it took. What it is instead is in the error.
func (r *Rig) Reach(ctx context.Context, namespace string, want State) (time.Duration, error) {
	return r.reach(ctx, namespace, want, Patience)
}

// ReachIn is Reach with a patience of its own.
func (r *Rig) ReachIn(ctx context.Context, namespace string, want State, patience time.Duration) error {
	_, err := r.reach(ctx, namespace, want, patience)
	return err
}

func (r *Rig) reach(ctx context.Context, namespace string, want State, patience time.Duration) (time.Duration, error) {
	began := time.Now()
	for {
		changed := r.view.changed(namespace)
		got, err := r.State(ctx, namespace)
		if err != nil {
			return 0, err
		}
		switch took := time.Since(began); {
		case maps.Equal(want, got):
			return took, nil
		case took > patience:
			return took, fmt.Errorf("namespace %s differs after %v:\n%s", namespace, patience, Diff(want, got))
		}
		moved, err := next(ctx, changed, 10*poll)
		if err != nil {
			return 0, err
		}
		if moved {
			// One change seldom comes alone.
			if err := Wait(ctx, poll/5); err != nil {
				return 0, err
			}
		}
	}
}

// Agree waits until two namespaces have come to rest in the same state. Where they rest in different ones, level brings what is
// wanted to the ground of the other.
func (r *Rig) Agree(ctx context.Context, want, got string, level func(context.Context) error) error {
	began := time.Now()
	for {
		// Whatever moves in the first while the second comes to rest is seen by its channel.
		wanted, err := r.Rest(ctx, want, 5*poll)
		if err != nil {
			return err
		}
		changed := r.view.changed(want)
		found, err := r.Rest(ctx, got, 10*poll)
		if err != nil {
			return err
		}
		moved := false
		select {
		case <-changed:
			moved = true
		default:
		}
		switch {
		case maps.Equal(wanted, found) && !moved:
			return nil
		case time.Since(began) > Patience:
			return fmt.Errorf("namespace %s differs after %v:\n%s", got, Patience, Diff(wanted, found))
		case !moved:
			if err := level(ctx); err != nil {
				return err
			}
		}
	}
}

// Rest waits until nothing has changed in a namespace for a while, and a longer while where something there is still on its
// way, and gives the state that it came to.
func (r *Rig) Rest(ctx context.Context, namespace string, quiet time.Duration) (State, error) {
	began, since := time.Now(), time.Now()
	for {
		moved, err := next(ctx, r.view.changed(namespace), quiet)
		if moved {
			since = time.Now()
		}
		if err != nil || time.Since(began) > Patience {
			return nil, errors.Join(err, fmt.Errorf("namespace %s does not come to rest in %v", namespace, Patience))
		}
		if moved {
			continue
		}
		undecided, err := r.undecided(ctx, namespace)
		if err != nil {
			return nil, err
		}
		if !undecided || time.Since(since) > 10*quiet {
			return r.State(ctx, namespace)
		}
	}
}

// Wait waits, or ends with its context.
func Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// undecided says whether anything in a namespace is still on its way by its own words: on a busy machine a manager may be
// silent for longer than a quiet moment.
func (r *Rig) undecided(ctx context.Context, namespace string) (bool, error) {
	objects, err := r.Objects(ctx, namespace)
	if err != nil {
		return false, err
	}
	waiting := false
	for i := range objects {
		if refused(&objects[i]) {
			return false, nil // what waits, waits for a person
		}
		waiting = waiting || objects[i].GroupVersionKind().Group == mcpv1alpha1.GroupVersion.Group && onItsWay(&objects[i])
	}
	return waiting, nil
}

// refused says whether the manager has refused the spec of a server as it is now.
func refused(o *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range list(conditions) {
		if c["reason"] == mcpv1alpha1.ReasonApplyFailed && c["observedGeneration"] == o.GetGeneration() {
			return true
		}
	}
	return false
}

func onItsWay(o *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range list(conditions) {
		if c["reason"] == mcpv1alpha1.ReasonProgressing || c["reason"] == mcpv1alpha1.ReasonPending || c["observedGeneration"] != o.GetGeneration() {
			return true
		}
	}
	return len(conditions) == 0
}
