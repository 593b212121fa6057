// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"strings"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/catalog/change"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/schema/compare"
)

// Alone says that sessions list the tool in the judged revision, and no catalogue there has it.
func (t Tool) Alone() bool {
	defs, _ := t.View.Variants(t.Object.Spec.ToolName)
	return len(defs) == 0 && len(t.View.InSessions(t.Object.Spec.ToolName)) > 0
}

// Untold says that what a status shows may be what a pod lists which has not been asked yet. What another revision listed is not.
func (t Tool) Untold(shown *mcpv1alpha1.ObservedTool) bool {
	return shown != nil && shown.Revision == t.View.Judged && t.View.unheard[t.View.Judged]
}

// Others says who lists other definitions than the chosen one, which it is judged by; "" for nobody.
func (t Tool) Others(chosen *registry.ObservedTool) string {
	name := t.Object.Spec.ToolName
	defs, _ := t.View.Variants(name)
	var parts []string
	if len(defs) > 1 {
		parts = append(parts, fmt.Sprintf("replicas list %d different definitions of it", len(defs)))
	}
	var others []registry.ObservedTool
	sessions := t.View.InSessions(name)
	for _, s := range sessions {
		if s.Digest != chosen.Digest {
			others = append(others, s)
		}
	}
	if len(others) < len(sessions) && len(defs) > 0 {
		parts = append(parts, "sessions alone list it so, and discovery otherwise")
	}
	switch len(others) {
	case 0:
	case 1:
		parts = append(parts, fmt.Sprintf("sessions list another definition of it, %s; the change is %s", others[0].Digest, difference(chosen, &others[0])))
	default:
		parts = append(parts, fmt.Sprintf("sessions list %d other definitions of it", len(others)))
	}
	return strings.Join(parts, "; ")
}

// difference says how a definition differs from another one.
func difference(from, to *registry.ObservedTool) string {
	before, _ := catalog.ParseTool(from.Definition)
	after, _ := catalog.ParseTool(to.Definition)
	changes := change.Tools(before, after)
	return fmt.Sprintf("%s: %s", mcpv1alpha1.ChangeKind(compare.Worst(changes)), change.Text(changes, maxText))
}
