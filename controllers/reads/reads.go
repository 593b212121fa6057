// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reads bounds how long a read waits for the cache. It knows of no controller and of no kind.
//
// controller-runtime's reads wait until the cache has what was written. Where watches break it may never know that it has: of
// an object that was written and then deleted while nobody looked, a list anew tells neither, and every read of its kind would
// wait for ever, or until something else of the kind moves. So a wait has an end. One object is then read from the API server,
// which knows best; a list is taken from the cache as it is, which is as old as any view of what others write may be.
package reads

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Patience is how long a read waits for the cache to have what was written. Usual are milliseconds.
const Patience = 2 * time.Second

// Bounded is a client whose reads end their wait.
type Bounded struct {
	client.Client
	// Live reads from the API server.
	Live client.Reader
	// Patience is how long a read waits; Patience of this package is what a manager takes.
	Patience time.Duration
}

// Get reads one object: from the cache as soon as that has what was written of it, else from the API server.
func (b *Bounded) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := b.wait(ctx, func(ctx context.Context) error { return b.Client.Get(ctx, key, o, opts...) })
	if !errors.Is(err, errLate) {
		return err
	}
	if err := b.Live.Get(ctx, key, o, opts...); err != nil {
		return fmt.Errorf("reading past a late cache: %w", err)
	}
	return nil
}

// List reads objects from the cache, as soon as that has what was written of their kind, or at the end of the wait.
func (b *Bounded) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := b.wait(ctx, func(ctx context.Context) error { return b.Client.List(ctx, list, opts...) })
	if !errors.Is(err, errLate) {
		return err
	}
	return b.Client.List(ctx, list, append(opts, client.DisableReadYourWritesConsistency)...)
}

// errLate says that the wait has ended before the cache had what it should.
var errLate = errors.New("the cache is late")

func (b *Bounded) wait(ctx context.Context, read func(context.Context) error) error {
	bounded, cancel := context.WithTimeoutCause(ctx, b.Patience, errLate)
	defer cancel()
	err := read(bounded)
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(bounded), errLate) {
		return errLate
	}
	return err
}
