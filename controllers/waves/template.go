// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/utils/ptr"

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
	// applied is what our field owner has applied; nil where there is no Deployment.
	applied *appsv1ac.DeploymentApplyConfiguration
	want    *appsv1ac.DeploymentApplyConfiguration
	inputs  string
	// template is the digest of the template that is applied.
	template string
}

// Compare says what applying want would do to the pods of a Deployment as our field owner has applied it; nil is none. The
// inputs name all of a spec that a template is made of (render.PodInputs).
func Compare(applied, want *appsv1ac.DeploymentApplyConfiguration, inputs string) (*Change, error) {
	c := &Change{Cause: Own, applied: applied, want: want, inputs: inputs}
	if applied == nil || applied.Spec == nil || applied.Spec.Template == nil {
		return c, nil
	}
	before, err := encoded(applied)
	if err != nil {
		return nil, err
	}
	after, err := encoded(want)
	if err != nil {
		return nil, err
	}
	c.template = digest(before)
	switch {
	case bytes.Equal(before, after):
		c.Cause = Nothing
	case applied.Annotations[render.AnnotationPodTemplate] != c.template:
		// Somebody has changed it, or it is from before templates had a digest: nobody can say what it was made of.
	case applied.Annotations[render.AnnotationPodInputs] == inputs:
		c.Cause = Release
	}
	return c, nil
}

// Step gives what to apply to a Deployment now, live being the one there is, and how far the server is when that is done. turn says
// that its turn has come.
func (c *Change) Step(live *appsv1.Deployment, turn bool) (*appsv1ac.DeploymentApplyConfiguration, State, error) {
	switch {
	case c.Cause == Release && !turn:
		return c.hold(), Waiting, nil
	case c.Cause == Release && Complete(live):
		out, err := c.with(watched)
		return out, Upgrading, err
	case c.Cause == Nothing:
		state := Settled
		if Awaited(live) {
			state = Upgrading
		}
		out, err := c.with(c.applied.Annotations[render.AnnotationUpgrade])
		return out, state, err
	default:
		// A server that was not available before its upgrade is not waited for: it would stop everybody for a reason that the
		// release has nothing to do with.
		out, err := c.with("")
		return out, Settled, err
	}
}

// hold is what to apply while a server waits for its turn: everything but the template, which stays as it is.
func (c *Change) hold() *appsv1ac.DeploymentApplyConfiguration {
	out := *c.want
	spec := *c.want.Spec
	spec.Template = c.applied.Spec.Template
	out.Spec = &spec
	return c.stamped(&out, c.template, c.applied.Annotations[render.AnnotationUpgrade])
}

func (c *Change) with(mark string) (*appsv1ac.DeploymentApplyConfiguration, error) {
	template, err := encoded(c.want)
	if err != nil {
		return nil, err
	}
	out := *c.want
	return c.stamped(&out, digest(template), mark), nil
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

// Awaited says whether the end of a Deployment's upgrade is awaited.
func Awaited(d *appsv1.Deployment) bool {
	return d != nil && d.Annotations[render.AnnotationUpgrade] == watched && !Complete(d)
}

// Complete says whether all pods of a Deployment are of its newest template and available.
func Complete(d *appsv1.Deployment) bool {
	wanted := ptr.Deref(d.Spec.Replicas, 1)
	s := d.Status
	return s.ObservedGeneration >= d.Generation && s.UpdatedReplicas >= wanted && s.AvailableReplicas >= wanted && s.Replicas <= s.UpdatedReplicas
}

func encoded(d *appsv1ac.DeploymentApplyConfiguration) ([]byte, error) {
	data, err := json.Marshal(d.Spec.Template)
	if err != nil {
		return nil, fmt.Errorf("encoding a pod template: %w", err)
	}
	return data, nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}
