// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/rules"
	"toolgate.dev/toolgate/internal/schema"
)

// ToolInput is everything that the status of a tool depends on.
type ToolInput struct {
	Tool *mcpv1alpha1.MCPTool
	// Server is nil when the server does not exist.
	Server *mcpv1alpha1.MCPServer
	Now    time.Time
	View   *View
	// Duplicate says why the tool can't be told from another (render.Duplicates).
	Duplicate render.Fault
	// Broken are the sets of the server's document that deny what they govern.
	Broken []*rules.Compiled
	// Schemas are compiled once for all servers.
	Schemas *registry.SchemaCache
}

// Tool computes the status of a tool.
func Tool(in ToolInput) mcpv1alpha1.MCPToolStatus {
	t := in.Tool
	out := *t.Status.DeepCopy()
	out.ObservedGeneration = t.Generation
	out.Pins = in.pins(out.Pins)
	chosen, variants := in.choose(out.Pins)
	if chosen != nil {
		out.Observed = observed(out.Observed, chosen, variants)
	}
	verdict := in.destructive(out.Observed)
	if out.Observed != nil {
		out.Destructive = &mcpv1alpha1.DestructiveStatus{Verdict: hintOf(verdict.Destructive), Because: mcpv1alpha1.HintSource(verdict.Because)}
	}
	c := &conditions{list: out.Conditions, generation: t.Generation, now: metav1.NewTime(in.Now)}
	c.set(mcpv1alpha1.ConditionRegistered, in.registered(chosen, out.Pins, c.list))
	c.set(mcpv1alpha1.ConditionCallable, in.callable(c.list, verdict))
	c.set(mcpv1alpha1.ConditionReady, ready(c.list, mcpv1alpha1.ConditionRegistered, mcpv1alpha1.ConditionCallable))
	out.Conditions = c.list
	out.Bound()
	return out
}

// Abandoned says whether an object that discovery made has nothing left to tell: no pod lists its tool, no revision that
// can still run has it admitted, and no person has a word in it.
func Abandoned(in ToolInput, live []string) bool {
	if in.Server == nil || !in.View.Complete() || render.OwnedByPeople(in.Tool) {
		return false
	}
	if slices.Contains(in.View.Names(), in.Tool.Spec.ToolName) {
		return false
	}
	return !slices.ContainsFunc(in.Tool.Status.Pins, func(p mcpv1alpha1.RevisionPin) bool { return slices.Contains(live, p.Revision) })
}

// pins admits out of each revision's first catalogue, and out of nothing else. What is admitted stays so; pins of
// revisions that the server no longer records go.
func (d *ToolInput) pins(old []mcpv1alpha1.RevisionPin) []mcpv1alpha1.RevisionPin {
	if d.Server == nil {
		return old
	}
	var out []mcpv1alpha1.RevisionPin
	for _, r := range d.Server.Status.Revisions {
		digest := pinned(old, r.Name)
		if digest == "" && render.Pinning(d.Server) == mcpv1alpha1.PinningPerRevision {
			digest = d.View.firstDigest(r.Name, d.Tool.Spec.ToolName)
		}
		if digest != "" {
			out = append(out, mcpv1alpha1.RevisionPin{Revision: r.Name, Digest: digest})
		}
	}
	return out
}

func pinned(pins []mcpv1alpha1.RevisionPin, revision string) string {
	for _, p := range pins {
		if p.Revision == revision {
			return p.Digest
		}
	}
	return ""
}

// admitted is the digest that the judged revision may serve.
func (d *ToolInput) admitted(pins []mcpv1alpha1.RevisionPin) string {
	t := *d.Tool
	t.Status.Pins = pins
	return render.Admitted(&t, d.View.Judged)
}

// choose picks, of the definitions that replicas list, the admitted one, else the least.
func (d *ToolInput) choose(pins []mcpv1alpha1.RevisionPin) (chosen *registry.ObservedTool, variants int) {
	defs, _ := d.View.variants(d.Tool.Spec.ToolName)
	if len(defs) == 0 {
		return nil, 0
	}
	admitted := d.admitted(pins)
	for i := range defs {
		if defs[i].Digest == admitted {
			return &defs[i], len(defs)
		}
	}
	return &defs[0], len(defs)
}

func (d *ToolInput) destructive(o *mcpv1alpha1.ObservedTool) catalog.Verdict {
	var a catalog.Annotations
	if o != nil && o.Annotations != nil {
		a.ReadOnly, a.Destructive = render.Hint(o.Annotations.ReadOnly), render.Hint(o.Annotations.Destructive)
		a.Idempotent, a.OpenWorld = render.Hint(o.Annotations.Idempotent), render.Hint(o.Annotations.OpenWorld)
	}
	h := d.Tool.Spec.Hints
	overrides := catalog.Hints{
		ReadOnly: render.Hint(h.ReadOnly), Destructive: render.Hint(h.Destructive),
		Idempotent: render.Hint(h.Idempotent), OpenWorld: render.Hint(h.OpenWorld),
	}
	safe := d.Server != nil && d.Server.Spec.Gating.Unannotated == mcpv1alpha1.UnannotatedSafe
	return catalog.Effective(a, overrides, safe)
}

// registered is a chain: the first thing that is wrong is told.
func (d *ToolInput) registered(chosen *registry.ObservedTool, pins []mcpv1alpha1.RevisionPin, list []metav1.Condition) verdict {
	t := d.Tool
	_, twice := d.View.variants(t.Spec.ToolName)
	switch {
	case d.Server == nil:
		return no(mcpv1alpha1.ReasonGone, fmt.Sprintf("MCPServer %s does not exist", t.Spec.ServerRef.Name))
	case render.Disabled(d.Server):
		return no(mcpv1alpha1.ReasonDisabled, fmt.Sprintf("MCPServer %s is disabled", d.Server.Name))
	case t.Spec.State == mcpv1alpha1.StateDisabled:
		return no(mcpv1alpha1.ReasonDisabled, "spec.state is Disabled")
	case d.Duplicate != (render.Fault{}):
		return no(mcpv1alpha1.ReasonDuplicateName, d.Duplicate.ForPeople())
	case twice:
		return no(mcpv1alpha1.ReasonDuplicateName, fmt.Sprintf("the server lists %s more than once", t.Spec.ToolName))
	case render.Undeclared(t) != (render.Fault{}):
		return no(mcpv1alpha1.ReasonNameNotDeclared, render.Undeclared(t).ForPeople())
	case !d.View.Known():
		return d.unread(list)
	case chosen == nil && t.Status.Observed != nil:
		return no(mcpv1alpha1.ReasonGone, "the server no longer lists it")
	case chosen == nil:
		return no(mcpv1alpha1.ReasonNotListed, "the server has not listed it so far")
	}
	if reason, message := d.invalid(chosen); reason != "" {
		return no(reason, message)
	}
	return d.admission(chosen, pins)
}

// unread is the verdict while no pod has told its catalogue.
func (d *ToolInput) unread(list []metav1.Condition) verdict {
	last, known := previous(list, mcpv1alpha1.ConditionRegistered)
	if known && d.Tool.Status.Observed != nil && last.reason != mcpv1alpha1.ReasonDisabled {
		return last
	}
	return no(mcpv1alpha1.ReasonNotDiscovered, "the server's catalogue has not been read yet")
}

// admission compares what is listed with what is admitted.
func (d *ToolInput) admission(chosen *registry.ObservedTool, pins []mcpv1alpha1.RevisionPin) verdict {
	admitted := d.admitted(pins)
	pinning := render.Pinning(d.Server)
	switch {
	case admitted == chosen.Digest:
		return yes(mcpv1alpha1.ReasonRegistered, "")
	case admitted == "" && pinning == mcpv1alpha1.PinningOff:
		return yes(mcpv1alpha1.ReasonRegistered, "spec.discovery.pinning is Off: any definition is admitted")
	case admitted == "" && pinning == mcpv1alpha1.PinningManual:
		return no(mcpv1alpha1.ReasonNotPinned, "to admit the definition, set spec.pin.digest to "+chosen.Digest)
	case admitted == "" && d.View.first[d.View.Judged] == "":
		return no(mcpv1alpha1.ReasonNotDiscovered, "the first catalogue of this revision is being recorded")
	case admitted == "":
		return no(mcpv1alpha1.ReasonDefinitionChanged, fmt.Sprintf(
			"the server lists it now, but not in the first catalogue of revision %s; to admit it, set spec.pin.digest to %s", d.View.Judged, chosen.Digest))
	default:
		return no(mcpv1alpha1.ReasonDefinitionChanged, fmt.Sprintf(
			"the definition is %s, admitted is %s; to admit it, set spec.pin.digest to the former", chosen.Digest, admitted))
	}
}

// invalid says why a definition can't be served: the dispatcher checks the same, and the words here are for people.
func (d *ToolInput) invalid(chosen *registry.ObservedTool) (reason, message string) {
	tool, err := catalog.ParseTool(chosen.Definition)
	switch {
	case errors.Is(err, catalog.ErrNoInputSchema):
		return mcpv1alpha1.ReasonNoInputSchema, "the server lists it without an inputSchema, so no call could be checked: " + err.Error()
	case err != nil:
		return mcpv1alpha1.ReasonInvalidSchema, err.Error()
	}
	if _, err := d.Schemas.Get(chosen.Digest, "inputSchema", tool.InputSchema, schema.Options{RequireObject: true}); err != nil {
		return mcpv1alpha1.ReasonInvalidSchema, "inputSchema: " + err.Error()
	}
	if tool.OutputSchema != nil {
		if _, err := d.Schemas.Get(chosen.Digest, "outputSchema", tool.OutputSchema, schema.Options{}); err != nil {
			return mcpv1alpha1.ReasonInvalidSchema, "outputSchema: " + err.Error()
		}
	}
	if chosen.Error != "" {
		return mcpv1alpha1.ReasonInvalidSchema, "the dispatcher can't serve it: " + chosen.Error
	}
	return "", ""
}

// callable is a chain too; the strictest thing that is in the way comes first.
func (d *ToolInput) callable(list []metav1.Condition, v catalog.Verdict) verdict {
	if r := meta.FindStatusCondition(list, mcpv1alpha1.ConditionRegistered); r.Status != metav1.ConditionTrue {
		return no(r.Reason, r.Message)
	}
	if d.Server.Spec.Expose.Tools == mcpv1alpha1.Deny {
		return no(mcpv1alpha1.ReasonNotExposed, "spec.expose.tools of the server is Deny")
	}
	info := rules.ToolInfo{Name: d.Tool.Spec.ToolName, Destructive: v.Destructive}
	for _, set := range d.Broken {
		if set.Governs(info, mcpv1alpha1.DefaultMethod) {
			return no(mcpv1alpha1.ReasonRuleSetInvalid, fmt.Sprintf("RuleSet %s denies what it governs: %s", set.Name(), set.Broken()))
		}
	}
	if reason, message := d.gated(v); reason != "" {
		return no(reason, message)
	}
	available := meta.FindStatusCondition(d.Server.Status.Conditions, mcpv1alpha1.ConditionAvailable)
	if available == nil || available.Status != metav1.ConditionTrue && available.Reason != mcpv1alpha1.ReasonProgressing || !anyServes(d.Server) {
		return no(mcpv1alpha1.ReasonServerNotReady, fmt.Sprintf("no pod of MCPServer %s serves", d.Server.Name))
	}
	return yes(mcpv1alpha1.ReasonCallable, "")
}

func anyServes(s *mcpv1alpha1.MCPServer) bool {
	return s.Status.ReadyReplicas != nil && *s.Status.ReadyReplicas > 0
}

// gated says whether the destructive gate holds the tool.
func (d *ToolInput) gated(v catalog.Verdict) (reason, message string) {
	gate, word, override := v.Destructive, "destructive", `spec.hints.destructive of this MCPTool to "False"`
	if d.Server.Spec.Gating.Scope == mcpv1alpha1.GateMutating {
		gate, word, override = !v.ReadOnly, "mutating", `spec.hints.readOnly of this MCPTool to "True"`
	}
	trust := d.Server.Spec.Trust
	switch {
	case !gate:
		return "", ""
	case d.Server.Spec.Gating.Destructive == mcpv1alpha1.GateConfirm && !d.trusted():
		return mcpv1alpha1.ReasonNeedsConfirmation, fmt.Sprintf("it counts as %s (%s), MCPServer %s is not trusted, and %s",
			word, v.Because, d.Server.Name, whoConfirms(d.Server.Spec.Effective().Confirm.By))
	case trust.State != mcpv1alpha1.Trusted:
		return mcpv1alpha1.ReasonUntrusted, fmt.Sprintf(
			"it counts as %s (%s) and MCPServer %s is Untrusted; to let it through, set spec.trust.state of the MCPServer to Trusted, or %s",
			word, v.Because, d.Server.Name, override)
	case trust.ExpiresAt != nil && !d.Now.Before(trust.ExpiresAt.Time):
		return mcpv1alpha1.ReasonTrustExpired, fmt.Sprintf("it counts as %s (%s) and the trust in MCPServer %s ended at %s; to renew it, set spec.trust.expiresAt",
			word, v.Because, d.Server.Name, trust.ExpiresAt.UTC().Format(time.RFC3339))
	default:
		return "", ""
	}
}

// trusted says whether the server counts as trusted now.
func (d *ToolInput) trusted() bool {
	trust := d.Server.Spec.Trust
	return trust.State == mcpv1alpha1.Trusted && (trust.ExpiresAt == nil || d.Now.Before(trust.ExpiresAt.Time))
}

func whoConfirms(by mcpv1alpha1.ConfirmBy) string {
	if by == mcpv1alpha1.ConfirmByCaller {
		return "each call has to be confirmed by the person who makes it"
	}
	return "each call would have to be confirmed by an approver, whom nobody can ask yet"
}
