// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/applied"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/gather"
	"toolgate.dev/toolgate/internal/render"
)

// Applier writes children: by server-side apply, and only where something differs.
type Applier struct {
	Client client.Client
	// Live reads past the cache, which holds nothing but our own.
	Live client.Reader
}

// foreignError says that a name is taken by an object that is not ours.
type foreignError struct {
	kind, name string
}

func (e *foreignError) Error() string {
	return fmt.Sprintf("%s %s exists and does not belong to this object; delete or rename it, or choose another name", e.kind, e.name)
}

// child is one object to apply.
type child[O client.Object] struct {
	kind string
	// live is an empty object with name and namespace, to be filled.
	live O
	want runtime.ApplyConfiguration
	// owned says whether a live object is ours to write.
	owned func(O) bool
	// complete gives what is written where want leaves something to be read before; nil where it leaves nothing.
	complete func(context.Context) (runtime.ApplyConfiguration, error)
	// tidy takes away what an apply leaves, once all of ours is there; nil for nothing.
	tidy func(context.Context, O) error
}

// apply makes the live object as wanted. An apply without a change is still a write request, so what our field owner has
// applied already is compared first. It gives a *foreignError for an object that is not ours, and then writes nothing.
func apply[O client.Object](ctx context.Context, a *Applier, c child[O]) error {
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
	default:
		applied.Reduce(c.live)
		if !c.owned(c.live) {
			return &foreignError{kind: c.kind, name: key.Name}
		}
		same, err := applied.Same(c.live, c.want)
		if err != nil {
			return err
		}
		if same && c.tidy != nil {
			return c.tidy(ctx, c.live)
		}
		if same {
			return nil
		}
	}
	if c.complete != nil {
		if c.want, err = c.complete(ctx); err != nil {
			return err
		}
	}
	if err := a.Client.Apply(ctx, c.want, client.FieldOwner(render.FieldOwner), client.ForceOwnership); err != nil {
		return fmt.Errorf("applying %s %s: %w", c.kind, key.Name, err)
	}
	return nil
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
