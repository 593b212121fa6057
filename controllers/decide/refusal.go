// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// Refusal is a reason why the spec can't be carried out; the zero value is none.
type Refusal struct {
	Reason  string
	Message string
}

// And joins two refusals: the reason is that of the first, the message has both.
func (r Refusal) And(other Refusal) Refusal {
	switch {
	case r == Refusal{}:
		return other
	case other == Refusal{}, other == r:
		return r
	default:
		return Refusal{Reason: r.Reason, Message: r.Message + "; " + other.Message}
	}
}

// lastRefusal is what was refused last, as the status has it, for an attempt that got no answer: that does not make it untrue, and a
// status that said otherwise would say what nobody knows.
func (d *ServerInput) lastRefusal(list []metav1.Condition) (verdict, bool) {
	accepted := meta.FindStatusCondition(list, mcpv1alpha1.ConditionAccepted)
	if !d.Unanswered || accepted == nil || accepted.Status != metav1.ConditionFalse {
		return verdict{}, false
	}
	switch accepted.Reason {
	case mcpv1alpha1.ReasonApplyFailed, mcpv1alpha1.ReasonNameConflict:
		return no(accepted.Reason, accepted.Message), true
	default:
		return verdict{}, false
	}
}

// Guard is what came of writing the NetworkPolicy of a server.
type Guard struct {
	// Refused is why it is not the one that the spec asks for.
	Refused Refusal
	// Unanswered says that the attempt to write it ended without a verdict.
	Unanswered bool
}
