// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"toolgate.dev/toolgate/internal/rules/expression"
	"toolgate.dev/toolgate/internal/schema"
	"toolgate.dev/toolgate/internal/schema/violation"
)

// Outcome is what became of one rule in one call.
type Outcome string

// Outcomes.
const (
	Applied    Outcome = "Applied"
	NotApplied Outcome = "NotApplied"
	// Failed: the rule could not be evaluated, or nobody knows whether it is meant for the caller. It counts as applied for
	// Reject, RequireConfirmation and Warn, and as not applied for Allow. It adds to a verdict and settles nothing: no rule
	// of less priority loses its say by it.
	Failed Outcome = "Failed"
)

// Hit is one rule's part in a decision.
type Hit struct {
	Set         string                `json:"set"`
	Rule        string                `json:"rule,omitempty"` // "" for a set that is broken
	Type        Type                  `json:"type"`
	Enforcement Enforcement           `json:"enforcement"`
	Priority    int                   `json:"priority"` // effective: the rule's, else the set's
	Action      Action                `json:"action"`
	Outcome     Outcome               `json:"outcome"`
	Message     string                `json:"message,omitempty"`    // where the rule applied, or failed and counts as applied
	Error       string                `json:"error,omitempty"`      // why it failed, or why its set is broken
	Violations  []violation.Violation `json:"violations,omitempty"` // of a jsonSchema rule that applied
}

// finding is one rule's part in a decision before anybody asked for its words.
type finding struct {
	set        *Compiled
	rule       *compiledRule // nil: the set is broken
	outcome    Outcome
	err        error
	violations []violation.Violation
}

// findings evaluates every rule of a set on one call of a caller. Where nobody knows whether the caller is one whom the set
// selects, a rule that applies counts as one that failed: it restricts, and lifts nothing.
func (c *Compiled) findings(caller *expression.CallerInfo, v *verdict) {
	selected, unsure := c.set.Callers.selects(caller)
	if !selected {
		return
	}
	if c.broken != "" {
		v.take(&finding{set: c, outcome: Failed, err: brokenError(c.broken)})
		return
	}
	for i := range c.rules {
		f := c.rules[i].evaluate(v.a)
		f.set = c
		if unsure != nil && f.outcome == Applied {
			f.outcome, f.err = Failed, unsure
		}
		v.take(&f)
	}
}

// brokenError is why a set is broken.
type brokenError string

func (e brokenError) Error() string { return string(e) }

func (r *compiledRule) evaluate(a *expression.Activation) finding {
	f := finding{rule: r, outcome: NotApplied}
	if r.schema != nil {
		f.violations = r.schema.Validate(a.ArgsJSON())
		if len(f.violations) > 0 {
			f.outcome = Applied
		}
		for _, v := range f.violations {
			if v.Keyword == schema.KeywordLimit || v.Keyword == schema.KeywordSyntax {
				f.outcome, f.err = Failed, fmt.Errorf("the arguments can't be checked: %s", v.Message)
			}
		}
		return f
	}
	switch holds, err := r.condition.Holds(a); {
	case err != nil:
		f.outcome, f.err = Failed, err
	case holds == r.appliesWhen:
		f.outcome = Applied
	}
	return f
}

func (f *finding) action() Action {
	if f.rule == nil {
		return Reject
	}
	return f.rule.action
}

func (f *finding) priority() int {
	if f.rule == nil {
		return f.set.set.Priority
	}
	return f.rule.priority
}

func (f *finding) ruleName() string {
	if f.rule == nil {
		return ""
	}
	return f.rule.name
}

// counts says whether the finding has effect: the rule applied, or failed and is one that fails closed.
func (f *finding) counts() bool {
	return f.outcome == Applied || f.outcome == Failed && f.action() != Allow
}

// settles says whether the finding settles between rules of its class. A Warn or a RequireConfirmation that failed does not:
// an error would lift what a rule of less priority refuses.
func (f *finding) settles() bool {
	return f.outcome == Applied || f.action() == Reject
}

// before orders findings as they decide within one class: a broken set first, then by priority, strictness and names.
func before(f, g *finding) int {
	return cmp.Or(
		cmp.Compare(boolRank(f.rule != nil), boolRank(g.rule != nil)),
		cmp.Compare(g.priority(), f.priority()),
		cmp.Compare(strictness(g.action()), strictness(f.action())),
		cmp.Compare(f.set.set.Name, g.set.set.Name),
		cmp.Compare(f.ruleName(), g.ruleName()),
	)
}

func boolRank(b bool) int {
	if b {
		return 1
	}
	return 0
}

// strictness ranks actions; more is stricter.
func strictness(a Action) int {
	switch a {
	case Reject:
		return 4
	case RequireConfirmation:
		return 3
	case Warn:
		return 2
	case Allow:
		return 1
	case ActionNone:
		return 0
	default:
		return 4 // never compiled; deny
	}
}

// classes is the number of classes that decide calls.
const classes = 3

// class ranks types, the highest first. A type that nobody knows, which only a broken set can have, is of the highest.
func class(t Type) int {
	switch t {
	case TypePolicy:
		return 1
	case TypeValidation:
		return 2
	case TypeSafety, TypeRouting:
		return 0
	default:
		return 0
	}
}

// hit puts the finding into words.
func (f *finding) hit(a *expression.Activation) Hit {
	h := Hit{
		Set: f.set.set.Name, Rule: f.ruleName(), Type: f.set.set.Type, Enforcement: f.set.enforcement(),
		Priority: f.priority(), Action: f.action(), Outcome: f.outcome, Violations: f.violations,
	}
	if f.err != nil {
		h.Error = expression.Clip(f.err.Error())
	}
	if f.counts() {
		h.Message = f.message(a)
	}
	return h
}

// message gives what the caller is told. Whatever goes wrong in it, there is a text, and the verdict stays.
func (f *finding) message(a *expression.Activation) string {
	if f.rule == nil {
		return fmt.Sprintf("rule set %s can't be evaluated, so it denies what it governs: %s", f.set.set.Name, expression.Clip(f.err.Error()))
	}
	text := f.rule.words(a)
	text = orDefault(text, f)
	unsure := errors.Is(f.err, errUnverified)
	switch {
	case f.outcome == Failed && !unsure:
		text += " (could not be evaluated: " + expression.Clip(f.err.Error()) + ")"
	case len(f.violations) > 0:
		text += ": " + expression.Shorten(violation.Explain(f.violations), expression.MaxMessageBytes)
	}
	if unsure {
		text += " (" + f.err.Error() + ")"
	}
	return text
}

func orDefault(text string, f *finding) string {
	if text != "" {
		return text
	}
	return fmt.Sprintf("rule %s of rule set %s applies", f.rule.name, f.set.set.Name)
}

// words gives the rule's own message, or "".
func (r *compiledRule) words(a *expression.Activation) string {
	if r.messageExpr != nil {
		if text, err := r.messageExpr.Text(a); err == nil && text != "" {
			return expression.Shorten(text, expression.MaxMessageBytes)
		}
	}
	return r.message.Fill(a)
}

func (c *Compiled) enforcement() Enforcement {
	if c.set.Enforcement == Audit {
		return Audit
	}
	return Enforce
}

// sortHits orders hits by class, then as they decide.
func sortHits(hits []Hit) {
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(
			cmp.Compare(class(a.Type), class(b.Type)),
			cmp.Compare(b.Priority, a.Priority),
			cmp.Compare(strictness(b.Action), strictness(a.Action)),
			cmp.Compare(a.Set, b.Set),
			cmp.Compare(a.Rule, b.Rule),
		)
	})
}
