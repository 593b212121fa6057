// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide/admission"
)

// ToolNews is what people are told of a tool beside its conditions: each step from one definition to another, once, whether
// it was withheld or admitted with a new revision. What a condition tells already is left out.
func ToolNews(before, after *mcpv1alpha1.MCPToolStatus) []Transition {
	c := after.Change
	registered := meta.FindStatusCondition(after.Conditions, mcpv1alpha1.ConditionRegistered)
	if registered == nil {
		return nil
	}
	if c == nil || c.Kind == mcpv1alpha1.ChangeNone || sameStep(before, after) {
		return sessionNews(before, after, registered)
	}
	t := Transition{Type: registered.Type, Reason: mcpv1alpha1.ReasonDefinitionChanged}
	switch registered.Reason {
	case mcpv1alpha1.ReasonRegistered:
		t.Note = fmt.Sprintf("a new definition is admitted; the change is %s: %s", c.Kind, c.Text)
	case mcpv1alpha1.ReasonDefinitionChanged:
		if isNews(meta.FindStatusCondition(before.Conditions, registered.Type), *registered) {
			return nil
		}
		t.Warning, t.Note = true, registered.Message
	default:
		t.Warning, t.Note = true, fmt.Sprintf("the definition changed, and is withheld (%s); the change is %s: %s", registered.Reason, c.Kind, c.Text)
	}
	t.Note = admission.Clip(t.Note, maxNote)
	return []Transition{t}
}

// sessionNews tells of a definition that sessions have come to list beside that by which the tool is judged.
func sessionNews(before, after *mcpv1alpha1.MCPToolStatus, registered *metav1.Condition) []Transition {
	if inSessions(before) >= inSessions(after) || isNews(meta.FindStatusCondition(before.Conditions, registered.Type), *registered) {
		return nil
	}
	return []Transition{{Type: registered.Type, Reason: mcpv1alpha1.ReasonDefinitionChanged, Warning: true, Note: admission.Clip(registered.Message, maxNote)}}
}

func inSessions(s *mcpv1alpha1.MCPToolStatus) int32 {
	if s.Observed == nil {
		return 0
	}
	return s.Observed.SessionVariants
}

// sameStep says that the change was known before: of this definition, from that one.
func sameStep(before, after *mcpv1alpha1.MCPToolStatus) bool {
	return before.Change != nil && *before.Change == *after.Change &&
		before.Observed != nil && after.Observed != nil && before.Observed.Digest == after.Observed.Digest
}

// RestartNews tells of pods that are replaced for the content of what they refer to, which changed names.
func RestartNews(changed []string) []Transition {
	if len(changed) == 0 {
		return nil
	}
	return []Transition{{
		Type: "Restart", Reason: mcpv1alpha1.ReasonReferencesChanged,
		Note: admission.Clip("what the server refers to has another content than its pods were started with, and they are replaced: "+strings.Join(changed, ", "), maxNote),
	}}
}
