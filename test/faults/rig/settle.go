// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"fmt"
	"time"
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
	pause := poll / 4
	for {
		got, err := r.State(ctx, namespace)
		if err != nil {
			return 0, err
		}
		diff := Diff(want, got)
		switch {
		case diff == "":
			return time.Since(began), nil
		case time.Since(began) > patience:
			return time.Since(began), fmt.Errorf("namespace %s differs after %v:\n%s", namespace, patience, diff)
		}
		if err := Wait(ctx, pause); err != nil {
			return 0, err
		}
		pause = min(2*pause, 5*poll)
	}
}

// Agree waits until two namespaces are in the same state and stay in it for a while.
func (r *Rig) Agree(ctx context.Context, want, got string) error {
	began := time.Now()
	since := time.Time{}
	last := map[string]string{}
	for {
		wanted, err := r.State(ctx, want)
		if err != nil {
			return err
		}
		if _, err := r.reach(ctx, got, wanted, 3*time.Second); err != nil {
			if time.Since(began) < Patience {
				continue // what is wanted is still on its way, too
			}
			return err
		}
		versions, err := r.Versions(ctx, want)
		if err != nil {
			return err
		}
		switch {
		case !equal(last, versions):
			last, since = versions, time.Now()
		case time.Since(since) > time.Second:
			return nil
		}
		if time.Since(began) > 2*Patience {
			return fmt.Errorf("namespace %s does not come to rest in %v", want, 2*Patience)
		}
		if err := Wait(ctx, 3*poll); err != nil {
			return err
		}
	}
}

// Rest waits until nothing has changed in a namespace for a while and gives the state that it came to.
func (r *Rig) Rest(ctx context.Context, namespace string, quiet time.Duration) (State, error) {
	began, since := time.Now(), time.Now()
	last, err := r.Versions(ctx, namespace)
	if err != nil {
		return nil, err
	}
	for time.Since(since) < quiet {
		if time.Since(began) > Patience {
			return nil, fmt.Errorf("namespace %s does not come to rest in %v", namespace, Patience)
		}
		if err := Wait(ctx, poll); err != nil {
			return nil, err
		}
		now, err := r.Versions(ctx, namespace)
		if err != nil {
			return nil, err
		}
		if !equal(last, now) {
			last, since = now, time.Now()
		}
	}
	return r.State(ctx, namespace)
}

func equal(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for key, value := range a {
		if b[key] != value {
			return false
		}
	}
	return true
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
