// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide/admission"
	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/mcp"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/document"
	"toolgate.dev/toolgate/internal/rules"
)

// ToolInput is everything that the status of a tool depends on.
type ToolInput struct {
	Tool *mcpv1alpha1.MCPTool
	// Server is nil when the server does not exist.
	Server *mcpv1alpha1.MCPServer
	Now    time.Time
	View   *admission.View
	// Duplicate says why the tool can't be told from another (render.Duplicates).
	Duplicate render.Fault
	// Broken are the sets of the server's document that deny what they govern.
	Broken []*rules.Compiled
	// DocumentError is why the server's document is not the one that was asked for, and InForce the one that stays in force then.
	DocumentError Refusal
	InForce       InForce
	// Untried says that nobody has tried to write it yet: a manager has just been started. Callable stays as it was until then.
	Untried bool
	// TrustLapses is when no dispatcher of the server trusts it any more because the manager can't reach them (TrustLapses); zero for never.
	TrustLapses time.Time
	// Definitions are judged once for all servers.
	Definitions *Definitions
}

// Tool computes the status of a tool.
func Tool(in ToolInput) mcpv1alpha1.MCPToolStatus {
	t := in.Tool
	out := *t.Status.DeepCopy()
	out.ObservedGeneration = t.Generation
	chosen := in.definitions().Observe(&out)
	verdict := verdictOf(in.Server, t.Spec.Hints, out.Observed)
	if out.Observed != nil {
		out.Destructive = &mcpv1alpha1.DestructiveStatus{Verdict: admission.HintOf(verdict.Destructive), Because: mcpv1alpha1.HintSource(verdict.Because)}
	}
	c := &conditions{list: out.Conditions, generation: t.Generation, now: metav1.NewTime(in.Now)}
	c.set(mcpv1alpha1.ConditionRegistered, in.registered(chosen, &out, c.list))
	c.set(mcpv1alpha1.ConditionCallable, in.callable(c.list, out.Observed))
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
	if in.View.Lists(in.Tool.Spec.ToolName) {
		return false
	}
	return !slices.ContainsFunc(in.Tool.Status.Pins, func(p mcpv1alpha1.RevisionPin) bool { return slices.Contains(live, p.Revision) })
}

// definitions decides about what is listed and admitted.
func (d *ToolInput) definitions() admission.Tool {
	return admission.Tool{Object: d.Tool, Server: d.Server, View: d.View}
}

// verdictOf is what a tool counts as, by the definition that is shown of it; s is nil where the server is gone.
func verdictOf(s *mcpv1alpha1.MCPServer, h mcpv1alpha1.Hints, shown *mcpv1alpha1.ObservedTool) catalog.Verdict {
	overrides := catalog.Hints{
		ReadOnly: h.ReadOnly.Bool(), Destructive: h.Destructive.Bool(),
		Idempotent: h.Idempotent.Bool(), OpenWorld: h.OpenWorld.Bool(),
	}
	return catalog.Effective(admission.AnnotationsOf(shown), overrides, s != nil && s.Spec.Gating.Unannotated == mcpv1alpha1.UnannotatedSafe)
}

// mutating says whether the server's gate holds whatever is not read-only.
func mutating(s *mcpv1alpha1.MCPServer) bool {
	return s.Spec.Gating.Scope == mcpv1alpha1.GateMutating
}

// ForRules is a tool as the sets of its server's document see it.
func ForRules(s *mcpv1alpha1.MCPServer, t *mcpv1alpha1.MCPTool) rules.ToolInfo {
	v := verdictOf(s, t.Spec.Hints, t.Status.Observed)
	return rules.ToolInfo{Name: t.Spec.ToolName, Destructive: v.Gated(mutating(s))}
}

// registered is a chain: the first thing that is wrong is told.
func (d *ToolInput) registered(chosen *registry.ObservedTool, now *mcpv1alpha1.MCPToolStatus, list []metav1.Condition) verdict {
	t := d.Tool
	_, twice := d.View.Variants(t.Spec.ToolName)
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
		return d.unread(now, list)
	case chosen == nil:
		return d.unlisted(now, list)
	}
	if v, bad := d.faulty(chosen, now); bad {
		return v
	}
	v := d.admission(chosen, now)
	if int(now.Observed.SessionVariants) > len(d.View.InSessions(t.Spec.ToolName)) {
		// What sessions list of a pod that has not been heard of is told as before.
		if last, known := previous(list, mcpv1alpha1.ConditionRegistered); known && last.status == v.status && last.reason == v.reason {
			return last
		}
	}
	return v
}

// faulty is the verdict on a definition that could not be served if it were admitted.
func (d *ToolInput) faulty(chosen *registry.ObservedTool, now *mcpv1alpha1.MCPToolStatus) (v verdict, bad bool) {
	reason, message := d.Definitions.invalid(chosen)
	if reason == "" {
		if message = d.definitions().ContractText(chosen); message == "" {
			return verdict{}, false
		}
		reason = mcpv1alpha1.ReasonContractBroken
	}
	if d.unmet(now) {
		return no(mcpv1alpha1.ReasonNotListed, "sessions list it and discovery does not; "+message), true
	}
	return no(reason, message), true
}

// unmet says of a tool that sessions alone list that nothing admits it, so that its name is held against no other (admission.Tool.Met).
// No reason may say of it that it was told apart from others (internal/loosening): NotListed does not.
func (d *ToolInput) unmet(now *mcpv1alpha1.MCPToolStatus) bool {
	t := d.definitions()
	return t.Alone() && t.Admitted(now.Pins) == "" && render.Pinning(d.Server) != mcpv1alpha1.PinningOff
}

// admission compares what is listed with what is admitted.
func (d *ToolInput) admission(chosen *registry.ObservedTool, now *mcpv1alpha1.MCPToolStatus) verdict {
	admitted := d.definitions().Admitted(now.Pins)
	pinning := render.Pinning(d.Server)
	wayOut, others := "; to admit it, set spec.pin.digest to "+chosen.Digest, ""
	if now.Observed.Variants > 1 {
		if others = d.definitions().Others(chosen); others != "" {
			wayOut += "; " + others
		}
	}
	switch {
	case admitted == chosen.Digest && others != "":
		return yes(mcpv1alpha1.ReasonRegistered, others+"; calls that reach another than the admitted definition are refused")
	case admitted == chosen.Digest && document.OnlyInSessions(now.Observed):
		return yes(mcpv1alpha1.ReasonRegistered, "sessions alone list it: discovery does not")
	case admitted == chosen.Digest:
		return yes(mcpv1alpha1.ReasonRegistered, "")
	case admitted == "" && pinning == mcpv1alpha1.PinningOff:
		return d.off(others, wayOut, now)
	case admitted != "":
		return no(mcpv1alpha1.ReasonDefinitionChanged, fmt.Sprintf(
			"the definition is %s, admitted is %s%s%s", chosen.Digest, admitted, told(now.Change), wayOut))
	case d.unmet(now):
		return no(mcpv1alpha1.ReasonNotListed, "sessions list it and discovery does not, so that nothing admits it by itself"+told(now.Change)+wayOut)
	case pinning == mcpv1alpha1.PinningManual:
		return no(mcpv1alpha1.ReasonNotPinned, "spec.discovery.pinning is Manual"+told(now.Change)+wayOut)
	case !d.View.Recorded():
		return no(mcpv1alpha1.ReasonNotDiscovered, "the first catalogue of this revision is being recorded")
	default:
		return no(mcpv1alpha1.ReasonDefinitionChanged, d.unpinned(pinning, told(now.Change)+wayOut))
	}
}

// off is the verdict where any definition is admitted. Where it has to keep a contract, that is of those that discovery lists, or did
// when it listed the tool last.
func (d *ToolInput) off(others, wayOut string, now *mcpv1alpha1.MCPToolStatus) verdict {
	contract := d.Tool.Spec.Contract
	if contract.Promises() && document.OnlyInSessions(now.Observed) && !slices.Contains(now.ContractKept, now.Observed.Digest) {
		return no(mcpv1alpha1.ReasonDefinitionChanged, "sessions list it and discovery does not, so that nothing admits it by itself where there is a contract"+wayOut)
	}
	text := "spec.discovery.pinning is Off: any definition is admitted" + within(contract)
	if others != "" {
		text += "; " + others
	}
	return yes(mcpv1alpha1.ReasonRegistered, text)
}

// within says which definitions are any, where people have promised something of them.
func within(c *mcpv1alpha1.Contract) string {
	if !c.Promises() {
		return ""
	}
	return " that keeps spec.contract, once that is known; calls that reach a replica with another one are refused"
}

// unpinned says why a definition has no automatic pin, as far as the first catalogue that would have given it one is known.
func (d *ToolInput) unpinned(pinning mcpv1alpha1.Pinning, rest string) string {
	strict, late := pinning == mcpv1alpha1.PinningStrict, d.definitions().Late()
	switch {
	case strict && late:
		return "the server lists it, but did not in the first catalogue of its first revision, and spec.discovery.pinning is Strict" + rest
	case strict:
		return "it was not pinned while the first catalogue of the server's first revision was seen, and spec.discovery.pinning is Strict" + rest
	case late:
		return fmt.Sprintf("the server lists it now, but not in the first catalogue of revision %s%s", d.View.Judged, rest)
	default:
		return fmt.Sprintf("it was not pinned while the first catalogue of revision %s was seen%s; a new revision is admitted anew", d.View.Judged, rest)
	}
}

// told is a change within a sentence.
func told(c *mcpv1alpha1.ToolChange) string {
	if c == nil || c.Kind == mcpv1alpha1.ChangeNone {
		return ""
	}
	return fmt.Sprintf("; the change is %s: %s", c.Kind, c.Text)
}

// callable is what is asked for, held against the document in force where that is not the one that was asked for.
func (d *ToolInput) callable(list []metav1.Condition, shown *mcpv1alpha1.ObservedTool) verdict {
	if last, known := previous(list, mcpv1alpha1.ConditionCallable); known && d.Untried {
		return last
	}
	asked := d.asked(list, shown)
	passes := asked.status == metav1.ConditionTrue
	// One that is too large denies everything, and is written as such.
	if e := d.DocumentError; e != (Refusal{}) && e.Reason != mcpv1alpha1.ReasonRegistryTooLarge {
		switch lets := d.InForce.lets(d.Tool.Spec.ToolName, shown, d.Now, lapsed(d.TrustLapses, d.Now)); {
		case passes && !lets:
			return no(e.Reason, "what lets it through is in no document of MCPServer "+d.Server.Name+" yet: "+e.Message)
		case !passes && lets:
			asked = yes(e.Reason, fmt.Sprintf("what withholds it (%s) is in no document of MCPServer %s yet: %s", asked.reason, d.Server.Name, e.Message))
		}
	}
	if asked.status != metav1.ConditionTrue {
		return asked
	}
	// What else is wrong with its pods keeps no call from those that serve.
	if !anyServes(d.Server) {
		return no(mcpv1alpha1.ReasonServerNotReady, fmt.Sprintf("no pod of MCPServer %s serves", d.Server.Name))
	}
	return asked
}

// asked is a chain too: whether the document that is asked for lets the tool through. The strictest thing that is in the way comes first.
func (d *ToolInput) asked(list []metav1.Condition, shown *mcpv1alpha1.ObservedTool) verdict {
	if r := meta.FindStatusCondition(list, mcpv1alpha1.ConditionRegistered); r.Status != metav1.ConditionTrue {
		return no(r.Reason, r.Message)
	}
	if d.DocumentError.Reason == mcpv1alpha1.ReasonRegistryTooLarge {
		return no(d.DocumentError.Reason, d.DocumentError.Message)
	}
	if d.Server.Spec.Expose.Tools == mcpv1alpha1.Deny {
		return no(mcpv1alpha1.ReasonNotExposed, "spec.expose.tools of the server is Deny")
	}
	v := verdictOf(d.Server, d.Tool.Spec.Hints, shown)
	info := rules.ToolInfo{Name: d.Tool.Spec.ToolName, Destructive: v.Gated(mutating(d.Server))}
	for _, set := range d.Broken {
		if set.Governs(info, mcp.MethodCallTool) {
			return no(mcpv1alpha1.ReasonRuleSetInvalid, fmt.Sprintf("RuleSet %s denies what it governs: %s", set.Name(), set.Broken()))
		}
	}
	if reason, message := d.gated(v); reason != "" {
		return no(reason, message)
	}
	if text := deprecated(d.Tool.Spec.Contract); text != "" {
		return yes(mcpv1alpha1.ReasonDeprecated, text)
	}
	return yes(mcpv1alpha1.ReasonCallable, "")
}

// deprecated says since when a tool should not be used any more; "" where it may be.
func deprecated(c *mcpv1alpha1.Contract) string {
	if c == nil || c.DeprecatedIn == "" {
		return ""
	}
	if c.Version == "" {
		return "deprecated in version " + c.DeprecatedIn
	}
	since, err := version.ParseSemantic(c.DeprecatedIn)
	is, errIs := version.ParseSemantic(c.Version)
	if err == nil && errIs == nil && is.LessThan(since) {
		return ""
	}
	return fmt.Sprintf("deprecated in version %s; this is version %s", c.DeprecatedIn, c.Version)
}

func anyServes(s *mcpv1alpha1.MCPServer) bool {
	return s.Status.ReadyReplicas != nil && *s.Status.ReadyReplicas > 0
}

// gated says whether the destructive gate holds the tool.
func (d *ToolInput) gated(v catalog.Verdict) (reason, message string) {
	word, override := "destructive", `spec.hints.destructive of this MCPTool to "False"`
	if mutating(d.Server) {
		word, override = "mutating", `spec.hints.readOnly of this MCPTool to "True"`
	}
	if !v.Gated(mutating(d.Server)) {
		return "", ""
	}
	trust := d.Server.Spec.Trust
	now := trustOf(trust, d.Now, d.TrustLapses)
	if now != trusted && d.Server.Spec.Gating.Destructive == mcpv1alpha1.GateConfirm {
		return mcpv1alpha1.ReasonNeedsConfirmation, fmt.Sprintf("it counts as %s (%s), MCPServer %s is not trusted, and %s",
			word, v.Because, d.Server.Name, whoConfirms(d.Server.Spec.Effective().Confirm.By))
	}
	switch now {
	case untrusted:
		return mcpv1alpha1.ReasonUntrusted, fmt.Sprintf(
			"it counts as %s (%s) and MCPServer %s is Untrusted; to let it through, set spec.trust.state of the MCPServer to Trusted, or %s",
			word, v.Because, d.Server.Name, override)
	case trustEnded:
		return mcpv1alpha1.ReasonTrustExpired, fmt.Sprintf("it counts as %s (%s) and the trust in MCPServer %s ended at %s; to renew it, set spec.trust.expiresAt",
			word, v.Because, d.Server.Name, trust.ExpiresAt.UTC().Format(time.RFC3339))
	case trustStale:
		return mcpv1alpha1.ReasonTrustStale, fmt.Sprintf("it counts as %s (%s), and the dispatchers of MCPServer %s trust no longer: none has answered the manager for "+
			"spec.trust.maxStalenessSeconds (%d); they do again as soon as they can be polled", word, v.Because, d.Server.Name, int(staleness(d.Server).Seconds()))
	case trusted:
	}
	return "", ""
}

func whoConfirms(by mcpv1alpha1.ConfirmBy) string {
	if by == mcpv1alpha1.ConfirmByCaller {
		return "each call has to be confirmed by the person who makes it"
	}
	return "each call would have to be confirmed by an approver, whom nobody can ask yet"
}
