// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide/admission"
)

// maxNote is what the API allows for the note of an event.
const maxNote = 1024

// Transition is a change of a condition that people are told of.
type Transition struct {
	// Type and Reason are those of the condition.
	Type, Reason string
	// Warning says that it became False.
	Warning bool
	// Note is what the condition says, short enough for an event.
	Note string
}

// Transitions are what became True or False between two states of an object, or is so for another reason now. Where several
// conditions have one reason, it is told once, in the name of the first. What became True and says nothing more is not told beside Ready,
// which says it of all, nor while an object comes up and nothing was wrong with it: thousands of servers that come up, with their
// tools, would else bring twice as many events, half of which say nothing.
func Transitions(before, after []metav1.Condition) []Transition {
	var out []Transition
	told := map[string]bool{}
	ready := meta.FindStatusCondition(after, mcpv1alpha1.ConditionReady)
	all := ready != nil && ready.Status == metav1.ConditionTrue && isNews(meta.FindStatusCondition(before, ready.Type), *ready)
	comesUp := !works(meta.FindStatusCondition(before, mcpv1alpha1.ConditionReady))
	for _, c := range after {
		old := meta.FindStatusCondition(before, c.Type)
		if c.Type != mcpv1alpha1.ConditionReady && c.Status == metav1.ConditionTrue && c.Message == "" && (all || comesUp && !wasTold(old)) {
			continue
		}
		if c.Status == metav1.ConditionUnknown || onItsWay(c.Reason) || told[c.Reason] || !isNews(old, c) {
			continue
		}
		told[c.Reason] = true
		note := c.Message
		if note == "" {
			note = fmt.Sprintf("%s is %s", c.Type, c.Status)
		}
		out = append(out, Transition{Type: c.Type, Reason: c.Reason, Warning: c.Status == metav1.ConditionFalse, Note: admission.Clip(note, maxNote)})
	}
	return out
}

// works says whether an object was said to work, or not to: not while it comes up.
func works(ready *metav1.Condition) bool {
	return ready != nil && (ready.Status == metav1.ConditionTrue || wasTold(ready))
}

// wasTold says whether people were told that a condition is False.
func wasTold(old *metav1.Condition) bool {
	return old != nil && old.Status == metav1.ConditionFalse && !onItsWay(old.Reason)
}

// isNews says whether a condition has become what it is. What was on its way and then failed has; what was so all the time
// while something newer was on its way has not.
func isNews(old *metav1.Condition, c metav1.Condition) bool {
	switch {
	case old == nil || old.Status != c.Status:
		return true
	case old.Reason == c.Reason:
		return false
	default:
		return c.Status == metav1.ConditionFalse || !onItsWay(old.Reason)
	}
}

// onItsWay are reasons that say nothing but that time is needed, or that nothing is left to be done.
func onItsWay(reason string) bool {
	switch reason {
	case mcpv1alpha1.ReasonProgressing, mcpv1alpha1.ReasonPending, mcpv1alpha1.ReasonNotDiscovered, mcpv1alpha1.ReasonServerNotReady,
		mcpv1alpha1.ReasonUpgradeWaiting, mcpv1alpha1.ReasonUpToDate:
		return true
	default:
		return false
	}
}
