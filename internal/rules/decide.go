// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"cmp"

	"toolgate.dev/toolgate/internal/rules/expression"
	"toolgate.dev/toolgate/internal/schema/violation"
)

// Decision is the verdict of rule sets on one call.
type Decision struct {
	// Action is the verdict. Reject refuses; RequireConfirmation asks a person, unless one confirmed already; Warn, Allow
	// and ActionNone let pass, and lift nothing that another stage refuses.
	Action     Action                `json:"action"`
	Set        string                `json:"set,omitempty"`  // that decided
	Rule       string                `json:"rule,omitempty"` // that decided; "" for a set that is broken
	Message    string                `json:"message,omitempty"`
	Error      string                `json:"error,omitempty"`      // why the deciding rule could not be evaluated, or why its set is broken
	Violations []violation.Violation `json:"violations,omitempty"` // of a deciding jsonSchema rule
	Warnings   []Hit                 `json:"warnings,omitempty"`   // every Warn that applied, in any class
	Audited    []Hit                 `json:"audited,omitempty"`    // what sets in Audit mode would have done
	Trace      []Hit                 `json:"trace,omitempty"`      // every rule that was evaluated; filled by Evaluate alone
}

// Name is the set's name.
func (c *Compiled) Name() string { return c.set.Name }

// Generation is the generation of the RuleSet object that the set was rendered from.
func (c *Compiled) Generation() int64 { return c.set.Generation }

// Broken says why the set denies what it governs, or "".
func (c *Compiled) Broken() string { return c.broken }

// Decide gives the verdict of all sets that govern the call (it asks Governs itself). The order of sets and of rules has
// no influence.
//
// Within a class (safety, policy, validation) the finding of the highest priority decides; on a tie the stricter action,
// then the names of set and rule. A rule that could not be evaluated adds what it asks for and keeps none of less priority from
// having a say. A broken set stands above every rule of its class, so that no Allow lifts it. Of the
// classes' verdicts the strictest holds, and is told in the name of the highest class that gave it: a lower class can
// add to what a higher one asks for, and never take away.
func Decide(sets []*Compiled, in Input) Decision { return decide(sets, in, false) }

// Evaluate is Decide with a Trace: the dry run.
func Evaluate(sets []*Compiled, in Input) Decision { return decide(sets, in, true) }

func decide(sets []*Compiled, in Input, trace bool) Decision {
	v := verdict{a: expression.NewActivation(&in), trace: trace}
	for _, c := range sets {
		if c.Governs(in.Tool, in.Call.Method) {
			c.findings(&in.Caller, &v)
		}
	}
	sortHits(v.d.Warnings)
	sortHits(v.d.Audited)
	sortHits(v.d.Trace)
	v.settle()
	return v.d
}

// verdict gathers findings into a decision.
type verdict struct {
	d       Decision
	a       *expression.Activation
	trace   bool
	winners [classes]finding // by class; one without a set is none
	failed  finding          // the strictest that failed and settles nothing: the verdict is at least its action
}

// take must not keep f: most findings have no effect, and cost nothing then.
func (v *verdict) take(f *finding) {
	if v.trace {
		v.d.Trace = append(v.d.Trace, f.hit(v.a))
	}
	switch {
	case !f.counts():
		return
	case f.set.enforcement() == Audit:
		if f.action() != Allow {
			v.d.Audited = append(v.d.Audited, f.hit(v.a))
		}
		return
	case f.action() == Warn:
		v.d.Warnings = append(v.d.Warnings, f.hit(v.a))
	}
	if !f.settles() {
		if v.failed.set == nil || cmp.Or(cmp.Compare(strictness(v.failed.action()), strictness(f.action())), before(f, &v.failed)) < 0 {
			v.failed = *f
		}
		return
	}
	place := &v.winners[class(f.set.set.Type)]
	if place.set == nil || before(f, place) < 0 {
		*place = *f
	}
}

// settle takes the strictest of the classes' verdicts.
func (v *verdict) settle() {
	var strictest *finding
	for i := range v.winners {
		strictest = stricter(strictest, &v.winners[i])
	}
	strictest = stricter(strictest, &v.failed)
	if strictest == nil {
		return
	}
	h := strictest.hit(v.a)
	v.d.Action, v.d.Set, v.d.Rule = h.Action, h.Set, h.Rule
	v.d.Message, v.d.Error, v.d.Violations = h.Message, h.Error, h.Violations
}

// stricter gives the stricter of two findings, the first on a tie.
func stricter(f, g *finding) *finding {
	if g.set == nil || f != nil && strictness(f.action()) >= strictness(g.action()) {
		return f
	}
	return g
}
