// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/gather"
	"toolgate.dev/toolgate/controllers/keyring"
	"toolgate.dev/toolgate/controllers/library"
	"toolgate.dev/toolgate/controllers/waves"
	"toolgate.dev/toolgate/controllers/writes"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/document"
	"toolgate.dev/toolgate/internal/render/workload"
)

// refusedRetry is between attempts at what a user must put right where nothing that is watched tells that it was: an object
// of somebody else that holds a name, a quota, an admission policy.
const refusedRetry = 30 * time.Second

// farOff is how long to wait at most.
const farOff = 365 * 24 * time.Hour

// ServerReconciler writes the children of an MCPServer and its status.
type ServerReconciler struct {
	Gather   *gather.Gatherer
	Apply    *writes.Applier
	Status   *writes.StatusWriter
	Library  *library.Library
	Waves    *waves.Gate
	Platform workload.Platform
	Keys     *keyring.Keeper
	Clock    clock.PassiveClock
}

// Reconcile brings one server's children and status up to date. A child that can't be written does not keep the status from
// being written.
func (r *ServerReconciler) Reconcile(ctx context.Context, s *mcpv1alpha1.MCPServer) (reconcile.Result, error) {
	if going(s) {
		return reconcile.Result{}, nil
	}
	done := r.inTime(ctx, s)
	// Behind the status, and also where that can't be written: the next pass finds the Deployment changed, and knows nothing of it.
	defer r.Status.Tell(s, done.news)
	applyErr := errors.Join(done.err, r.tellWaves(ctx, s, done.held))
	in, err := r.gather(ctx, s, done)
	if err != nil {
		return reconcile.Result{}, errors.Join(applyErr, err)
	}
	in.Unanswered = done.err != nil
	want := decide.Server(in)
	// Before it is recorded, after which tools are pinned out of it: the server may list something else by then.
	r.Library.KeepFirsts(client.ObjectKeyFromObject(s), decide.Firsts(r.Library.Firsts(client.ObjectKeyFromObject(s)), want.Revisions, in.Pods))
	if err := r.Status.Server(ctx, s, want); err != nil {
		return reconcile.Result{}, errors.Join(applyErr, err)
	}
	if applyErr != nil {
		return reconcile.Result{}, applyErr
	}
	if err := r.Keys.Heal(ctx, s, in.Pods, in.Now); err != nil {
		return reconcile.Result{}, err
	}
	next := until(in.NextLook(want.Conditions), in.Now)
	if done.refused != (decide.Refusal{}) && (next == 0 || next > refusedRetry) {
		next = refusedRetry
	}
	return reconcile.Result{RequeueAfter: next}, nil
}

// inTime applies the children in the half of a pass: where each of them waits for a webhook that does not answer, there is still time to
// say so.
func (r *ServerReconciler) inTime(ctx context.Context, s *mcpv1alpha1.MCPServer) outcome {
	if end, bounded := ctx.Deadline(); bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
	}
	return r.applyChildren(ctx, s)
}

// tellWaves says how far a server is with a release where a pass did not get as far as its Deployment, because of what held it.
func (r *ServerReconciler) tellWaves(ctx context.Context, s *mcpv1alpha1.MCPServer, held decide.Refusal) error {
	key, none := client.ObjectKeyFromObject(s), decide.Refusal{}
	state := r.Waves.State(key)
	if state == "" || state == waves.Untold || state == waves.Upgrading && held != none {
		// What is refused now, or did not answer, is not why others wait: its new pods are, until they are available.
		d, pods, err := r.Gather.Running(ctx, s)
		if err != nil {
			return err
		}
		settled, err := r.upToDate(s, d, pods)
		switch {
		case err != nil:
			return err
		case waves.Awaited(d):
			return r.Waves.Report(ctx, key, waves.Upgrading)
		case settled:
			return r.Waves.Report(ctx, key, waves.Settled)
		case state == waves.Upgrading:
			return r.Waves.Report(ctx, key, waves.Untold)
		}
	}
	if held != none {
		return r.Waves.Refuse(ctx, key)
	}
	return r.Waves.Seen(ctx, key)
}

// until is how long to wait for a time; 0 for none.
func until(next, now time.Time) time.Duration {
	if next.IsZero() {
		return 0
	}
	// Times in a status are whole seconds: come a little later rather than a little too early. The end of a trust may be centuries away,
	// which is no duration.
	return min(max(next.Sub(now), 0), farOff) + 100*time.Millisecond
}

func (r *ServerReconciler) gather(ctx context.Context, s *mcpv1alpha1.MCPServer, done outcome) (decide.ServerInput, error) {
	in := decide.ServerInput{Server: s, Now: r.Clock.Now(), Refused: done.refused, Held: done.held, Guard: done.guard, DocumentError: r.Library.Refused(client.ObjectKeyFromObject(s)),
		LeftOut: r.Library.LeftOut(client.ObjectKeyFromObject(s)).Why, Upgrade: r.Waves.State(client.ObjectKeyFromObject(s))}
	var err error
	if in.Revision, err = render.Revision(s); err != nil {
		return in, err
	}
	if in.Deployment, in.Pods, err = r.Gather.Running(ctx, s); err != nil {
		return in, err
	}
	if in.Failed, err = r.Gather.Failed(ctx, s, in.Deployment); err != nil {
		return in, err
	}
	asked, err := r.Gather.DocumentInput(ctx, s, in.Deployment, in.Pods)
	if err != nil {
		return in, err
	}
	in.Tools, in.MissingRuleSets = asked.Tools, document.MissingRuleSets(s, nil, names(asked.RuleSets))
	err = r.document(ctx, &in, asked)
	return in, err
}

// document says which document there is, and whether it is the one that is asked for. That one can't be written, or denies
// everything, is seen here too: a manager that has just started remembers nothing of it.
func (r *ServerReconciler) document(ctx context.Context, in *decide.ServerInput, asked document.Input) error {
	held, err := r.Gather.Written(ctx, in.Server, r.Library)
	if err != nil {
		return err
	}
	in.Document, in.Piece, in.PieceClosed = held.Digest, held.Piece, held.Closed
	newest, err := r.Library.Document(asked)
	refused, err := writes.Classify(err)
	switch {
	case err != nil:
		return err
	case refused != (decide.Refusal{}):
		in.DocumentError = refused
		return nil
	case in.Refused.Reason != mcpv1alpha1.ReasonInvalidSpec:
		in.DocumentError = r.Library.Unwritten(client.ObjectKeyFromObject(in.Server), newest)
	}
	in.DocumentStale = !newest.Is(held)
	return nil
}

func names(sets []mcpv1alpha1.RuleSet) map[string]bool {
	there := make(map[string]bool, len(sets))
	for i := range sets {
		there[sets[i].Name] = true
	}
	return there
}
