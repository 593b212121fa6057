// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"toolgate.dev/toolgate/internal/rules/expression"
	"toolgate.dev/toolgate/internal/schema"
)

// Limits of one set.
const (
	MaxRules    = 128
	MaxNames    = 256 // of tools or methods in one list
	MaxNameSize = 253 // bytes of a set's or a rule's name
	// MaxSetCost is what all rules of a set may cost together, in units of expression.MaxCost.
	MaxSetCost = 10_000_000
)

// Compiled is a set that is ready to decide. It is immutable and safe for concurrent use.
type Compiled struct {
	set    Set
	rules  []compiledRule
	broken string
	// anyMethod is set where one of the set's methods has no method's name: nobody knows what was meant, so that the set,
	// which is broken, denies every method (AnyMethod).
	anyMethod bool
}

// compiledRule is one rule, ready to be evaluated.
type compiledRule struct {
	name        string
	action      Action
	priority    int // effective
	condition   *expression.Expression
	appliesWhen bool // the condition's value for which the rule applies
	schema      *schema.Schema
	message     expression.Template
	messageExpr *expression.Expression
}

// Compile compiles a set. It always gives a *Compiled: one with errors, or with a text in Broken, denies what it governs.
// Errors are in the order of the set's fields.
func Compile(set Set) (*Compiled, []RuleError) {
	c := &Compiled{set: set, broken: set.Broken, anyMethod: slices.ContainsFunc(set.Methods, notAMethod)}
	errs := checkSet(&set)
	names := map[string]bool{}
	var cost uint64
	for i := range set.Rules {
		rule := &set.Rules[i]
		compiled, problems := compileRule(&set, rule)
		if names[rule.Name] {
			problems = append(problems, RuleError{Field: "name", Message: "is the name of another rule of this set"})
		}
		names[rule.Name] = true
		for _, p := range problems {
			p.Rule = rule.Name
			errs = append(errs, p)
		}
		cost = compiled.addCost(cost)
		c.rules = append(c.rules, compiled)
	}
	if cost > MaxSetCost {
		errs = append(errs, RuleError{Field: "rules", Message: fmt.Sprintf(
			"may cost %s units together, over the limit of %d", expression.Units(cost), MaxSetCost)})
	}
	if len(errs) > 0 {
		c.rules = nil
		if c.broken == "" {
			c.broken = errs[0].Error()
		}
	}
	return c, errs
}

// addCost adds what the rule's expressions may cost.
func (r *compiledRule) addCost(sum uint64) uint64 {
	for _, e := range []*expression.Expression{r.condition, r.messageExpr} {
		if e == nil {
			continue
		}
		if e.Cost() > math.MaxUint64-sum {
			return math.MaxUint64
		}
		sum += e.Cost()
	}
	return sum
}

// Error gives the error with its place.
func (e RuleError) Error() string {
	var b strings.Builder
	if e.Rule != "" {
		fmt.Fprintf(&b, "rule %s: ", e.Rule)
	}
	b.WriteString(e.Field)
	if e.Line > 0 {
		fmt.Fprintf(&b, " (line %d, column %d)", e.Line, e.Column)
	}
	return b.String() + ": " + e.Message
}

// compileRule compiles one rule; its errors don't say yet which rule it is.
func compileRule(set *Set, rule *Rule) (compiledRule, []RuleError) {
	r := compiledRule{name: rule.Name, action: rule.Action, priority: set.Priority}
	if rule.Priority != nil {
		r.priority = *rule.Priority
	}
	errs := checkRule(set, rule)
	var problems []expression.Problem
	if rule.When != "" {
		r.condition, problems = expression.Condition(rule.When)
		r.appliesWhen = true
		errs = append(errs, inField("when", problems)...)
	} else if rule.Require != "" {
		r.condition, problems = expression.Condition(rule.Require)
		errs = append(errs, inField("require", problems)...)
	} else if len(rule.Schema) > 0 {
		var faults []RuleError
		r.schema, faults = compileSchema(rule.Schema)
		errs = append(errs, faults...)
	}
	r.message, problems = expression.ParseTemplate(rule.Message)
	errs = append(errs, inField("message", problems)...)
	if rule.MessageExpression != "" {
		r.messageExpr, problems = expression.Text(rule.MessageExpression)
		errs = append(errs, inField("messageExpression", problems)...)
	}
	return r, errs
}

func inField(field string, problems []expression.Problem) []RuleError {
	errs := make([]RuleError, 0, len(problems))
	for _, p := range problems {
		errs = append(errs, RuleError{Field: field, Line: p.Line, Column: p.Column, Message: p.Message})
	}
	return errs
}

func compileSchema(raw []byte) (*schema.Schema, []RuleError) {
	s, err := schema.Compile(raw, schema.Options{})
	if err == nil {
		return s, nil
	}
	problem := RuleError{Field: "schema", Message: err.Error()}
	var failed *schema.CompileError
	if errors.As(err, &failed) {
		problem.Field += failed.Path
		problem.Message = failed.Message
	}
	return nil, []RuleError{problem}
}
