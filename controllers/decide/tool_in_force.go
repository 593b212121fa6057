// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"
	"slices"
	"time"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide/admission"
	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/mcp"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/rules"
)

// InForce is a document that dispatchers go on enforcing because the one that the objects ask for can't be written. The zero value is
// none, and lets nothing through.
type InForce struct {
	doc    *registry.Document
	broken []*rules.Compiled
}

// NewInForce looks at a document that is written. It takes the document over.
func NewInForce(doc *registry.Document) InForce {
	return InForce{doc: doc, broken: BrokenSets(doc)}
}

// BrokenSets are the sets of a document that deny what they govern, compiled. They have no rules, so this is cheap.
func BrokenSets(doc *registry.Document) []*rules.Compiled {
	var out []*rules.Compiled
	for _, set := range doc.RuleSets {
		if set.Broken != "" && set.Enforcement != rules.Audit {
			compiled, _ := rules.Compile(set)
			out = append(out, compiled)
		}
	}
	return out
}

// lets says whether some call of a tool passes what does not depend on the call, in a revision that has the shown definition admitted.
// Dispatchers may have stopped trusting, whatever the document says.
func (f InForce) lets(name string, shown *mcpv1alpha1.ObservedTool, now time.Time, lapsed bool) bool {
	if f.doc == nil || shown == nil || !f.doc.Policy.Expose.Tools {
		return false
	}
	for _, revision := range f.doc.Revisions {
		at, found := slices.BinarySearchFunc(revision.Tools, name, func(t registry.Tool, name string) int { return cmp.Compare(t.Name, name) })
		if found && f.letsTool(&revision.Tools[at], shown, now, lapsed) {
			return true
		}
	}
	return false
}

func (f InForce) letsTool(t *registry.Tool, shown *mcpv1alpha1.ObservedTool, now time.Time, lapsed bool) bool {
	if t.Withheld != "" || !t.Admits(shown.Digest, &f.doc.Policy) {
		return false
	}
	gating, trust := f.doc.Policy.Gating, f.doc.Policy.Trust
	v := catalog.Effective(admission.AnnotationsOf(shown), t.Hints.Overrides(), gating.UnannotatedSafe)
	gated := v.Gated(gating.Mutating)
	if gated && (!trust.Trusted || lapsed || trust.Ended(now)) {
		return false
	}
	info := rules.ToolInfo{Name: t.Name, Destructive: gated}
	return !slices.ContainsFunc(f.broken, func(set *rules.Compiled) bool { return set.Governs(info, mcp.MethodCallTool) })
}
