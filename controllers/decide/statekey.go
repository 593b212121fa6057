// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render/workload"
)

// VolumesGrace is how long a pod may wait for its volumes before the Secret of its key may be gone, and SetUpGrace before people are told
// that it waits: where a disk has to be attached first a good start takes its time, and the kubelet itself complains of a mount after two
// minutes.
const (
	VolumesGrace = 10 * time.Second
	SetUpGrace   = 2 * time.Minute
)

// maxKeyTries bounds how often a Secret is made for one pod: the last time is after it has waited for almost half a day.
const maxKeyTries = 12

// StateKey names the key by which the pod's dispatcher proves its answers; "" for a pod that predates keys.
func (p *Pod) StateKey() string { return workload.StateKeyOf(p.Spec.Volumes) }

// WaitsForVolumes says whether a pod waits for its volumes or its network, and since when. The kubelet tells of a volume that it
// can't mount in events alone.
func (p *Pod) WaitsForVolumes() (since time.Time, waits bool) {
	if !p.DeletionTimestamp.IsZero() {
		return time.Time{}, false
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReadyToStartContainers && c.Status == corev1.ConditionFalse {
			return c.LastTransitionTime.Time, true
		}
	}
	return time.Time{}, false
}

// KeyTries says how often by now the Secret of a pod that has waited since a time was worth making, and when it is next; zero for
// never. It is after VolumesGrace, and again whenever the pod has waited for twice as long: somebody may delete it once more before the pod has it.
func KeyTries(since, now time.Time) (tries int, next time.Time) {
	wait := VolumesGrace
	for ; tries < maxKeyTries && now.Sub(since) >= wait; wait *= 2 {
		tries++
	}
	if tries == maxKeyTries {
		return tries, time.Time{}
	}
	return tries, since.Add(wait)
}

// setUpLate tells when pods have waited for long enough that it is told, and when the Secrets of their keys are worth making once more.
func (d *ServerInput) setUpLate(sooner func(time.Time)) {
	for i := range d.Pods {
		since, waits := d.Pods[i].WaitsForVolumes()
		if !waits {
			continue
		}
		sooner(since.Add(SetUpGrace))
		if d.Pods[i].StateKey() != "" {
			_, next := KeyTries(since, d.Now)
			sooner(next)
		}
	}
}

// forged says that somebody else answers for a pod that serves. What its dispatcher proved before stays what is known of it.
func (d *ServerInput) forged() Refusal {
	for _, p := range d.serving() {
		if p.Seen.Forged {
			return Refusal{mcpv1alpha1.ReasonStateNotAuthentic, fmt.Sprintf("pod %s: %s", p.Name, p.Seen.Err)}
		}
	}
	return Refusal{}
}
