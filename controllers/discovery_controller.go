// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/decide/admission"
	"toolgate.dev/toolgate/controllers/gather"
	"toolgate.dev/toolgate/controllers/keyring"
	"toolgate.dev/toolgate/controllers/library"
	"toolgate.dev/toolgate/controllers/polled"
	"toolgate.dev/toolgate/controllers/triggers"
	"toolgate.dev/toolgate/controllers/waves"
	"toolgate.dev/toolgate/controllers/writes"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/document"
	"toolgate.dev/toolgate/internal/rules"
)

// DiscoveryReconciler has a server's pods polled and turns what they list into MCPTools. Requests name an MCPServer, which
// may be gone: what people wrote of its tools stays, and says so.
type DiscoveryReconciler struct {
	Gather  *gather.Gatherer
	Apply   *writes.Applier
	Status  *writes.StatusWriter
	Library *library.Library
	Waves   *waves.Gate
	Keys    *keyring.Ring
	Clock   clock.PassiveClock
	Passes  *triggers.Passes
}

// discovery is what is known of one server in one pass.
type discovery struct {
	key    types.NamespacedName
	server *mcpv1alpha1.MCPServer
	view   *admission.View
	// revisions are those that the pods run; live are those with the one that the spec asks for.
	revisions, live []string
	// replicas that the Deployment asks for; nil while there is none.
	replicas *int32
	// held is the server's document as it is written; refused is why it is not the one that is asked for, and inForce what it says
	// then. untried says that nobody has tried to write that yet.
	held    library.Held
	refused decide.Refusal
	inForce decide.InForce
	untried bool
	// trustLapses is decide.TrustLapses.
	trustLapses time.Time
	// broken are the sets of the document that is asked for that deny what they govern.
	broken []*rules.Compiled
}

// Reconcile brings the tools of one server up to date.
func (r *DiscoveryReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	d, err := r.look(ctx, req.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	if d.unrecorded() {
		// The MCPServer's own reconciler records the first catalogue; its status is watched.
		return reconcile.Result{}, nil
	}
	defer r.Passes.Begin(d.key)()
	tools, err := r.Gather.OwnTools(ctx, d.key)
	if err != nil {
		return reconcile.Result{}, err
	}
	// A tool that can't be made keeps none of the others from being told of.
	made, failed := r.makeTools(ctx, d, tools)
	if made {
		if tools, err = r.Gather.OwnTools(ctx, d.key); err != nil {
			return reconcile.Result{}, errors.Join(failed, err)
		}
	}
	if d.server != nil {
		if err := r.document(ctx, d, tools); err != nil {
			return reconcile.Result{}, errors.Join(failed, err)
		}
	}
	// Before the tools are told of: what lapses while they are is come back for.
	wait := r.again(d)
	failed = errors.Join(failed, r.updateAll(ctx, d, tools))
	return reconcile.Result{RequeueAfter: wait}, failed
}

// again is how long until a server's tools are looked at without any event; 0 for never.
func (r *DiscoveryReconciler) again(d *discovery) time.Duration {
	if d.server == nil {
		return 0
	}
	now := r.Clock.Now()
	wait := until(decide.TrustEnds(d.server.Spec.Trust, now, d.trustLapses), now)
	if left := r.Library.LeftOut(d.key); len(left.Why) > 0 {
		if retry := until(left.Again, now); wait == 0 || retry < wait {
			wait = retry
		}
	}
	return wait
}

// look gathers, and tells the prober whom to ask.
func (r *DiscoveryReconciler) look(ctx context.Context, key types.NamespacedName) (*discovery, error) {
	d := &discovery{key: key, server: &mcpv1alpha1.MCPServer{}}
	err := r.Gather.Client.Get(ctx, key, d.server)
	if apierrors.IsNotFound(err) {
		return r.forget(ctx, d)
	}
	if err != nil {
		return nil, fmt.Errorf("reading MCPServer %s: %w", key.Name, err)
	}
	deployment, pods, err := r.Gather.Running(ctx, d.server)
	if err != nil {
		return nil, err
	}
	if d.going() {
		// As long as somebody's finalizer holds it, its pods may serve; but it is not upgraded any more.
		if !serves(pods) {
			return r.forget(ctx, d)
		}
		if err := r.Waves.Forget(ctx, key); err != nil {
			return nil, err
		}
	}
	d.replicas = decide.Replicas(deployment)
	if d.held, err = r.Gather.Written(ctx, d.server, r.Library); err != nil {
		return nil, err
	}
	current, err := render.Revision(d.server)
	if err != nil {
		return nil, err
	}
	r.Gather.Prober.Watch(key, r.targets(d.server, pods, d.held)) //nolint:contextcheck // polling outlives this reconcile
	d.view = decide.NewView(d.server, current, pods).Recall(r.Library.Firsts(key))
	d.trustLapses = decide.TrustLapses(d.server, pods)
	d.revisions = gather.RevisionsOf(pods)
	d.live = append(slices.Clone(d.revisions), current)
	return d, nil
}

// forget drops what is remembered of a server that is gone, or is going and serves no more.
func (r *DiscoveryReconciler) forget(ctx context.Context, d *discovery) (*discovery, error) {
	r.Gather.Prober.Watch(d.key, nil) //nolint:contextcheck // polling outlives this reconcile
	r.Library.Forget(d.key)
	r.Gather.Forget(d.key)
	d.server, d.view = nil, decide.NewView(nil, "", nil)
	return d, r.Waves.Forget(ctx, d.key)
}

// going says of a server that is there whether it is being deleted: nothing is made for it any more.
func (d *discovery) going() bool { return d.server != nil && going(d.server) }

// targets are the pods to ask. A pod is awaited while it has not told its catalogue, does not enforce the newest document,
// or has a server that fails: then every change is worth knowing at once.
func (r *DiscoveryReconciler) targets(s *mcpv1alpha1.MCPServer, pods []decide.Pod, held library.Held) []polled.Target {
	var out []polled.Target
	for i := range pods {
		p := &pods[i]
		if p.Status.PodIP == "" {
			continue
		}
		state := p.Seen.State
		out = append(out, polled.Target{
			UID:      string(p.UID),
			Revision: p.Revision(),
			Pod:      p.Name,
			IP:       p.Status.PodIP,
			Started:  dispatcherStarted(p),
			Key:      r.Keys.Named(s.UID, p.StateKey()),
			Awaited:  state == nil || state.Catalogue == nil || !held.Current(state.Registry.Digest) || state.Health.State != string(mcpv1alpha1.Healthy),
		})
	}
	return out
}

func dispatcherStarted(p *decide.Pod) string {
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if s.Name == render.ContainerDispatcher && s.State.Running != nil {
			return s.ContainerID
		}
	}
	return ""
}

// unrecorded says that a catalogue is known of which nothing may be pinned yet.
func (d *discovery) unrecorded() bool {
	return d.server != nil && d.view.Unrecorded()
}

// document looks at the document that the server's objects ask for: which of its sets deny what they govern, and why dispatchers
// don't have it.
func (r *DiscoveryReconciler) document(ctx context.Context, d *discovery, tools []mcpv1alpha1.MCPTool) error {
	sets, err := r.Gather.RuleSets(ctx, d.key.Namespace)
	if err != nil {
		return err
	}
	doc, err := r.Library.Document(document.Input{Server: d.server, Tools: tools, RuleSets: sets, Revisions: d.revisions, Replicas: d.replicas})
	if d.refused, err = writes.Classify(err); err != nil {
		return err
	}
	if d.refused == (decide.Refusal{}) {
		d.broken = doc.BrokenSets()
		d.untried = !doc.Is(d.held) && !r.Library.Tried(d.key)
		d.refused = r.unwritten(d, doc)
	}
	if d.refused != (decide.Refusal{}) {
		d.inForce, err = r.Gather.InForce(ctx, d.server)
	}
	return err
}

// unwritten says why a document is not the one that is in the cluster; the zero Refusal where it is, or is on its way.
func (r *DiscoveryReconciler) unwritten(d *discovery, doc *library.Document) decide.Refusal {
	if why := render.Invalid(d.server); why != "" && !doc.Is(d.held) {
		d.untried = false // nobody will
		return decide.Refusal{Reason: mcpv1alpha1.ReasonInvalidSpec, Message: why}
	}
	return r.Library.Unwritten(d.key, doc)
}
