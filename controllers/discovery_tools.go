// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/library"
	"toolgate.dev/toolgate/controllers/writes"
	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/render"
)

// ofTool begins the name of an attempt at the MCPTool of a tool.
const ofTool = "MCPTool "

// makeTools makes an MCPTool for every listed name that has none, and says whether it made any. What can't be made is noted in
// the Library, for the server's status; the error is what may go well the next time.
func (r *DiscoveryReconciler) makeTools(ctx context.Context, d *discovery, tools []mcpv1alpha1.MCPTool) (bool, error) {
	if d.server == nil || d.going() {
		return false, nil
	}
	there := map[string]bool{}
	for i := range tools {
		there[tools[i].Spec.ToolName] = true
	}
	known, now := r.Library.LeftOut(d.key), r.Clock.Now()
	left := library.LeftOut{Why: map[string]decide.Refusal{}, Again: known.Again}
	retry := !now.Before(known.Again)
	if retry {
		left.Again = now.Add(refusedRetry)
	}
	var objects []string
	var failed error
	claimed := map[string]string{}
	for _, name := range d.view.Names() {
		if there[name] || name == "" || d.served(name) {
			continue
		}
		if why, out := known.Why[name]; out && !retry {
			left.Why[name] = why
			continue
		}
		object, err := r.objectName(ctx, d, name, claimed)
		if err != nil {
			failed = errors.Join(failed, r.leaveOut(d, left, name, err))
		}
		if object != "" {
			claimed[object] = name
			objects = append(objects, object)
		}
	}
	results := forEach(len(objects), func(i int) error {
		return r.Apply.Tool(ctx, render.Tool(d.server, objects[i], claimed[objects[i]], true))
	})
	for i, err := range results {
		failed = errors.Join(failed, r.leaveOut(d, left, claimed[objects[i]], err))
	}
	r.forgetAttempts(d, there)
	if r.Library.LeaveOut(d.key, left) {
		r.Passes.Written(d.key)
	}
	return len(objects) > 0, failed
}

// served says of a tool that sessions alone list whether an MCPTool of it would have it served at once: nothing pins, and nobody has
// asked for it.
func (d *discovery) served(name string) bool {
	return render.Pinning(d.server) == mcpv1alpha1.PinningOff && !d.view.Discovers(name)
}

// forgetAttempts drops what is known of attempts at tools that have their MCPTool, or that the server has stopped listing.
func (r *DiscoveryReconciler) forgetAttempts(d *discovery, there map[string]bool) {
	r.Library.Abandon(d.key, func(child string) bool {
		tool, is := strings.CutPrefix(child, ofTool)
		return is && (there[tool] || !d.view.Lists(tool))
	})
}

// leaveOut notes why a tool can't be made where a person must put it right, or has had no answer for long, and gives back any error that
// is no verdict.
func (r *DiscoveryReconciler) leaveOut(d *discovery, tools library.LeftOut, tool string, err error) error {
	refused, err := writes.Classify(err)
	refused = r.Library.Answered(d.key, ofTool+tool, library.Attempt{At: r.Clock.Now(), Refused: refused, Err: err})
	if refused != (decide.Refusal{}) {
		tools.Why[tool] = refused
	}
	return err
}

// objectName is what the MCPTool of a tool is to be named; "" where there is one, which the list did not have yet. The error is
// a *writes.ForeignError where all that it could be is held by others, or claimed by tools that are about to be made: the tool then
// stays unknown to dispatchers, which refuse it.
func (r *DiscoveryReconciler) objectName(ctx context.Context, d *discovery, tool string, claimed map[string]string) (string, error) {
	object := catalog.ObjectName(d.server.Name, tool)
	for _, name := range []string{object, catalog.SecondObjectName(d.server.Name, tool)} {
		holder, err := r.holder(ctx, d, name)
		switch {
		case err != nil:
			return "", err
		case holder != nil && holder.Spec.ServerRef.Name == d.server.Name && holder.Spec.ToolName == tool:
			return "", nil
		}
		if _, also := claimed[name]; !also && holder == nil {
			return name, nil
		}
	}
	return "", &writes.ForeignError{Kind: "MCPTool", Name: object}
}

// holder is the MCPTool that has a name; nil for none.
func (r *DiscoveryReconciler) holder(ctx context.Context, d *discovery, object string) (*mcpv1alpha1.MCPTool, error) {
	var t mcpv1alpha1.MCPTool
	err := r.Gather.Client.Get(ctx, client.ObjectKey{Namespace: d.key.Namespace, Name: object}, &t)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading MCPTool %s: %w", object, err)
	}
	return &t, nil
}
