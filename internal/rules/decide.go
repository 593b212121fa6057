// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

// Outcome is what became of one rule in one call.
type Outcome string

// Outcomes.
const (
	Applied    Outcome = "Applied"
	NotApplied Outcome = "NotApplied"
	// Failed: the rule could not be evaluated. It counts as applied for Reject, RequireConfirmation and Warn, and as not
	// applied for Allow. A Warn that failed warns, but lifts nothing.
	Failed Outcome = "Failed"
)

// Hit is one rule's part in a decision.
type Hit struct {
	Set         string      `json:"set"`
	Rule        string      `json:"rule,omitempty"` // "" for a set that is broken
	Type        Type        `json:"type"`
	Enforcement Enforcement `json:"enforcement"`
	Priority    int         `json:"priority"` // effective: the rule's, else the set's
	Action      Action      `json:"action"`
	Outcome     Outcome     `json:"outcome"`
	Message     string      `json:"message,omitempty"` // where the rule applied, or failed and counts as applied
	Error       string      `json:"error,omitempty"`   // why it failed
}

// Decision is the verdict of rule sets on one call.
type Decision struct {
	// Action is the verdict. Reject refuses; RequireConfirmation asks a person, unless one confirmed already; Warn, Allow
	// and ActionNone let pass, and lift nothing that another stage refuses.
	Action   Action `json:"action"`
	Set      string `json:"set,omitempty"`  // that decided
	Rule     string `json:"rule,omitempty"` // that decided
	Message  string `json:"message,omitempty"`
	Error    string `json:"error,omitempty"`    // why the deciding rule could not be evaluated, or why its set is broken
	Warnings []Hit  `json:"warnings,omitempty"` // every Warn that applied, in any class
	Audited  []Hit  `json:"audited,omitempty"`  // what sets in Audit mode would have done
	Trace    []Hit  `json:"trace,omitempty"`    // every rule that was evaluated; filled by Evaluate alone
}

// Compiled is a set that is ready to decide. It is immutable and safe for concurrent use.
type Compiled struct{}

// Compile compiles a set. It always gives a *Compiled: one with errors denies what it governs.
func Compile(set Set) (*Compiled, []RuleError) { return &Compiled{}, nil }

// Name is the set's name, Generation the generation of its object.
func (c *Compiled) Name() string { return "" }

// Generation is the generation of the RuleSet object that the set was rendered from.
func (c *Compiled) Generation() int64 { return 0 }

// Broken says why the set denies what it governs, or "".
func (c *Compiled) Broken() string { return "" }

// Governs says whether the set has a say on a call of the method, and of the tool where the method carries one.
func (c *Compiled) Governs(tool ToolInfo, method string) bool { return false }

// Decide gives the verdict of all sets that govern the call (it asks Governs itself). The order of sets and of rules has
// no influence.
func Decide(sets []*Compiled, in Input) Decision { return Decision{} }

// Evaluate is Decide with a Trace: the dry run.
func Evaluate(sets []*Compiled, in Input) Decision { return Decision{} }
