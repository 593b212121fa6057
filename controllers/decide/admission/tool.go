// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/document"
)

// Tool is one tool before it is decided about.
type Tool struct {
	Object *mcpv1alpha1.MCPTool
	// Server is nil when the server does not exist.
	Server *mcpv1alpha1.MCPServer
	View   *View
}

// Observe brings everything in a status but its conditions up to what is listed, and gives the definition that the tool is
// judged by: nil where no pod lists it.
func (t Tool) Observe(status *mcpv1alpha1.MCPToolStatus) (chosen *registry.ObservedTool) {
	last := *status
	status.Pins = t.pins(last.Pins)
	status.ContractKept = t.contractKept(&last)
	chosen, listed, inSessions := t.choose(status.Pins, status.ContractKept)
	if chosen != nil {
		if t.Untold(last.Observed) {
			// A manager that has just started may know no better than the status.
			inSessions = max(inSessions, int(last.Observed.SessionVariants))
		}
		status.Admitted, status.Change = t.change(&last, chosen, status.Pins)
		status.Observed = observed(last.Observed, chosen, listed+inSessions)
		status.Observed.Revision, status.Observed.SessionVariants = t.View.Judged, int32(inSessions)
	}
	status.ContractBroken = t.contractBroken(&last, status.Pins)
	if t.Server != nil && !render.Automatic(t.Server) {
		t.dropBroken(&last, status)
	}
	return chosen
}

// Met says whether clients can meet the tool in the judged revision, beside others whose names are like its own.
func (t Tool) Met() bool {
	seen := document.LastSeen(t.Object, t.View.Judged)
	if defs, _ := t.View.Variants(t.Object.Spec.ToolName); len(defs) > 0 {
		seen = document.Here
	} else if len(t.View.InSessions(t.Object.Spec.ToolName)) > 0 || t.View.Known() && t.Object.Status.Observed != nil {
		seen = document.Gone
	}
	return t.Server != nil && document.Meets(t.Server, t.Object, t.View.Judged, seen)
}

// pins admits out of each revision's first catalogue, and out of nothing else. What is admitted stays so; pins of revisions
// that the server no longer records go. Where automatic pins count for nothing, they are noted all the same: whoever has them count
// later finds those that would be there otherwise. A server that was made again has no revisions at first: what was admitted before is
// remembered until it has.
func (t Tool) pins(old []mcpv1alpha1.RevisionPin) []mcpv1alpha1.RevisionPin {
	if t.Server == nil || len(t.Server.Status.Revisions) == 0 {
		return old
	}
	var out []mcpv1alpha1.RevisionPin
	for _, r := range t.Server.Status.Revisions {
		digest := pinned(old, r.Name)
		if digest == "" {
			digest = t.automatic(r.Name, slices.Concat(old, out))
		}
		if digest != "" {
			out = append(out, mcpv1alpha1.RevisionPin{Revision: r.Name, Digest: digest})
		}
	}
	return out
}

// automatic is the definition that a revision without a pin is given; "" for none. before are the pins that there are.
func (t Tool) automatic(revision string, before []mcpv1alpha1.RevisionPin) string {
	own := t.View.firstDigest(revision, t.Object.Spec.ToolName)
	held := ""
	switch {
	case len(before) > 0:
		held = before[len(before)-1].Digest
	case revision == t.View.founding:
		held = own
	}
	switch render.Pinning(t.Server) {
	case mcpv1alpha1.PinningPerRevision, mcpv1alpha1.PinningOff:
		return own
	case mcpv1alpha1.PinningStrict:
		return held
	case mcpv1alpha1.PinningManual:
		// Nothing was admitted, so that Strict must not find what it would not have admitted itself.
		if own == held {
			return own
		}
	}
	return ""
}

// dropBroken drops pins that count for nothing and break the contract: they must not keep from being served what is listed, and must
// not be found by whoever has pins count later.
func (t Tool) dropBroken(last, status *mcpv1alpha1.MCPToolStatus) {
	broken := status.ContractBroken
	status.ContractBroken = t.contractBroken(last, nil)
	var pins []mcpv1alpha1.RevisionPin
	for _, p := range status.Pins {
		if !slices.Contains(broken, p.Digest) {
			pins = append(pins, p)
		}
	}
	status.Pins = pins
}

// Late says that the first catalogue that would admit a tool is known, and does not list it.
func (t Tool) Late() bool {
	revision := t.View.Judged
	if render.Pinning(t.Server) == mcpv1alpha1.PinningStrict {
		revision = t.View.founding
	}
	_, has, known := t.View.inFirst(revision, t.Object.Spec.ToolName)
	return known && !has
}

func pinned(pins []mcpv1alpha1.RevisionPin, revision string) string {
	for _, p := range pins {
		if p.Revision == revision {
			return p.Digest
		}
	}
	return ""
}

// Admitted is the digest that the judged revision may serve; "" for none. With pinning Off, none means any.
func (t Tool) Admitted(pins []mcpv1alpha1.RevisionPin) string {
	object := *t.Object
	object.Status.Pins = pins
	return document.Admitted(t.Server, &object, t.View.Judged)
}

// choose picks, of the definitions that replicas list, the admitted one, else the least; where any may be served that keeps the contract,
// the least of those; one that sessions alone list, where a person has admitted it, or there is no other. What is admitted by itself was
// listed by discovery once: where it no longer is, it has changed, whatever sessions were given in the last day.
func (t Tool) choose(pins []mcpv1alpha1.RevisionPin, kept []string) (chosen *registry.ObservedTool, listed, inSessions int) {
	defs, _ := t.View.Variants(t.Object.Spec.ToolName)
	sessions := t.View.InSessions(t.Object.Spec.ToolName)
	listed, inSessions = len(defs), len(sessions)
	all := slices.Concat(defs, sessions)
	if len(all) == 0 || t.Server == nil {
		return nil, 0, 0
	}
	admitted := t.Admitted(pins)
	serves := func(o registry.ObservedTool) bool {
		return o.Digest == admitted || admitted == "" && render.Pinning(t.Server) == mcpv1alpha1.PinningOff && slices.Contains(kept, o.Digest)
	}
	from := all
	if listed > 0 && (t.Object.Spec.Pin == nil || t.Object.Spec.Pin.Digest == "") {
		from = defs
	}
	return &from[max(slices.IndexFunc(from, serves), 0)], listed, inSessions
}
