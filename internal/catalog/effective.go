// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

// Because says what a verdict rests on.
type Because string

// What a verdict rests on, strongest first.
const (
	BecauseOverride   Because = "Override"   // a person's hint in the MCPTool
	BecauseAnnotation Because = "Annotation" // the server's annotation
	BecauseDefault    Because = "Default"    // what MCP, or the server's gating, says of a tool that says nothing
)

// Hints are a person's overrides of a server's annotations. A nil hint overrides nothing.
type Hints struct {
	ReadOnly, Destructive, Idempotent, OpenWorld *bool
}

// Verdict is what a tool counts as.
type Verdict struct {
	Destructive bool
	Because     Because // why Destructive is what it is
	ReadOnly    bool    // never together with Destructive
	Idempotent  bool
	OpenWorld   bool
}

// Effective says what a tool counts as, from its server's annotations and a person's overrides, which win one by one. What
// neither says is as MCP has it (ToolAnnotations): not read-only, destructive unless read-only, not idempotent, open world.
//
// A destructive hint is decided before a read-only one of the same source if a person gives both; of a server that gives
// both, the destructive hint of a read-only tool has no meaning, as MCP says. If unannotatedSafe, a tool of which nobody
// said whether it is read-only or destructive counts as not destructive, though not as read-only.
func Effective(a Annotations, overrides Hints, unannotatedSafe bool) Verdict {
	v := Verdict{
		ReadOnly:   hint(false, overrides.ReadOnly, a.ReadOnly),
		Idempotent: hint(false, overrides.Idempotent, a.Idempotent),
		OpenWorld:  hint(true, overrides.OpenWorld, a.OpenWorld),
	}
	switch {
	case overrides.Destructive != nil:
		v.Destructive, v.Because = *overrides.Destructive, BecauseOverride
	case v.ReadOnly && overrides.ReadOnly != nil:
		v.Because = BecauseOverride
	case v.ReadOnly:
		v.Because = BecauseAnnotation
	case a.Destructive != nil:
		v.Destructive, v.Because = *a.Destructive, BecauseAnnotation
	default:
		unannotated := overrides.ReadOnly == nil && a.ReadOnly == nil
		v.Destructive, v.Because = !unannotated || !unannotatedSafe, BecauseDefault
	}
	v.ReadOnly = v.ReadOnly && !v.Destructive
	return v
}

// Gated says whether the destructive gate holds a tool of this verdict: one that is destructive, and with mutating whatever is not
// read-only. Rules see the same as tool.destructive.
func (v Verdict) Gated(mutating bool) bool {
	return v.Destructive || mutating && !v.ReadOnly
}

// hint returns the first hint that is given, else the default.
func hint(byDefault bool, hints ...*bool) bool {
	for _, h := range hints {
		if h != nil {
			return *h
		}
	}
	return byDefault
}
