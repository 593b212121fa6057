// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/gather"
	"toolgate.dev/toolgate/controllers/library"
	"toolgate.dev/toolgate/controllers/writes"
	"toolgate.dev/toolgate/internal/mcp"
	"toolgate.dev/toolgate/internal/render/document"
	"toolgate.dev/toolgate/internal/rules"
)

// RuleSetReconciler writes the status of a RuleSet. What dispatchers enforce is the registry controller's.
type RuleSetReconciler struct {
	Gather  *gather.Gatherer
	Status  *writes.StatusWriter
	Library *library.Library
	Clock   clock.PassiveClock
}

// Reconcile says whether a set compiles, and who enforces it.
func (r *RuleSetReconciler) Reconcile(ctx context.Context, rs *mcpv1alpha1.RuleSet) (reconcile.Result, error) {
	if !rs.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	in := decide.RuleSetInput{RuleSet: rs, Now: r.Clock.Now(), Errors: r.Library.RuleErrors(rs)}
	broken := r.Library.Broken(rs)
	servers, err := r.Gather.Servers(ctx, rs.Namespace)
	if err != nil {
		return reconcile.Result{}, err
	}
	var namer library.Namer
	for i := range servers {
		tools, err := r.Gather.Tools(ctx, client.ObjectKeyFromObject(&servers[i]))
		if err != nil {
			return reconcile.Result{}, err
		}
		set, reaches := document.SetFor(rs, &servers[i], tools, broken)
		if !reaches {
			continue
		}
		reached, inUse, err := r.reached(ctx, namer.Name(set), &servers[i])
		if err != nil {
			return reconcile.Result{}, err
		}
		if going(&servers[i]) && !inUse {
			continue // as long as somebody's finalizer holds it, it may serve
		}
		reached.Tools = governed(set, &servers[i], tools)
		in.Reached = append(in.Reached, reached)
	}
	want := decide.RuleSet(in)
	if err := r.Status.RuleSet(ctx, rs, want); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: until(in.NextLook(want.Conditions), in.Now)}, nil
}

// reached asks which pods of a server enforce a document that holds the set just as it is now.
func (r *RuleSetReconciler) reached(ctx context.Context, set library.Named, s *mcpv1alpha1.MCPServer) (out decide.Reached, inUse bool, err error) {
	key := client.ObjectKeyFromObject(s)
	out.Server = s.Name
	held, err := r.Gather.Written(ctx, s, r.Library)
	if err != nil {
		return out, false, err
	}
	out.Written = held.Has(set)
	_, pods, err := r.Gather.Running(ctx, s)
	if err != nil {
		return out, false, err
	}
	for i := range pods {
		p := &pods[i]
		switch {
		case !p.Serves():
		case p.Seen.Forged:
			out.Lagging = append(out.Lagging, p.Name)
		case p.Unheard():
			out.Unheard = append(out.Unheard, p.Name)
		case p.Seen.State == nil || !r.Library.Known(key, p.Seen.State.Registry.Digest).Has(set):
			out.Lagging = append(out.Lagging, p.Name)
		}
	}
	return out, serves(pods), nil
}

// governed counts the tools of a server that a set has a say on, without those that it lists no more.
func governed(set rules.Set, s *mcpv1alpha1.MCPServer, tools []mcpv1alpha1.MCPTool) int {
	// Whom a set governs does not depend on its rules, which are costly to compile for each server.
	set.Rules, set.Broken = nil, "counting"
	compiled, _ := rules.Compile(set)
	n := 0
	for i := range tools {
		if !decide.Gone(&tools[i]) && compiled.Governs(decide.ForRules(s, &tools[i]), mcp.MethodCallTool) {
			n++
		}
	}
	return n
}
