// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"

	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/rules"
)

func (e *Engine) effective(tool catalog.Tool, reg *registry.Tool) catalog.Verdict {
	return catalog.Effective(tool.Annotations, reg.Hints.Overrides(), e.policy().Gating.UnannotatedSafe)
}

// gated says whether the destructive gate holds a tool of this verdict.
func (e *Engine) gated(v catalog.Verdict) bool {
	return v.Gated(e.policy().Gating.Mutating)
}

// gate blocks destructive tools of a server that is not trusted, or wants each of their calls confirmed.
func gate(e *Engine, f *flow) *Refusal {
	f.Effective = e.effective(f.Tool, f.tool)
	if f.trusted || !e.gated(f.Effective) {
		return nil
	}
	if e.policy().Gating.Confirm {
		f.gated = whyGated(f.Effective)
		f.remark = fmt.Sprintf("Tool %q %s, so that each call of it is confirmed by a person.", f.tool.Name, f.gated)
		return nil
	}
	return &Refusal{Kind: Denied, Reason: "Untrusted", Message: fmt.Sprintf(
		"Tool %q %s, and such calls are blocked on this server. The people who run it decide about that; read-only tools can be called.",
		f.tool.Name, whyGated(f.Effective))}
}

func whyGated(v catalog.Verdict) string {
	if !v.Destructive {
		return "is not read-only"
	}
	switch v.Because {
	case catalog.BecauseOverride:
		return "counts as destructive by decision of the people who run this server"
	case catalog.BecauseAnnotation:
		return "says of itself that it can destroy data"
	case catalog.BecauseDefault:
		return "does not say that it is safe, so it counts as destructive"
	default:
		return "counts as destructive"
	}
}

// confirmation holds what the gate or a rule wants confirmed until a person has: one confirmation serves both. Its refusal is
// the question, for whoever can ask it, and the answer where nobody can.
func confirmation(e *Engine, f *flow) *Refusal {
	ruled := f.Rules.Action == rules.RequireConfirmation
	if !ruled && f.gated == "" {
		return nil
	}
	if by := f.call.Confirmed.By; by != "" {
		f.remark = "Confirmed by " + by + "."
		return nil
	}
	refusal := &Refusal{Kind: NeedsConfirmation, Reason: "NeedsConfirmation"}
	switch {
	case !ruled:
		refusal.Message = fmt.Sprintf("Tool %q %s, and such calls need a person's confirmation on this server.", f.tool.Name, f.gated)
	case f.Rules.Message != "":
		refusal.Rule, refusal.Message = ruleName(f.Rules), f.Rules.Message
	default:
		refusal.Rule, refusal.Message = ruleName(f.Rules), "A rule asks for a person's confirmation of this call."
	}
	if e.policy().Confirm.By != registry.ConfirmByCaller {
		refusal.Message = "Refused, since an approver would have to confirm it, and approvers cannot be asked yet: " + refusal.Message
	}
	return refusal
}
