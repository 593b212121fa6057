// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"regexp"
	"slices"

	"toolgate.dev/toolgate/internal/rules/expression"
)

var (
	ruleName   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	methodName = regexp.MustCompile(`^[A-Za-z0-9$_.-]+(/[A-Za-z0-9$_.-]+)*$`)
)

// checkSet holds a set against what its fields may say.
func checkSet(set *Set) []RuleError {
	var errs []RuleError
	bad := func(field, format string, args ...any) {
		errs = append(errs, RuleError{Field: field, Message: fmt.Sprintf(format, args...)})
	}
	if set.Name == "" || len(set.Name) > MaxNameSize {
		bad("name", "must have 1 to %d characters", MaxNameSize)
	}
	switch set.Type {
	case TypeSafety, TypePolicy, TypeValidation:
	case TypeRouting:
		bad("type", "is routing, which is not built yet; it must be safety, policy or validation")
	default:
		bad("type", "is %q; it must be safety, policy or validation", expression.Clip(string(set.Type)))
	}
	switch set.Enforcement {
	case "", Enforce, Audit:
	default:
		bad("enforcement", "is %q; it must be Enforce or Audit", expression.Clip(string(set.Enforcement)))
	}
	switch set.Format {
	case FormatCEL, FormatJSONSchema:
	default:
		bad("format", "is %q; it must be cel or jsonSchema", expression.Clip(string(set.Format)))
	}
	switch set.Reach {
	case ReachServer, ReachTools:
	default:
		bad("reach", "is %q; it must be Tools, or absent", expression.Clip(string(set.Reach)))
	}
	if len(set.Rules) > MaxRules {
		bad("rules", "are %d; at most %d are allowed in one set", len(set.Rules), MaxRules)
	}
	return append(errs, checkSelectors(set)...)
}

// checkSelectors holds the selectors of a set against each other.
func checkSelectors(set *Set) []RuleError {
	var errs []RuleError
	bad := func(field, format string, args ...any) {
		errs = append(errs, RuleError{Field: field, Message: fmt.Sprintf(format, args...)})
	}
	checkList(bad, "methods", set.Methods)
	for _, method := range set.Methods {
		if notAMethod(method) {
			bad("methods", "hold %q, which is no method's name", expression.Clip(method))
		} else if method != methodCall && set.Tools != nil {
			bad("methods", "hold %s, which carries no tool, beside a selector of tools: make it a set of its own", method)
		}
	}
	if callers := set.Callers; callers != nil {
		if callers.Names == nil && callers.Namespaces == nil && callers.Groups == nil {
			bad("callers", "is empty, which selects nobody; leave it out to select all")
		}
		checkNames(bad, "callers.names", callers.Names)
		checkNames(bad, "callers.namespaces", callers.Namespaces)
		checkNames(bad, "callers.groups", callers.Groups)
	}
	if set.Tools == nil {
		return errs
	}
	checkNames(bad, "tools.names", set.Tools.Names)
	switch set.Tools.Destructive {
	case DestructiveAny, DestructiveTrue, DestructiveFalse:
	default:
		bad("tools.destructive", "is %q; it must be True or False, or absent", expression.Clip(string(set.Tools.Destructive)))
	}
	return errs
}

func notAMethod(name string) bool { return !methodName.MatchString(name) || len(name) > MaxNameSize }

// checkList refuses an empty list, which would select nothing where its author may have meant all.
func checkList(bad func(field, format string, args ...any), field string, list []string) {
	if list != nil && len(list) == 0 {
		bad(field, "are an empty list, which selects nothing; leave it out to select all")
	}
	if len(list) > MaxNames {
		bad(field, "are %d; at most %d are allowed", len(list), MaxNames)
	}
}

// checkNames is checkList for names and globs.
func checkNames(bad func(field, format string, args ...any), field string, names []string) {
	checkList(bad, field, names)
	if slices.Contains(names, "") {
		bad(field, "hold an empty name")
	}
}

// checkRule holds a rule against what its fields may say.
func checkRule(set *Set, rule *Rule) []RuleError {
	var errs []RuleError
	bad := func(field, format string, args ...any) {
		errs = append(errs, RuleError{Field: field, Message: fmt.Sprintf(format, args...)})
	}
	if !ruleName.MatchString(rule.Name) || len(rule.Name) > MaxNameSize {
		bad("name", "is %q; it must be letters, digits, '.', '_' and '-', at most %d of them", expression.Clip(rule.Name), MaxNameSize)
	}
	switch rule.Action {
	case Reject, RequireConfirmation, Warn, Allow:
	case ActionNone:
		bad("action", "is missing; it must be Reject, RequireConfirmation, Warn or Allow")
	default:
		bad("action", "is %q; it must be Reject, RequireConfirmation, Warn or Allow", expression.Clip(string(rule.Action)))
	}
	conditions := 0
	for _, condition := range []struct {
		field   string
		present bool
		format  Format
	}{
		{"when", rule.When != "", FormatCEL},
		{"require", rule.Require != "", FormatCEL},
		{"schema", len(rule.Schema) > 0, FormatJSONSchema},
	} {
		if !condition.present {
			continue
		}
		conditions++
		if condition.format != set.Format {
			bad(condition.field, "belongs to format %s; the set's format is %s", condition.format, expression.Clip(string(set.Format)))
		}
	}
	if conditions != 1 {
		bad("when", "%d conditions are there; exactly one of when, require and schema must be", conditions)
	}
	return errs
}
