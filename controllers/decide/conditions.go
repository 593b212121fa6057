// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide/admission"
)

// maxMessage keeps a condition readable in a terminal; the API allows 32 KiB.
const maxMessage = 2048

// Grace is how long a dispatcher may take to enforce a new document before that counts as lagging.
const Grace = 5 * time.Second

// verdict is one condition before it has times.
type verdict struct {
	status  metav1.ConditionStatus
	reason  string
	message string
}

func yes(reason, message string) verdict { return verdict{metav1.ConditionTrue, reason, message} }
func no(reason, message string) verdict  { return verdict{metav1.ConditionFalse, reason, message} }
func unknown(reason, message string) verdict {
	return verdict{metav1.ConditionUnknown, reason, message}
}

// previous is a condition as it stands, for where nothing new is known.
func previous(conditions []metav1.Condition, kind string) (verdict, bool) {
	c := meta.FindStatusCondition(conditions, kind)
	if c == nil {
		return verdict{}, false
	}
	return verdict{c.Status, c.Reason, c.Message}, true
}

// conditions collects the conditions of one object, in the order in which they are decided.
type conditions struct {
	list       []metav1.Condition
	generation int64
	now        metav1.Time
}

// set sets one. What begins to be on its way after something else was in the way has its time from now on, not since that was.
func (c *conditions) set(kind string, v verdict) {
	last := meta.FindStatusCondition(c.list, kind)
	begins := v.reason == mcpv1alpha1.ReasonProgressing && last != nil && !underWay(last)
	meta.SetStatusCondition(&c.list, metav1.Condition{
		Type:               kind,
		Status:             v.status,
		Reason:             v.reason,
		Message:            admission.Clip(v.message, maxMessage),
		ObservedGeneration: c.generation,
		LastTransitionTime: c.now,
	})
	if begins && kind == mcpv1alpha1.ConditionEnforced {
		meta.FindStatusCondition(c.list, kind).LastTransitionTime = c.now
	}
}

// graceEnds is when a document that is on its way begins to count as lagging; zero where none is on its way.
func graceEnds(list []metav1.Condition) time.Time {
	c := meta.FindStatusCondition(list, mcpv1alpha1.ConditionEnforced)
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason != mcpv1alpha1.ReasonProgressing {
		return time.Time{}
	}
	return c.LastTransitionTime.Add(Grace)
}

// ready derives Ready from other conditions: the first one that is not True is in the way, and lends its reason. A document
// that is just being rolled out is not in the way of what was ready before: calls are decided by the last one meanwhile.
func ready(list []metav1.Condition, kinds ...string) verdict {
	was := meta.IsStatusConditionTrue(list, mcpv1alpha1.ConditionReady)
	for _, kind := range kinds {
		c := meta.FindStatusCondition(list, kind)
		switch {
		case c == nil:
			return no(mcpv1alpha1.ReasonPending, kind+" is not known yet")
		case c.Status == metav1.ConditionTrue:
		case was && kind == mcpv1alpha1.ConditionEnforced && c.Reason == mcpv1alpha1.ReasonProgressing:
			return yes(mcpv1alpha1.ReasonProgressing, c.Message)
		default:
			return no(c.Reason, c.Message)
		}
	}
	return yes(mcpv1alpha1.ReasonReady, "")
}
