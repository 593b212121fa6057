// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide/admission"
	"toolgate.dev/toolgate/internal/render/document"
	"toolgate.dev/toolgate/internal/rules"
)

// Reached is one server that a RuleSet reaches.
type Reached struct {
	Server string
	// Lagging are the pods in the endpoints that do not enforce this generation of the set.
	Lagging []string
	// Unheard are those of which nothing is known (Pod.Unheard).
	Unheard []string
	// Written says whether the server's newest document holds this generation.
	Written bool
	// Tools is how many tools of the server the set governs.
	Tools int
}

// RuleSetInput is everything that the status of a RuleSet depends on.
type RuleSetInput struct {
	RuleSet *mcpv1alpha1.RuleSet
	Now     time.Time
	// Errors are those of the compiler.
	Errors []rules.RuleError
	// Reached are sorted by server.
	Reached []Reached
}

// RuleSet computes the status of a RuleSet.
func RuleSet(in RuleSetInput) mcpv1alpha1.RuleSetStatus {
	out := *in.RuleSet.Status.DeepCopy()
	c := &conditions{list: out.Conditions, generation: in.RuleSet.Generation, now: metav1.NewTime(in.Now)}
	counted := ptr.Deref(out.EnforcedServers, 0)
	if out.ObservedGeneration != in.RuleSet.Generation {
		// Enforced speaks of a generation: that the last one was enforced says nothing of this one.
		meta.RemoveStatusCondition(&c.list, mcpv1alpha1.ConditionEnforced)
		counted = 0
	}
	out.ObservedGeneration = in.RuleSet.Generation
	c.set(mcpv1alpha1.ConditionAccepted, in.accepted())
	c.set(mcpv1alpha1.ConditionEnforced, in.enforced(c.list))
	c.set(mcpv1alpha1.ConditionReady, ready(c.list, mcpv1alpha1.ConditionAccepted, mcpv1alpha1.ConditionEnforced))
	out.Conditions = c.list
	out.RulesCount = ptr.To(int32(len(in.RuleSet.Spec.Rules)))
	out.MatchedServers = ptr.To(int32(len(in.Reached)))
	out.EnforcedServers, out.MatchedTools = ptr.To(in.enforcedServers(c.list, counted)), ptr.To(in.tools())
	out.RuleErrors = ruleErrors(in.Errors)
	out.Bound()
	return out
}

// enforcedServers counts the servers that enforce the set. Those whose documents hold it and of which a manager that has just been
// started has not heard yet count as far as some counted before, of this generation, that are not known to do or not to do so now.
func (d *RuleSetInput) enforcedServers(list []metav1.Condition, counted int32) int32 {
	var sure, unheard, not int32
	for _, r := range d.Reached {
		switch {
		case !r.Written || len(r.Lagging) > 0:
			not++
		case len(r.Unheard) > 0:
			unheard++
		default:
			sure++
		}
	}
	if meta.IsStatusConditionTrue(list, mcpv1alpha1.ConditionEnforced) {
		return sure + unheard
	}
	return sure + min(unheard, max(counted-sure-not, 0))
}

// tools counts those that the set governs.
func (d *RuleSetInput) tools() int32 {
	n := 0
	for _, r := range d.Reached {
		n += r.Tools
	}
	return int32(n)
}

// NextLook is when time alone changes the status; zero when only an event can.
func (d *RuleSetInput) NextLook(list []metav1.Condition) time.Time {
	return graceEnds(list)
}

func (d *RuleSetInput) accepted() verdict {
	if message := document.SelectorError(d.RuleSet); message != "" {
		return no(mcpv1alpha1.ReasonInvalidSelector, message)
	}
	if d.RuleSet.Spec.Format == mcpv1alpha1.RuleFormatSHACL {
		return no(mcpv1alpha1.ReasonUnsupported, "spec.format shacl is not built yet; write the rules in cel or jsonSchema")
	}
	if d.RuleSet.Spec.Type == mcpv1alpha1.RuleSetRouting {
		return no(mcpv1alpha1.ReasonUnsupported, "spec.type routing is not built yet; write the rules as safety, policy or validation")
	}
	if len(d.Errors) == 0 {
		return yes(mcpv1alpha1.ReasonAccepted, "")
	}
	return no(mcpv1alpha1.ReasonInvalidRules, ErrorText(d.Errors))
}

// ErrorText tells of the first error in a sentence, and how many there are.
func ErrorText(errs []rules.RuleError) string {
	if len(errs) == 0 {
		return ""
	}
	e := errs[0]
	var text strings.Builder
	if e.Rule != "" {
		fmt.Fprintf(&text, "rule %s, ", e.Rule)
	}
	if e.Field != "" {
		fmt.Fprintf(&text, "field %s", e.Field)
	}
	if e.Line > 0 {
		fmt.Fprintf(&text, ", line %d, column %d", e.Line, e.Column)
	}
	if text.Len() > 0 {
		text.WriteString(": ")
	}
	text.WriteString(e.Message)
	if more := len(errs) - 1; more > 0 {
		fmt.Fprintf(&text, " (and %d more, in status.ruleErrors)", more)
	}
	return text.String()
}

func ruleErrors(errs []rules.RuleError) []mcpv1alpha1.RuleError {
	out := make([]mcpv1alpha1.RuleError, 0, len(errs))
	for _, e := range errs {
		out = append(out, mcpv1alpha1.RuleError{
			Rule: e.Rule, Field: e.Field, Line: int32(e.Line), Column: int32(e.Column), Message: admission.Clip(e.Message, maxMessage),
		})
	}
	return out
}

// enforced is exact: it is True only when every pod in the endpoints of every server that is reached has said that it
// enforces a document with this generation.
func (d *RuleSetInput) enforced(list []metav1.Condition) verdict {
	if a := meta.FindStatusCondition(list, mcpv1alpha1.ConditionAccepted); a.Status != metav1.ConditionTrue {
		return no(mcpv1alpha1.ReasonNotAccepted, d.meanwhile())
	}
	if len(d.Reached) == 0 {
		return yes(mcpv1alpha1.ReasonNoServers, d.nobody())
	}
	var lagging, unheard []string
	for _, r := range d.Reached {
		if !r.Written {
			lagging = append(lagging, r.Server)
		}
		lagging, unheard = append(lagging, r.Lagging...), append(unheard, r.Unheard...)
	}
	last := meta.FindStatusCondition(list, mcpv1alpha1.ConditionEnforced)
	switch {
	case len(lagging) == 0 && len(unheard) == 0:
		return yes(mcpv1alpha1.ReasonEnforced, "in force in "+count(len(d.Reached), "server"))
	case len(lagging) == 0 && last != nil && last.Status == metav1.ConditionTrue:
		// Every document holds the set, and no pod has said otherwise since a manager last asked.
		return verdict{last.Status, last.Reason, last.Message}
	}
	return late(last, d.Now, "not in force yet in "+atMost(append(lagging, unheard...)))
}

// meanwhile says what becomes of what a set governs that is not accepted.
func (d *RuleSetInput) meanwhile() string {
	if d.RuleSet.Spec.Effective().Enforcement == mcpv1alpha1.EnforcementAudit {
		return "spec.enforcement is Audit, so nothing is denied: what the set governs is recorded as what it would have denied until it is accepted"
	}
	return "what the set governs is denied until it is accepted"
}

func (d *RuleSetInput) nobody() string {
	sel := d.RuleSet.Spec.Servers
	if sel == nil || len(sel.Names) == 0 {
		return "no MCPServer is selected, so nothing is governed"
	}
	names := slices.Sorted(slices.Values(sel.Names))
	return "no MCPServer is selected, so nothing is governed; spec.servers.names has " + atMost(names)
}
