// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	appsv1 "k8s.io/api/apps/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/utils/ptr"

	"toolgate.dev/toolgate/controllers/applied"
	"toolgate.dev/toolgate/internal/render"
)

// watched is the value of AnnotationUpgrade.
const watched = "Watched"

// Cause is why a Deployment would get new pods.
type Cause string

// Causes. Nothing: it would not. Own: its spec, what it refers to, or somebody who changed the template; that is not put off.
// Release: another release of Toolgate, and nothing else.
const (
	Nothing Cause = "Nothing"
	Own     Cause = "Own"
	Release Cause = "Release"
)

// Change is what applying a Deployment would do to its pods.
type Change struct {
	Cause Cause
	// live is the Deployment as there is one, reduced; nil for none.
	live   *appsv1.Deployment
	want   *appsv1ac.DeploymentApplyConfiguration
	inputs string
	// before and after are the digests of the template that is applied and of the one that is wanted.
	before, after string
}

// Compare says what applying want would do to the pods of a Deployment, which is reduced; nil is none. The inputs name all of a
// spec that a template is made of (workload.PodInputs).
func Compare(live *appsv1.Deployment, want *appsv1ac.DeploymentApplyConfiguration, inputs string) (*Change, error) {
	c := &Change{Cause: Own, live: live, want: want, inputs: inputs}
	var err error
	if c.after, err = applied.Digest(want.Spec.Template); err != nil || live == nil {
		return c, err
	}
	c.before = applied.Of(live).Template
	switch {
	case c.before == "":
	case c.before == c.after:
		c.Cause = Nothing
	case live.Annotations[render.AnnotationPodTemplate] != c.before:
		// Somebody has changed it, or it is from before templates had a digest: nobody can say what it was made of.
	case live.Annotations[render.AnnotationPodInputs] == inputs:
		c.Cause = Release
	}
	return c, nil
}

// Arrived says whether a server's upgrade was awaited and is through.
func (c *Change) Arrived() bool {
	return c.Cause == Nothing && c.live.Annotations[render.AnnotationUpgrade] == watched && Complete(c.live)
}

// Step gives what to apply to a Deployment now, and how far the server is when that is done. turn says that its turn has come, over
// that all servers are through with the release (Gate.Over): what fails from then on has nothing to do with it. A Deployment that is to
// keep the template that it has comes without one.
func (c *Change) Step(turn, over bool) (*appsv1ac.DeploymentApplyConfiguration, State) {
	switch {
	case c.Cause == Release && !turn:
		return c.hold(), Waiting
	case c.Cause == Release && Complete(c.live) && c.live.Spec.Paused:
		// Its new pods come when somebody lets it go on, which may be never.
		return c.with(watched), Settled
	case c.Cause == Release && Complete(c.live):
		return c.with(watched), Upgrading
	case over && c.Arrived():
		return c.with(""), Settled
	case c.Cause == Nothing:
		return c.with(c.live.Annotations[render.AnnotationUpgrade]), c.progress()
	default:
		// A server that was not available before its upgrade is not waited for: it would stop everybody for a reason that the
		// release has nothing to do with.
		return c.with(""), Settled
	}
}

// progress is how far a server is whose template is the release's.
func (c *Change) progress() State {
	switch {
	case Awaited(c.live):
		return Upgrading
	case c.Arrived():
		return Arrived
	default:
		return Settled
	}
}

// hold is what to apply while a server waits for its turn: everything but the template, which stays as it is.
func (c *Change) hold() *appsv1ac.DeploymentApplyConfiguration {
	out := *c.want
	spec := *c.want.Spec
	spec.Template = nil
	out.Spec = &spec
	return c.stamped(&out, c.before, c.live.Annotations[render.AnnotationUpgrade])
}

func (c *Change) with(mark string) *appsv1ac.DeploymentApplyConfiguration {
	out := *c.want
	return c.stamped(&out, c.after, mark)
}

func (c *Change) stamped(d *appsv1ac.DeploymentApplyConfiguration, template, mark string) *appsv1ac.DeploymentApplyConfiguration {
	annotations := map[string]string{render.AnnotationPodInputs: c.inputs, render.AnnotationPodTemplate: template}
	for k, v := range c.want.Annotations {
		annotations[k] = v
	}
	if mark != "" {
		annotations[render.AnnotationUpgrade] = mark
	}
	meta := *c.want.ObjectMetaApplyConfiguration
	meta.Annotations = annotations
	d.ObjectMetaApplyConfiguration = &meta
	return d
}

// Awaited says whether the end of a Deployment's upgrade is awaited. That of one that is paused is not: it may never come.
func Awaited(d *appsv1.Deployment) bool {
	return d != nil && d.Annotations[render.AnnotationUpgrade] == watched && !d.Spec.Paused && !Complete(d)
}

// Paused says whether a Deployment keeps pods of an older template because somebody has paused it.
func Paused(d *appsv1.Deployment) bool {
	if d == nil || !d.Spec.Paused {
		return false
	}
	s := d.Status
	return s.Replicas > s.UpdatedReplicas || s.Replicas == 0 && ptr.Deref(d.Spec.Replicas, 1) > 0
}

// UpgradePaused says whether the newest template of a Deployment that is paused is a release's.
func UpgradePaused(d *appsv1.Deployment) bool {
	return Paused(d) && d.Annotations[render.AnnotationUpgrade] == watched
}

// Complete says whether all pods of a Deployment are of its newest template and available.
func Complete(d *appsv1.Deployment) bool {
	wanted := ptr.Deref(d.Spec.Replicas, 1)
	s := d.Status
	return s.ObservedGeneration >= d.Generation && s.UpdatedReplicas >= wanted && s.AvailableReplicas >= wanted && s.Replicas <= s.UpdatedReplicas
}
