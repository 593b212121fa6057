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
)

// missing says why pods are missing. What keeps them from the newest template comes first: that may be what would mend them.
func (d *ServerInput) missing() (reason, message string) {
	if waves.Paused(d.Deployment) && !d.releases() {
		return mcpv1alpha1.ReasonDeploymentPaused, d.paused()
	}
	if reason, message := d.podProblem(anyFault); reason != "" {
		return reason, message
	}
	return d.rolloutProblem()
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
	return d.podProblem(lasting)
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

// podProblem is what is wrong with a pod that does not serve, of those that count: those of the spec's revision first.
func (d *ServerInput) podProblem(counts func(*Pod) bool) (reason, message string) {
	for _, current := range []bool{true, false} {
		for i := range d.Pods {
			p := &d.Pods[i]
			if (p.Revision() == d.Revision) != current || p.Serves() || !p.DeletionTimestamp.IsZero() || !counts(p) {
				continue
			}
			if reason, message := problem(p.Pod); reason != "" {
				return reason, message
			}
			if reason, message := d.upstreamProblem(p); reason != "" {
				return reason, message
			}
		}
	}
	return "", ""
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
			return mcpv1alpha1.ReasonProgressDeadlineExceeded, c.Message
		}
	}
	return "", ""
}
