// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package writes

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"toolgate.dev/toolgate/controllers/applied"
	"toolgate.dev/toolgate/internal/render"
)

// Applier writes children: by server-side apply, and only where something differs.
type Applier struct {
	Client client.Client
	// Live reads past the cache, which holds nothing but our own.
	Live client.Reader
}

// Child is one object to apply.
type Child[O client.Object] struct {
	Kind string
	// Live is an empty object with name and namespace, to be filled.
	Live O
	Want runtime.ApplyConfiguration
	// Owned says whether a live object is ours to write.
	Owned func(O) bool
	// Complete gives what is written where Want leaves something to be read before; nil where it leaves nothing.
	Complete func(context.Context) (runtime.ApplyConfiguration, error)
	// Tidy takes away what an apply leaves, once all of ours is there; nil for nothing.
	Tidy func(context.Context, O) error
}

// Apply makes the live object as wanted. An apply without a change is still a write request, so what our field owner has
// applied already is compared first. It gives a *ForeignError for an object that is not ours, and then writes nothing.
func Apply[O client.Object](ctx context.Context, a *Applier, c Child[O]) error {
	key := client.ObjectKeyFromObject(c.Live)
	err := a.Client.Get(ctx, key, c.Live)
	if apierrors.IsNotFound(err) {
		// Not ours, or ours with its label taken off, or not there at all: the cache can't tell these apart.
		err = a.Live.Get(ctx, key, c.Live)
	}
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return fmt.Errorf("reading %s %s: %w", c.Kind, key.Name, err)
	default:
		applied.Reduce(c.Live)
		if !c.Owned(c.Live) {
			return &ForeignError{Kind: c.Kind, Name: key.Name}
		}
		same, err := applied.Same(c.Live, c.Want)
		if err != nil {
			return err
		}
		if same && c.Tidy != nil {
			return c.Tidy(ctx, c.Live)
		}
		if same {
			return nil
		}
	}
	if c.Complete != nil {
		if c.Want, err = c.Complete(ctx); err != nil {
			return err
		}
	}
	return a.force(ctx, c.Kind, key.Name, c.Want)
}

// Tool applies all that discovery ever writes of an MCPTool beside its status. Nothing is compared: it is for one that is not there,
// or not described as it should be.
func (a *Applier) Tool(ctx context.Context, want *render.ToolApplyConfiguration) error {
	return a.force(ctx, "MCPTool", *want.GetName(), want)
}

// HandOver has FieldOwnerScaling take the number of pods as it is. It forces nobody: what an autoscaler has made of it meanwhile stays.
func (a *Applier) HandOver(ctx context.Context, want *appsv1ac.DeploymentApplyConfiguration) error {
	if err := a.Client.Apply(ctx, want, client.FieldOwner(render.FieldOwnerScaling)); err != nil {
		return fmt.Errorf("handing over the replicas of Deployment %s: %w", *want.GetName(), err)
	}
	return nil
}

func (a *Applier) force(ctx context.Context, kind, name string, want runtime.ApplyConfiguration) error {
	if err := a.Client.Apply(ctx, want, client.FieldOwner(render.FieldOwner), client.ForceOwnership); err != nil {
		return fmt.Errorf("applying %s %s: %w", kind, name, err)
	}
	return nil
}
