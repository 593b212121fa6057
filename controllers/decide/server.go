// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/waves"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/workload"
)

// ServerInput is everything that the status of a server depends on.
type ServerInput struct {
	Server *mcpv1alpha1.MCPServer
	Now    time.Time
	// Revision is that of the spec.
	Revision string
	// Refused says why children were not applied.
	Refused Refusal
	// Held says why the Deployment is not as the spec asks for: it was refused, or something that its pods must not be without.
	Held Refusal
	// Unanswered says that an attempt to apply them ended without a verdict.
	Unanswered bool
	// Guard is what came of its NetworkPolicy.
	Guard Guard
	// Deployment is nil while there is none.
	Deployment *appsv1.Deployment
	// Pods are those whose owners end at this server, sorted by name.
	Pods []Pod
	// Failed are those that have failed for good, and that the cluster has not collected yet.
	Failed []*corev1.Pod
	// Document is the digest of the newest registry document, "" while there is none; DocumentError is why it is not the one that
	// was asked for.
	Document      string
	DocumentError Refusal
	// Piece is the digest of what is written beside a document in shards for dispatchers that read none; PieceClosed says
	// that it denies everything.
	Piece       string
	PieceClosed bool
	// DocumentStale says that the newest document does not hold yet what the objects say now.
	DocumentStale bool
	// Upgrade is how far the server is with the release of Toolgate that runs.
	Upgrade waves.State
	// Tools are the MCPTools of the server.
	Tools []mcpv1alpha1.MCPTool
	// LeftOut are tools that can't have an MCPTool, and why.
	LeftOut map[string]Refusal
	// MissingRuleSets are named in spec.ruleSets and not there.
	MissingRuleSets []string
}

// Server computes the status of a server.
func Server(in ServerInput) mcpv1alpha1.MCPServerStatus {
	s := in.Server
	out := *s.Status.DeepCopy()
	out.ObservedGeneration = s.Generation
	c := &conditions{list: out.Conditions, generation: s.Generation, now: metav1.NewTime(in.Now)}
	c.set(mcpv1alpha1.ConditionAccepted, in.accepted(c.list))
	c.set(mcpv1alpha1.ConditionAvailable, in.available(c.list))
	c.set(mcpv1alpha1.ConditionDiscovered, in.discovered(c.list))
	c.set(mcpv1alpha1.ConditionHealthy, in.healthy(c.list))
	c.set(mcpv1alpha1.ConditionEnforced, in.enforced(c.list))
	c.set(mcpv1alpha1.ConditionProtected, in.protected(c.list))
	c.set(mcpv1alpha1.ConditionUpgraded, in.upgraded(c.list))
	c.set(mcpv1alpha1.ConditionReady, ready(c.list,
		mcpv1alpha1.ConditionAccepted, mcpv1alpha1.ConditionAvailable, mcpv1alpha1.ConditionDiscovered,
		mcpv1alpha1.ConditionHealthy, mcpv1alpha1.ConditionEnforced))
	out.Conditions = c.list
	in.facts(&out)
	out.Health = in.health(s.Status.Health, out.Conditions)
	out.Revisions = revisions(s.Status.Revisions, in.Revision, in.Pods)
	out.Bound()
	return out
}

func (d *ServerInput) accepted(list []metav1.Condition) verdict {
	refused := d.Refused
	if d.DocumentError.Reason != mcpv1alpha1.ReasonRegistryTooLarge {
		refused = refused.And(d.DocumentError)
	}
	if refused != (Refusal{}) {
		return no(refused.Reason, refused.Message)
	}
	if len(d.MissingRuleSets) > 0 {
		return no(mcpv1alpha1.ReasonRuleSetNotFound, fmt.Sprintf(
			"spec.ruleSets names %s, which do not exist in this namespace; what they would govern is not known, so that every request is denied until they do", atMost(d.MissingRuleSets)))
	}
	if reason, message := d.podProblem(anyFault); reason == mcpv1alpha1.ReasonReferenceNotFound {
		return no(reason, message)
	}
	if reason, message := d.modelProblem(); reason != "" {
		return no(reason, message)
	}
	if last, known := d.lastRefusal(list); known {
		return last
	}
	// What a person asked for stands; but they would wonder why nothing answers.
	return yes(mcpv1alpha1.ReasonAccepted, workload.Unreached(d.Server))
}

func (d *ServerInput) available(list []metav1.Condition) verdict {
	if v, out := d.outOfService(); out {
		return v
	}
	wanted, serving := int(render.Replicas(d.Server, Replicas(d.Deployment))), len(d.serving())
	if serving >= wanted {
		if reason, message := d.stuck(); reason != "" {
			return no(reason, d.count(serving, wanted)+"; "+message)
		}
		return yes(mcpv1alpha1.ReasonAvailable, d.count(serving, wanted))
	}
	if accepted := meta.FindStatusCondition(list, mcpv1alpha1.ConditionAccepted); accepted.Status == metav1.ConditionFalse && d.Deployment == nil {
		v, _ := previous(list, mcpv1alpha1.ConditionAccepted)
		return v
	}
	reason, message := d.missing()
	if reason == "" {
		reason, message = mcpv1alpha1.ReasonProgressing, d.waiting()
	}
	return no(reason, d.count(serving, wanted)+"; "+message)
}

func (d *ServerInput) count(serving, wanted int) string {
	return fmt.Sprintf("%d of %d pods serve", serving, wanted)
}

func (d *ServerInput) serving() []*Pod {
	var out []*Pod
	for i := range d.Pods {
		if d.Pods[i].Serves() {
			out = append(out, &d.Pods[i])
		}
	}
	return out
}

func (d *ServerInput) discovered(list []metav1.Condition) verdict {
	if v, out := d.outOfService(); out {
		return unknown(v.reason, v.message)
	}
	var current []*Pod
	for i := range d.Pods {
		if p := &d.Pods[i]; p.Revision() == d.Revision {
			current = append(current, p)
		}
	}
	if len(current) == 0 && (d.Upgrade == waves.Waiting || d.Upgrade == waves.Refused) {
		current = d.serving() // a release that names the revision in another way has not had its turn
	}
	for _, p := range current {
		if cat := p.catalogue(); cat != nil {
			return d.withSessions(d.listed(cat), current, list)
		}
	}
	if reason, message := d.currentProblem(current); reason != "" {
		return no(reason, message)
	}
	last, known := previous(list, mcpv1alpha1.ConditionDiscovered)
	if known && last.status == metav1.ConditionTrue && d.seenBefore() && !answered(current) {
		return last
	}
	if reason, message := d.notSetUp(current); reason != "" {
		return no(reason, message)
	}
	if waves.Paused(d.Deployment) {
		return no(mcpv1alpha1.ReasonDeploymentPaused, d.paused())
	}
	return no(mcpv1alpha1.ReasonProgressing, "the catalogue of this revision has not been read yet"+waitsFor(current)+after("; ", d.failed()))
}

// waitsFor says what a server that comes up still lacks; "" where no dispatcher says so.
func waitsFor(pods []*Pod) string {
	for _, p := range pods {
		if p.Seen.State != nil && p.Seen.State.Upstream.Phase == registry.UpstreamConnecting && p.Seen.State.Upstream.Message != "" {
			return fmt.Sprintf("; pod %s: %s", p.Name, withStderr(p.Seen.State.Upstream))
		}
	}
	return ""
}

// seenBefore says whether the revision's catalogue has been read at some time: then a manager that has not heard of it
// since its start knows no better than the status.
func (d *ServerInput) seenBefore() bool {
	return slices.ContainsFunc(d.Server.Status.Revisions, func(r mcpv1alpha1.RevisionStatus) bool {
		return r.Name == d.Revision && r.FirstCatalogueDigest != ""
	})
}

func answered(pods []*Pod) bool {
	return slices.ContainsFunc(pods, func(p *Pod) bool { return p.Seen.State != nil })
}

func (d *ServerInput) currentProblem(pods []*Pod) (reason, message string) {
	// What the kubelet says comes first: a dispatcher whose server's container never started can only say that nothing answers.
	for _, p := range pods {
		if reason, message := problem(p.Pod); reason != "" && !p.Serves() {
			return reason, message
		}
	}
	for _, p := range pods {
		if reason, message := d.upstreamProblem(p); reason != "" {
			return reason, message
		}
	}
	return "", ""
}

// listed is the verdict on a catalogue that has been read.
func (d *ServerInput) listed(cat *registry.Catalogue) verdict {
	if len(cat.Tools) == 0 && cat.Resources <= 0 && cat.Prompts <= 0 {
		return yes(mcpv1alpha1.ReasonCatalogueEmpty, "the server answers, and lists no tools, resources or prompts")
	}
	objects := d.objects()
	var withheld, missing []string
	var why string // of the first tool that is left out
	for _, t := range cat.Tools {
		left, out := d.leftOut(t.Name)
		switch c := registration(objects[t.Name]); {
		case c == nil && out:
			withheld = append(withheld, fmt.Sprintf("%s (%s)", cmp.Or(t.Name, "a tool whose name can't be read"), left.Reason))
			why = cmp.Or(why, "; "+cmp.Or(left.Message, t.Error))
		case c == nil:
			missing = append(missing, t.Name)
		case c.Status == metav1.ConditionFalse:
			withheld = append(withheld, fmt.Sprintf("%s (%s)", t.Name, c.Reason))
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return no(mcpv1alpha1.ReasonProgressing, fmt.Sprintf("%d of %d tools have no MCPTool yet: %s", len(missing), len(cat.Tools), atMost(slices.Compact(missing))))
	}
	if len(withheld) > 0 {
		slices.Sort(withheld)
		return yes(mcpv1alpha1.ReasonToolsWithheld, fmt.Sprintf("%d of %d tools are withheld: %s%s", len(withheld), len(cat.Tools), atMost(slices.Compact(withheld)), why))
	}
	return yes(mcpv1alpha1.ReasonDiscovered, count(len(cat.Tools), "tool"))
}

// leftOut says why a tool that is listed can have no MCPTool, if it can't. One whose name can't be read never can; what is wrong with its
// definition, the dispatcher says.
func (d *ServerInput) leftOut(name string) (Refusal, bool) {
	if name == "" {
		return Refusal{Reason: mcpv1alpha1.ReasonInvalidSchema}, true
	}
	left, out := d.LeftOut[name]
	return left, out
}

// registration is the verdict of discovery on one tool; nil while there is none.
func registration(t *mcpv1alpha1.MCPTool) *metav1.Condition {
	if t == nil {
		return nil
	}
	c := meta.FindStatusCondition(t.Status.Conditions, mcpv1alpha1.ConditionRegistered)
	if c != nil && c.Reason == mcpv1alpha1.ReasonNotDiscovered {
		return nil
	}
	return c
}

// facts fills in what is told of the server beside its conditions. What no dispatcher has told since the manager's start
// stays as it was.
func (d *ServerInput) facts(out *mcpv1alpha1.MCPServerStatus) {
	out.URL = render.URL(d.Server)
	out.Transport = render.Transport(d.Server)
	out.Selector = labels.SelectorFromSet(render.PodSelector(d.Server.Name)).String()
	out.RegistryDigest = d.Document
	out.Trust = d.trust()
	out.ReadyReplicas = ptr.To(int32(len(d.serving())))
	out.Replicas = ptr.To(int32(0))
	if d.Deployment != nil {
		out.Replicas = ptr.To(d.Deployment.Status.Replicas)
	}
	if _, idle := d.outOfService(); idle {
		// Nothing is offered; what the server is stays as it was last told.
		out.ToolsCount, out.ResourcesCount, out.PromptsCount, out.BlockedToolsCount = ptr.To(int32(0)), ptr.To(int32(0)), ptr.To(int32(0)), ptr.To(int32(0))
		return
	}
	source := d.source()
	out.BlockedToolsCount = d.blocked(source)
	if source == nil {
		return
	}
	state := source.Seen.State
	out.DispatcherVersion = state.Dispatcher
	out.ProtocolVersion = state.Upstream.ProtocolVersion
	out.Capabilities = state.Upstream.Capabilities
	out.ServerInfo = nil
	if state.Upstream.ServerName != "" || state.Upstream.ServerVersion != "" {
		out.ServerInfo = &mcpv1alpha1.ServerInfo{Name: state.Upstream.ServerName, Version: state.Upstream.ServerVersion}
	}
	out.ToolsCount = ptr.To(int32(len(state.Catalogue.Tools)))
	out.ResourcesCount = ptr.To(int32(max(state.Catalogue.Resources, 0)))
	out.PromptsCount = ptr.To(int32(max(state.Catalogue.Prompts, 0)))
}

// source is the pod whose word on the server is taken: one of the spec's revision where there is one, the first by name.
func (d *ServerInput) source() *Pod {
	var with []*Pod
	for i := range d.Pods {
		if d.Pods[i].catalogue() != nil {
			with = append(with, &d.Pods[i])
		}
	}
	if len(with) == 0 {
		return nil
	}
	return slices.MinFunc(with, func(a, b *Pod) int {
		return cmp.Or(order(b.Revision() == d.Revision, a.Revision() == d.Revision), cmp.Compare(a.Name, b.Name))
	})
}

// order sorts false before true.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// blocked counts the listed tools that are known not to be callable, those that have no MCPTool included. Where no pod lists any, they
// are those that were listed last; a manager that has not heard of the pods knows no better than the status.
func (d *ServerInput) blocked(source *Pod) *int32 {
	objects := d.objects()
	var names []string
	switch {
	case source != nil:
		for _, t := range source.catalogue().Tools {
			names = append(names, t.Name)
		}
	case firstOf(d.judged(), d.unasked) != nil:
		return d.Server.Status.BlockedToolsCount
	default:
		for name, t := range objects {
			if !Gone(t) {
				names = append(names, name)
			}
		}
	}
	var blocked int32
	for _, name := range names {
		t := objects[name]
		if _, out := d.leftOut(name); t == nil && out || t != nil && meta.IsStatusConditionFalse(t.Status.Conditions, mcpv1alpha1.ConditionCallable) {
			blocked++
		}
	}
	return ptr.To(blocked)
}

// objects are the MCPTools of the server by the names of their tools. Of several that claim one, none lets it be called.
func (d *ServerInput) objects() map[string]*mcpv1alpha1.MCPTool {
	objects := map[string]*mcpv1alpha1.MCPTool{}
	for i := range d.Tools {
		objects[d.Tools[i].Spec.ToolName] = &d.Tools[i]
	}
	return objects
}

// Gone says whether a tool is known not to be on its server: not any more, or not so far. What sessions alone list is there.
func Gone(t *mcpv1alpha1.MCPTool) bool {
	c := meta.FindStatusCondition(t.Status.Conditions, mcpv1alpha1.ConditionRegistered)
	return c != nil && (c.Reason == mcpv1alpha1.ReasonGone || c.Reason == mcpv1alpha1.ReasonNotListed && t.Status.Observed == nil)
}
