// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"

	"toolgate.dev/toolgate/internal/schema"
)

// Limits of one set.
const (
	MaxRules    = 128
	MaxNames    = 256 // of tools or methods in one list
	MaxNameSize = 253 // bytes of a set's or a rule's name
)

// Compiled is a set that is ready to decide. It is immutable and safe for concurrent use.
type Compiled struct {
	set    Set
	rules  []compiledRule
	broken string
	// anyMethod is set where one of the set's methods has no method's name: nobody knows what was meant, so that the set,
	// which is broken, denies every method.
	anyMethod bool
}

// compiledRule is one rule, ready to be evaluated.
type compiledRule struct {
	name        string
	action      Action
	priority    int // effective
	condition   *expression
	appliesWhen bool // the condition's value for which the rule applies
	schema      *schema.Schema
	message     template
	messageExpr *expression
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
			"may cost %s units together, over the limit of %d", units(cost), MaxSetCost)})
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
	for _, e := range []*expression{r.condition, r.messageExpr} {
		if e != nil && e.cost > math.MaxUint64-sum {
			return math.MaxUint64
		}
		if e != nil {
			sum += e.cost
		}
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
	var problems []RuleError
	if rule.When != "" {
		r.condition, problems = compileExpression(rule.When, cel.BoolType)
		r.appliesWhen = true
		errs = append(errs, inField("when", problems)...)
	} else if rule.Require != "" {
		r.condition, problems = compileExpression(rule.Require, cel.BoolType)
		errs = append(errs, inField("require", problems)...)
	} else if len(rule.Schema) > 0 {
		r.schema, problems = compileSchema(rule.Schema)
		errs = append(errs, problems...)
	}
	r.message, problems = parseTemplate(rule.Message)
	errs = append(errs, inField("message", problems)...)
	if rule.MessageExpression != "" {
		r.messageExpr, problems = compileExpression(rule.MessageExpression, cel.StringType)
		errs = append(errs, inField("messageExpression", problems)...)
	}
	return r, errs
}

func inField(field string, errs []RuleError) []RuleError {
	for i := range errs {
		errs[i].Field = field
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
