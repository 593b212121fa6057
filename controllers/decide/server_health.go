// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/registry"
)

// judged are the pods by which health is told: those that serve, else those of the spec's revision.
func (d *ServerInput) judged() []*Pod {
	if serving := d.serving(); len(serving) > 0 {
		return serving
	}
	var out []*Pod
	for i := range d.Pods {
		if p := &d.Pods[i]; p.Revision() == d.Revision && p.DeletionTimestamp.IsZero() {
			out = append(out, p)
		}
	}
	return out
}

func (d *ServerInput) healthy(list []metav1.Condition) verdict {
	if v, out := d.outOfService(); out {
		return unknown(v.reason, v.message)
	}
	pods := d.judged()
	healthy := 0
	for _, p := range pods {
		if p.Seen.State == nil || d.gone(p) {
			continue
		}
		switch h := p.Seen.State.Health; mcpv1alpha1.HealthState(h.State) {
		case mcpv1alpha1.Unhealthy:
			return no(unhealthyReason(p.Seen.State), fmt.Sprintf("pod %s: %s", p.Name, unhealthyMessage(p.Seen.State)))
		case mcpv1alpha1.Healthy:
			healthy++
		case mcpv1alpha1.HealthUnknown:
		default:
			// A word of a later release: not healthy as far as we know.
		}
		if reason, message := upstreamProblem(p); reason != "" && p.catalogue() == nil {
			return no(reason, message)
		}
	}
	if p := firstOf(pods, d.gone); p != nil {
		// What it said last is not what is.
		return unknown(mcpv1alpha1.ReasonDispatcherUnreachable, fmt.Sprintf("pod %s: %s", p.Name, p.Seen.Err))
	}
	if healthy > 0 && healthy == len(pods) {
		return yes(mcpv1alpha1.ReasonHealthy, "")
	}
	if last, known := previous(list, mcpv1alpha1.ConditionHealthy); known && firstOf(pods, d.unasked) != nil {
		// A manager that has just started knows no better.
		return last
	}
	if len(pods) == 0 {
		return unknown(mcpv1alpha1.ReasonPending, "there is no pod that could be asked")
	}
	return unknown(mcpv1alpha1.ReasonPending, "the server has not been probed yet")
}

// gone says that a pod which serves, or did answer, has not answered for so long that nothing is known of it.
func (d *ServerInput) gone(p *Pod) bool {
	return d.silent(p) && (p.Serves() || p.Seen.State != nil)
}

// silent says that a pod has failed to answer for so long that this is told.
func (d *ServerInput) silent(p *Pod) bool {
	return p.Seen.Err != "" && d.Now.Sub(p.Seen.FailingSince) >= Unreachable
}

// unasked says that a pod which could have answered has not had the time to: one without an address has no dispatcher that could.
func (d *ServerInput) unasked(p *Pod) bool {
	return p.Seen.State == nil && !d.silent(p) && (p.Serves() || p.Status.PodIP != "")
}

func firstOf(pods []*Pod, is func(*Pod) bool) *Pod {
	if i := slices.IndexFunc(pods, is); i >= 0 {
		return pods[i]
	}
	return nil
}

func unhealthyReason(s *registry.State) string {
	if s.Upstream.Reason != "" {
		return string(s.Upstream.Reason)
	}
	return mcpv1alpha1.ReasonUnhealthy
}

func unhealthyMessage(s *registry.State) string {
	if s.Health.Message != "" {
		return s.Health.Message
	}
	return withStderr(s.Upstream)
}

// health tells of the last change; the running figures are metrics, and writing them would be a write for each probe.
func (d *ServerInput) health(last *mcpv1alpha1.HealthStatus, list []metav1.Condition) *mcpv1alpha1.HealthStatus {
	c := meta.FindStatusCondition(list, mcpv1alpha1.ConditionHealthy)
	state := mcpv1alpha1.HealthUnknown
	switch c.Status {
	case metav1.ConditionTrue:
		state = mcpv1alpha1.Healthy
	case metav1.ConditionFalse:
		state = mcpv1alpha1.Unhealthy
	case metav1.ConditionUnknown:
	}
	if last != nil && last.State == state && last.Message == c.Message && state != mcpv1alpha1.HealthUnknown {
		return last
	}
	now := &mcpv1alpha1.HealthStatus{State: state, Since: &c.LastTransitionTime, Message: c.Message}
	if state == mcpv1alpha1.HealthUnknown {
		// What pods on their way out still say is no figure of a server that is not probed.
		return now
	}
	for _, p := range d.judged() {
		if p.Seen.State == nil {
			continue
		}
		h := p.Seen.State.Health
		now.ConsecutiveFailures = max(now.ConsecutiveFailures, int32(h.ConsecutiveFailures))
		now.ResponseTimeMs = max(now.ResponseTimeMs, h.ResponseTimeMs)
	}
	return now
}

// enforced asks every pod in the endpoints. "Now" is the point: a pod that has just become ready counts.
func (d *ServerInput) enforced(list []metav1.Condition) verdict {
	if v, out := d.outOfService(); out {
		return unknown(v.reason, v.message)
	}
	last := meta.FindStatusCondition(list, mcpv1alpha1.ConditionEnforced)
	if v, out := d.unwritten(last); out {
		return v
	}
	if forged := d.forged(); forged != (Refusal{}) {
		return no(forged.Reason, forged.Message)
	}
	lagging, unheard, refused := d.behind()
	if refused != (Refusal{}) {
		return no(refused.Reason, refused.Message)
	}
	switch {
	case len(d.serving()) == 0:
		return unknown(mcpv1alpha1.ReasonPending, "no pod serves that could enforce it")
	case len(lagging) == 0 && len(unheard) == 0:
		return yes(mcpv1alpha1.ReasonEnforced, "")
	case len(lagging) == 0 && last != nil && last.Status == metav1.ConditionTrue && d.Server.Status.RegistryDigest == d.Document:
		// The document is the one that was enforced when a manager last asked, and nobody has said otherwise since.
		return verdict{last.Status, last.Reason, last.Message}
	}
	return late(last, d.Now, "the newest document is on its way to "+atMost(append(lagging, unheard...)))
}

// unwritten says that the document which is asked for is not the one that is written, and why.
func (d *ServerInput) unwritten(last *metav1.Condition) (verdict, bool) {
	missing := d.Document == "" || d.DocumentStale
	switch {
	case d.DocumentError != (Refusal{}):
		return no(d.DocumentError.Reason, d.DocumentError.Message), true
	case missing && d.Refused.Reason == mcpv1alpha1.ReasonInvalidSpec:
		return no(d.Refused.Reason, "the last document, if there is any, stays in force until the spec is mended: "+d.Refused.Message), true
	case missing:
		return late(last, d.Now, "the newest registry document has not been written yet"), true
	default:
		return verdict{}, false
	}
}

// behind names the serving pods that enforce an older document, and those that nobody has asked yet; or it says why one of
// them will not get on by itself.
func (d *ServerInput) behind() (lagging, unheard []string, refused Refusal) {
	for _, p := range d.serving() {
		switch {
		case d.inForce(p):
		case d.PieceClosed && p.enforces(d.Piece):
			return nil, nil, Refusal{mcpv1alpha1.ReasonRegistryTooLarge, fmt.Sprintf(
				"pod %s refuses every call: its dispatcher is of an earlier release, which reads no document in shards, and the document does not fit into one piece", p.Name)}
		case p.Unheard():
			unheard = append(unheard, p.Name)
		case p.Seen.State != nil && p.Seen.State.Registry.Error != "":
			return nil, nil, Refusal{mcpv1alpha1.ReasonRegistryRefused, fmt.Sprintf("pod %s keeps an older document: %s", p.Name, p.Seen.State.Registry.Error)}
		case d.silent(p):
			return nil, nil, Refusal{mcpv1alpha1.ReasonDispatcherUnreachable, fmt.Sprintf("pod %s: %s", p.Name, p.Seen.Err)}
		default:
			lagging = append(lagging, p.Name)
		}
	}
	return lagging, unheard, Refusal{}
}

// inForce says whether a pod enforces the newest document, in either form.
func (d *ServerInput) inForce(p *Pod) bool {
	return p.enforces(d.Document) || d.Piece != "" && !d.PieceClosed && p.enforces(d.Piece)
}

// underWay says that a condition tells of a document that is on its way.
func underWay(c *metav1.Condition) bool {
	return c != nil && c.Status == metav1.ConditionFalse && (c.Reason == mcpv1alpha1.ReasonProgressing || c.Reason == mcpv1alpha1.ReasonLagging)
}

// late says whether what is not in force yet is still on its way.
func late(last *metav1.Condition, now time.Time, message string) verdict {
	if !underWay(last) || now.Sub(last.LastTransitionTime.Time) < Grace {
		return no(mcpv1alpha1.ReasonProgressing, message)
	}
	return no(mcpv1alpha1.ReasonLagging, message)
}

// NextLook is when the status has to be computed again because time alone will change it; zero when only an event can.
func (d *ServerInput) NextLook(list []metav1.Condition) time.Time {
	var next time.Time
	sooner := func(t time.Time) {
		if t.After(d.Now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	sooner(graceEnds(list))
	sooner(TrustEnds(d.Server.Spec.Trust, d.Now, time.Time{}))
	d.setUpLate(sooner)
	for _, p := range d.judged() {
		if p.Seen.Err != "" {
			sooner(p.Seen.FailingSince.Add(Unreachable))
		}
	}
	return next
}
