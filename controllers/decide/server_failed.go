// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"toolgate.dev/toolgate/internal/render"
)

// failed says of the pod of the spec's revision that failed last why it did; "" where there is none, or its place has been taken: a pod
// serves, or has served, that was made since. The cluster keeps pods that failed for days, and what is missing now may have nothing to do
// with them.
func (d *ServerInput) failed() string {
	var last *corev1.Pod
	for _, p := range d.Failed {
		if p.Labels[render.LabelRevision] == d.Revision && (last == nil || failedAt(p).After(failedAt(last))) {
			last = p
		}
	}
	if last == nil {
		return ""
	}
	for _, p := range d.serving() {
		if !p.CreationTimestamp.Time.Before(failedAt(last)) {
			return ""
		}
	}
	ended := endedAt(last)
	for _, p := range d.comingUp() {
		if p.Revision() != d.Revision {
			continue
		}
		if p.CreationTimestamp.Sub(ended) > replaced {
			return "" // it takes nobody's place: there are to be more, or it is a later rollout's
		}
		if !p.CreationTimestamp.Time.Before(failedAt(last)) && hasServed(p) {
			return "" // what keeps it from serving now came later
		}
	}
	return fmt.Sprintf("pod %s failed%s%s", last.Name, after(": ", last.Status.Reason), after(": ", last.Status.Message))
}

// replaced is how long after a pod has failed the one that takes its place is there at the latest.
const replaced = time.Minute

// hasServed says of a pod that does not serve whether it did. The kubelet calls a pod that is not ready so before it is initialized, or
// at the same time, and again each time when it stops being ready.
func hasServed(p *Pod) bool {
	var ready, initialized time.Time
	for _, c := range p.Status.Conditions {
		switch {
		case c.Type == corev1.PodReady:
			ready = c.LastTransitionTime.Time
		case c.Type == corev1.PodInitialized && c.Status == corev1.ConditionTrue:
			initialized = c.LastTransitionTime.Time
		}
	}
	return !initialized.IsZero() && ready.After(initialized)
}

// endedAt is when the last was heard of a pod that failed.
func endedAt(p *corev1.Pod) time.Time {
	at := p.CreationTimestamp.Time
	for _, c := range p.Status.Conditions {
		if c.LastTransitionTime.After(at) {
			at = c.LastTransitionTime.Time
		}
	}
	return at
}

// failedAt is when a pod that failed stopped serving, which is the time of its failure for one that did; for another one it is before.
func failedAt(p *corev1.Pod) time.Time {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.LastTransitionTime.After(p.CreationTimestamp.Time) {
			return c.LastTransitionTime.Time
		}
	}
	return p.CreationTimestamp.Time
}

// after puts words before a text; an empty one stays so.
func after(words, text string) string {
	if text == "" {
		return ""
	}
	return words + text
}
