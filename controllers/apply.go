// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/gather"
	"toolgate.dev/toolgate/internal/render"
)

// Applier writes children: by server-side apply, and only where something differs.
type Applier struct {
	Client client.Client
	// Live reads past the cache, which holds nothing but our own.
	Live client.Reader
	// known are live objects that were found to be as they are wanted.
	known asWanted
}

// foreignError says that a name is taken by an object that is not ours.
type foreignError struct {
	kind, name string
}

func (e *foreignError) Error() string {
	return fmt.Sprintf("%s %s exists and does not belong to this object; delete or rename it, or choose another name", e.kind, e.name)
}

// child is one object to apply.
type child[O client.Object, A runtime.ApplyConfiguration] struct {
	kind string
	// live is an empty object with name and namespace, to be filled.
	live O
	want A
	// owned says whether a live object is ours to write.
	owned func(O) bool
	// extract gives what a field owner has applied to a live object.
	extract func(O, string) (A, error)
}

// apply makes the live object as wanted. An apply without a change is still a write request, so what our field owner has
// applied already is compared first. It gives a *foreignError for an object that is not ours, and then writes nothing.
func apply[O client.Object, A runtime.ApplyConfiguration](ctx context.Context, a *Applier, c child[O, A]) error {
	key := client.ObjectKeyFromObject(c.live)
	err := a.Client.Get(ctx, key, c.live)
	if apierrors.IsNotFound(err) {
		// Not ours, or ours with its label taken off, or not there at all: the cache can't tell these apart.
		err = a.Live.Get(ctx, key, c.live)
	}
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return fmt.Errorf("reading %s %s: %w", c.kind, key.Name, err)
	case !c.owned(c.live):
		return &foreignError{kind: c.kind, name: key.Name}
	default:
		if same, err := a.compare(c.live, c.want, func() (runtime.ApplyConfiguration, error) { return c.extract(c.live, render.FieldOwner) }); err != nil || same {
			return err
		}
	}
	if err := a.Client.Apply(ctx, c.want, client.FieldOwner(render.FieldOwner), client.ForceOwnership); err != nil {
		return fmt.Errorf("applying %s %s: %w", c.kind, key.Name, err)
	}
	return nil
}

// equalConfigurations compares by what would be sent.
func equalConfigurations(a, b runtime.ApplyConfiguration) (bool, error) {
	left, err := json.Marshal(a)
	if err != nil {
		return false, fmt.Errorf("encoding an apply configuration: %w", err)
	}
	right, err := json.Marshal(b)
	if err != nil {
		return false, fmt.Errorf("encoding an apply configuration: %w", err)
	}
	return bytes.Equal(left, right), nil
}

// deleteOwned takes back a child of the server that nothing asks for any more. What only has its name stays.
func deleteOwned(ctx context.Context, a *Applier, s *mcpv1alpha1.MCPServer, live client.Object) error {
	err := a.Client.Get(ctx, client.ObjectKeyFromObject(live), live)
	if err != nil || !gather.ControlledBy[client.Object](s)(live) {
		return client.IgnoreNotFound(err)
	}
	uid := live.GetUID()
	return client.IgnoreNotFound(a.Client.Delete(ctx, live, client.Preconditions{UID: &uid}))
}

// classify sorts the errors of writing a child, here and nowhere else: what the user must act upon becomes a Refusal for a
// condition and is not retried as an error; the rest is transient and is returned.
func classify(err error) (decide.Refusal, error) {
	var foreign *foreignError
	switch {
	case err == nil:
		return decide.Refusal{}, nil
	case errors.As(err, &foreign):
		return decide.Refusal{Reason: mcpv1alpha1.ReasonNameConflict, Message: foreign.Error()}, nil
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		return decide.Refusal{Reason: mcpv1alpha1.ReasonApplyFailed, Message: err.Error()}, nil
	default:
		return decide.Refusal{}, err
	}
}
