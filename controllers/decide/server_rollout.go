// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/waves"
	"toolgate.dev/toolgate/internal/render/workload"
)

// missing says why pods are missing. What keeps them from the newest template comes first: that may be what would mend them.
func (d *ServerInput) missing() (reason, message string) {
	if waves.Paused(d.Deployment) && !d.releases() {
		return mcpv1alpha1.ReasonDeploymentPaused, d.paused()
	}
	for _, says := range []func() (string, string){
		func() (string, string) { return d.podProblem(anyFault) },
		d.rolloutProblem,
		func() (string, string) { return d.notSetUp(d.comingUp()) },
	} {
		if reason, message := says(); reason != "" {
			return reason, message + after("; before that, ", d.failed())
		}
	}
	if failed := d.failed(); failed != "" {
		return mcpv1alpha1.ReasonPodFailed, failed
	}
	return "", ""
}

// stuck says what keeps a rollout from its end although as many pods serve as are asked for: those of before stay until the new ones
// are available, which may be never. A rollout that is on its way is not stuck, and one that a release began is Upgraded's to tell of.
func (d *ServerInput) stuck() (reason, message string) {
	switch {
	case d.Deployment == nil || waves.Complete(d.Deployment) || d.releases():
		return "", ""
	case waves.Paused(d.Deployment):
		return mcpv1alpha1.ReasonDeploymentPaused, d.paused()
	}
	if reason, _ := d.rolloutProblem(); reason != "" {
		return d.missing()
	}
	if reason, message := d.podProblem(lasting); reason != "" {
		return reason, message
	}
	return d.notSetUp(d.comingUp())
}

// releases says whether a rollout that is not at its end is that of a release of Toolgate.
func (d *ServerInput) releases() bool {
	return d.Upgrade == waves.Upgrading || waves.UpgradePaused(d.Deployment)
}

func (d *ServerInput) paused() string {
	return fmt.Sprintf("Deployment %s is paused, so that its pods stay as they were before the last change; to let it go on: kubectl rollout resume deployment/%s",
		d.Deployment.Name, d.Deployment.Name)
}

// anyFault takes every fault of a pod for what is wrong.
func anyFault(*Pod) bool { return true }

// lasting says whether what is wrong with a pod that comes up is more than a start that takes a second attempt.
func lasting(p *Pod) bool {
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if t := s.State.Terminated; t != nil && t.ExitCode != 0 {
			return false
		}
	}
	reason, _ := problem(p.Pod)
	return reason != "" || p.Seen.State != nil && p.Seen.State.Health.State == string(mcpv1alpha1.Unhealthy)
}

// comingUp are the pods that do not serve, and may yet: those of the spec's revision first.
func (d *ServerInput) comingUp() []*Pod {
	var current, others []*Pod
	for i := range d.Pods {
		switch p := &d.Pods[i]; {
		case p.Serves() || !p.DeletionTimestamp.IsZero():
		case p.Revision() == d.Revision:
			current = append(current, p)
		default:
			others = append(others, p)
		}
	}
	return append(current, others...)
}

// podProblem is what is wrong with a pod that does not serve, of those that count.
func (d *ServerInput) podProblem(counts func(*Pod) bool) (reason, message string) {
	for _, p := range d.comingUp() {
		if !counts(p) {
			continue
		}
		if reason, message := problem(p.Pod); reason != "" {
			return reason, message
		}
		if reason, message := d.upstreamProblem(p); reason != "" {
			return reason, message
		}
	}
	return "", ""
}

// notSetUp says of a pod that has waited for too long what its volumes need to exist. It is no fault of a pod like others: many that begin
// at once on one node wait their turn, so that what is certain is told before it, and a release has failed by it after the deadline alone.
func (d *ServerInput) notSetUp(pods []*Pod) (reason, message string) {
	for _, p := range pods {
		if message, long := d.setUp(p); long {
			return mcpv1alpha1.ReasonPodNotSetUp, message
		}
	}
	return "", ""
}

// waiting is what is said while nothing is known to be wrong.
func (d *ServerInput) waiting() string {
	for _, p := range d.comingUp() {
		if message, _ := d.setUp(p); message != "" {
			return message
		}
	}
	return "waiting for pods"
}

// setUp says what a pod that waits for its volumes or its network needs, and whether it has waited for longer than SetUpGrace. The
// kubelet tells of a volume that it can't mount in events alone, so all that it may wait for is named.
func (d *ServerInput) setUp(p *Pod) (message string, long bool) {
	since, waits := p.WaitsForVolumes()
	if !waits {
		return "", false
	}
	long = d.Now.Sub(since) >= SetUpGrace
	message = fmt.Sprintf("pod %s waits for its volumes or network", p.Name)
	if long {
		message = fmt.Sprintf("pod %s has waited for its volumes or network for more than %s", p.Name, SetUpGrace)
	}
	if sources := workload.VolumeSources(p.Spec.Volumes); len(sources) > 0 {
		message += "; its volumes need " + strings.Join(sources, " and ") + " to exist"
	}
	if long {
		message += fmt.Sprintf("; kubectl describe pod %s shows what the kubelet says", p.Name)
	}
	return message, long
}

// rolloutProblem is what the Deployment says where its pods say nothing.
func (d *ServerInput) rolloutProblem() (reason, message string) {
	if d.Deployment == nil {
		return "", ""
	}
	for _, c := range d.Deployment.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			if strings.Contains(c.Message, "serviceaccount") && strings.Contains(c.Message, "not found") {
				return mcpv1alpha1.ReasonReferenceNotFound, c.Message
			}
			return mcpv1alpha1.ReasonPodsRefused, c.Message
		}
	}
	for _, c := range d.Deployment.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing && c.Reason == "ProgressDeadlineExceeded" {
			if reason, message := d.notSetUp(d.comingUp()); reason != "" {
				return reason, message
			}
			return mcpv1alpha1.ReasonProgressDeadlineExceeded, c.Message
		}
	}
	return "", ""
}
