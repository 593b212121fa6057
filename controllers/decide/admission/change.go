// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/catalog/change"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/schema/compare"
)

// maxText bounds what a status says of a change, so that it fits into a condition and an event with words around it.
const maxText = 600

// change says how the chosen definition differs from the one that was admitted before it, and shows that one as long as it is
// the admitted one. A step that was told already is told in the same words: the older definition may be gone meanwhile.
func (t Tool) change(last *mcpv1alpha1.MCPToolStatus, chosen *registry.ObservedTool, pins []mcpv1alpha1.RevisionPin) (*mcpv1alpha1.ObservedTool, *mcpv1alpha1.ToolChange) {
	s := t.step(last, chosen, pins)
	if told, done := t.settled(s, last, chosen); done {
		return nil, told
	}
	var admitted *mcpv1alpha1.ObservedTool
	if !s.serves {
		admitted = t.shown(last, s.from)
	}
	if s.same && last.Change != nil && last.Change.From == s.from {
		return admitted, last.Change
	}
	before, known := t.definition(last, s.from)
	if !known {
		return nil, &mcpv1alpha1.ToolChange{Kind: mcpv1alpha1.ChangeBreaking, From: s.from, Text: fmt.Sprintf(
			"the definition %s that was admitted before is not known any more, so it can't be compared", s.from)}
	}
	changes := before.changes(chosen)
	return admitted, &mcpv1alpha1.ToolChange{
		Kind: mcpv1alpha1.ChangeKind(compare.Worst(changes)), Text: change.Text(changes, maxText), From: s.from,
	}
}

// step is the way from one definition to the chosen one.
type step struct {
	// from is the digest that was admitted before; "" where none ever was.
	from string
	// serves says that the chosen definition is admitted; same, that it is the one that was observed last.
	serves, same bool
}

func (t Tool) step(last *mcpv1alpha1.MCPToolStatus, chosen *registry.ObservedTool, pins []mcpv1alpha1.RevisionPin) step {
	s := step{from: t.Admitted(pins), same: last.Observed != nil && last.Observed.Digest == chosen.Digest}
	s.serves = s.from == chosen.Digest || s.from == "" && render.Pinning(t.Server) == mcpv1alpha1.PinningOff
	if s.serves || s.from == "" {
		s.from = t.lastAdmitted(last)
	}
	return s
}

// settled gives what is told of a step that needs no comparison.
func (t Tool) settled(s step, last *mcpv1alpha1.MCPToolStatus, chosen *registry.ObservedTool) (told *mcpv1alpha1.ToolChange, done bool) {
	none := &mcpv1alpha1.ToolChange{Kind: mcpv1alpha1.ChangeNone}
	switch {
	case s.serves && t.Object.Spec.Pin != nil, s.serves && !s.same && s.from == chosen.Digest:
		// A person has looked at this very definition, or the server is back at what was admitted.
		return none, true
	case s.serves && s.same && last.Change != nil && last.Admitted == nil:
		return last.Change, true
	case s.from == "" && !s.serves && s.same:
		return last.Change, true
	case s.from == "" && !s.serves:
		return nil, true // nothing was ever admitted
	case s.from == "", s.from == chosen.Digest:
		return none, true
	default:
		return nil, false
	}
}

// lastAdmitted is the digest that was admitted last, as far as a status tells.
func (t Tool) lastAdmitted(last *mcpv1alpha1.MCPToolStatus) string {
	switch {
	case last.Admitted != nil:
		return last.Admitted.Digest
	case last.Observed == nil:
		return ""
	case meta.IsStatusConditionTrue(last.Conditions, mcpv1alpha1.ConditionRegistered):
		return last.Observed.Digest
	case render.Pinning(t.Server) == mcpv1alpha1.PinningManual:
		return "" // a pin that was noted is no admission
	}
	for _, p := range last.Pins {
		if p.Digest == last.Observed.Digest {
			return p.Digest
		}
	}
	return ""
}

// shown is how a definition is shown; nil where it is not known.
func (t Tool) shown(last *mcpv1alpha1.MCPToolStatus, digest string) *mcpv1alpha1.ObservedTool {
	for _, o := range []*mcpv1alpha1.ObservedTool{last.Admitted, last.Observed} {
		if o != nil && o.Digest == digest {
			out := *o
			out.Variants, out.SessionVariants, out.Revision = 0, 0, ""
			return &out
		}
	}
	if def, ok := t.View.definitions(t.Object.Spec.ToolName)[digest]; ok {
		return observed(nil, &def, 0)
	}
	return nil
}

// earlier is a definition as far as it is remembered.
type earlier struct {
	tool catalog.Tool
	// of is what a status shows of it; nil where all of it is known.
	of *mcpv1alpha1.ObservedTool
}

// definition gives a definition whole where a pod lists it, else as a status shows it.
func (t Tool) definition(last *mcpv1alpha1.MCPToolStatus, digest string) (earlier, bool) {
	if def, ok := t.View.definitions(t.Object.Spec.ToolName)[digest]; ok {
		tool, _ := catalog.ParseTool(def.Definition)
		return earlier{tool: tool}, true
	}
	o := t.shown(last, digest)
	if o == nil {
		return earlier{}, false
	}
	tool := catalog.Tool{Title: o.Title, Description: o.Description, Digest: o.Digest, InputSchema: raw(o.InputSchema), OutputSchema: raw(o.OutputSchema),
		Annotations: AnnotationsOf(o)}
	return earlier{tool: tool, of: o}, true
}

// AnnotationsOf are the hints that a definition gives itself, as a status shows it; none where it shows none.
func AnnotationsOf(o *mcpv1alpha1.ObservedTool) catalog.Annotations {
	if o == nil || o.Annotations == nil {
		return catalog.Annotations{}
	}
	a := o.Annotations
	return catalog.Annotations{ReadOnly: a.ReadOnly.Bool(), Destructive: a.Destructive.Bool(), Idempotent: a.Idempotent.Bool(), OpenWorld: a.OpenWorld.Bool()}
}

// changes compares with a later definition: of that too, only what would be shown of it, where no more is known.
func (e earlier) changes(chosen *registry.ObservedTool) []compare.Change {
	after, _ := catalog.ParseTool(chosen.Definition)
	if e.of == nil {
		return change.Tools(e.tool, after)
	}
	if after.Title == "" {
		after.Title = after.Annotations.Title
	}
	after.Annotations.Title = ""
	after.Title, after.Description = Clip(after.Title, mcpv1alpha1.MaxShownTitle), Clip(after.Description, mcpv1alpha1.MaxShownDescription)
	omitted := e.omitted()
	known := slices.DeleteFunc(change.Tools(e.tool, after), func(c compare.Change) bool {
		return slices.ContainsFunc(omitted, func(o compare.Change) bool { return o.Path == c.Path })
	})
	return compare.Sort(append(omitted, known...))
}

// omitted are the schemas of the earlier definition that could not be kept.
func (e earlier) omitted() []compare.Change {
	if e.of == nil {
		return nil
	}
	var out []compare.Change
	for _, member := range e.of.SchemaOmitted {
		out = append(out, compare.Change{Path: "/" + member, Kind: compare.Breaking, Text: "could not be kept (above 16 KiB, or with a number beyond float64)"})
	}
	return out
}

func raw(r *runtime.RawExtension) []byte {
	if r == nil {
		return nil
	}
	return r.Raw
}
