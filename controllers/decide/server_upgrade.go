// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/waves"
)

// upgraded tells of the release that runs. What it says of a server that waits is the same for all of them, and stays so: a wave
// that moves on writes nothing to those that it has not reached.
func (d *ServerInput) upgraded(list []metav1.Condition) verdict {
	if d.Deployment == nil {
		return unknown(mcpv1alpha1.ReasonPending, "there are no pods yet")
	}
	if waves.UpgradePaused(d.Deployment) && d.Upgrade == waves.Settled {
		return no(mcpv1alpha1.ReasonDeploymentPaused, "its pods are not those of the release that runs, and no other server waits for it: "+d.paused())
	}
	switch d.Upgrade {
	case waves.Waiting:
		return no(mcpv1alpha1.ReasonUpgradeWaiting, "its pods stay as they are until their turn comes: some servers of one namespace are upgraded at a time, "+
			"and none while one that was upgraded is not available (Upgraded=False/UpgradeFailed); a change of the spec upgrades it at once")
	case waves.Refused:
		if last, known := previous(list, mcpv1alpha1.ConditionUpgraded); known && d.Held == (Refusal{}) {
			return last // it is being asked again, and there is no answer yet
		}
		return no(mcpv1alpha1.ReasonUpgradeFailed, "its pods can't be those of the release that runs, and no other server is upgraded until they can: "+
			d.Held.Reason+": "+d.Held.Message)
	case waves.Upgrading:
		reason, message := d.podProblem(anyFault)
		if reason == "" {
			reason, message = d.rolloutProblem()
		}
		if reason == "" {
			return no(mcpv1alpha1.ReasonProgressing, "its new pods are not all available yet")
		}
		return no(mcpv1alpha1.ReasonUpgradeFailed, "it is not available since it was upgraded, and no other server is upgraded until it is: "+reason+": "+message+after("; before that, ", d.failed()))
	case waves.Untold:
		if last, known := previous(list, mcpv1alpha1.ConditionUpgraded); known && d.Held == (Refusal{}) {
			return last
		}
		return unknown(cmp.Or(d.Held.Reason, mcpv1alpha1.ReasonPending),
			"its pods may be those of another release; no other server waits for it to be upgraded: "+cmp.Or(d.Held.Message, "there is no answer yet"))
	case waves.Settled, waves.Arrived:
		return yes(mcpv1alpha1.ReasonUpToDate, "")
	default:
		return unknown(mcpv1alpha1.ReasonPending, "")
	}
}
