// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/decide/admission"
	"toolgate.dev/toolgate/internal/render"
)

// writers is how many tools of one server are written at a time: a write waits for the API server most of its time.
const writers = 8

// updateAll brings all tools up to date. One that can't be written keeps none of the others from being written.
func (r *DiscoveryReconciler) updateAll(ctx context.Context, d *discovery, tools []mcpv1alpha1.MCPTool) error {
	duplicates := render.Duplicates(tools, func(t *mcpv1alpha1.MCPTool) bool {
		return admission.Tool{Object: t, Server: d.server, View: d.view}.Met()
	})
	return errors.Join(forEach(len(tools), func(i int) error {
		return r.update(ctx, d, &tools[i], duplicates[tools[i].Name])
	})...)
}

// forEach does something for each of n tools, some at a time, and gives what came of each.
func forEach(n int, do func(i int) error) []error {
	failed := make([]error, n)
	var group errgroup.Group
	group.SetLimit(writers)
	for i := range n {
		group.Go(func() error {
			failed[i] = do(i)
			return nil
		})
	}
	_ = group.Wait()
	return failed
}

// update brings one tool's metadata and status up to date, or deletes it when nothing is left to tell. The tool is the cache's: what
// writes has a copy of its own.
func (r *DiscoveryReconciler) update(ctx context.Context, d *discovery, t *mcpv1alpha1.MCPTool, duplicate render.Fault) error {
	switch {
	case d.leftBehind(t):
		return r.collect(ctx, d, t.DeepCopy())
	case d.server == nil && !render.OwnedByPeople(t):
		// It goes with its server.
		return nil
	}
	in := decide.ToolInput{
		Tool: t, Server: d.server, Now: r.Clock.Now(), View: d.view,
		Duplicate: duplicate, Broken: d.broken, DocumentError: d.refused, InForce: d.inForce, Untried: d.untried,
		TrustLapses: d.trustLapses,
		Definitions: r.Library.Definitions,
	}
	if decide.Abandoned(in, d.live) {
		return r.abandon(ctx, t.DeepCopy())
	}
	if !d.described(t) {
		in.Tool = t.DeepCopy()
		if err := r.applyMetadata(ctx, d, in.Tool); err != nil {
			return err
		}
	}
	want := decide.Tool(in)
	if equality.Semantic.DeepEqual(in.Tool.Status, want) {
		return nil
	}
	if err := r.Status.Tool(ctx, in.Tool.DeepCopy(), want); err != nil {
		return fmt.Errorf("MCPTool %s: %w", t.Name, err)
	}
	return nil
}

func (r *DiscoveryReconciler) abandon(ctx context.Context, t *mcpv1alpha1.MCPTool) error {
	if err := r.Apply.DeleteUnchanged(ctx, t); err != nil {
		return fmt.Errorf("deleting MCPTool %s: %w", t.Name, err)
	}
	return nil
}

// described says whether a tool has the labels and the owner that it should have: its server while no person has a word in it,
// nobody from a person's first field on, so that no decision of theirs is lost with the server.
func (d *discovery) described(t *mcpv1alpha1.MCPTool) bool {
	if d.server == nil || d.going() {
		return true
	}
	ref, ours := metav1.GetControllerOf(t), !render.OwnedByPeople(t)
	labelled := true
	for k, v := range render.ToolLabels(d.server.Name, ours) {
		labelled = labelled && t.Labels[k] == v
	}
	return labelled && ours == (ref != nil && ref.UID == d.server.UID)
}

// applyMetadata gives a tool its labels and owner.
func (r *DiscoveryReconciler) applyMetadata(ctx context.Context, d *discovery, t *mcpv1alpha1.MCPTool) error {
	if err := r.Apply.Tool(ctx, render.Tool(d.server, t.Name, t.Spec.ToolName, !render.OwnedByPeople(t))); err != nil {
		return err
	}
	// The status is about to be written on what was just applied.
	if err := r.Gather.Client.Get(ctx, client.ObjectKeyFromObject(t), t); err != nil {
		return fmt.Errorf("reading MCPTool %s: %w", t.Name, err)
	}
	return nil
}
