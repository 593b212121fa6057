// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"errors"
	"slices"

	"toolgate.dev/toolgate/internal/rules/expression"
)

// methodCall is the method that sets govern when they name none, and the only one that carries a tool.
const methodCall = "tools/call"

// AnyMethod are the methods of a set of which nobody knows what it governs: one that is missing. It denies whatever clients ask for.
// tools/call is there for dispatchers that don't know yet what a name means that is no method's.
func AnyMethod() []string { return []string{"*", methodCall} }

// glob is a tool's name, or a pattern for it: * is any run of characters, ? is one.
type glob string

// matches compares byte for byte, in time linear in both lengths but for backing up to the last *.
func (g glob) matches(name string) bool {
	var at, from int // in g, in name
	star, resume := -1, 0
	for from < len(name) {
		switch {
		case at < len(g) && g[at] == '*':
			star, resume = at, from
			at++
		case at < len(g) && (g[at] == '?' || g[at] == name[from]):
			at++
			from++
		case star >= 0:
			resume++
			at, from = star+1, resume
		default:
			return false
		}
	}
	for at < len(g) && g[at] == '*' {
		at++
	}
	return at == len(g)
}

// selects says whether the selector takes the tool. A name matches as it is, too, should it hold a * itself.
func (s *ToolSelector) selects(tool ToolInfo) bool {
	if s == nil {
		return true
	}
	switch s.Destructive {
	case DestructiveTrue:
		if !tool.Destructive {
			return false
		}
	case DestructiveFalse:
		if tool.Destructive {
			return false
		}
	case DestructiveAny:
	default: // refused by Compile; a broken set governs more rather than less
	}
	// So are an empty list and an empty name.
	return len(s.Names) == 0 || slices.ContainsFunc(s.Names, func(name string) bool {
		return name == "" || name == tool.Name || glob(name).matches(tool.Name)
	})
}

// errUnverified is why a rule that is for some callers counts for one who may or may not be among them.
var errUnverified = errors.New("the caller has not proved who it is, so that it may be one whom the rule set selects")

// selects says whether the selector takes the caller. It does not know (errUnverified) of one without a verified identity:
// leaving one's credentials out must lift no restriction.
func (s *Callers) selects(caller *expression.CallerInfo) (bool, error) {
	switch {
	case s == nil:
		return true, nil
	case caller.Kind == "" && caller.Name == "":
		return true, errUnverified
	}
	return fits(s.Names, caller.Name) && fits(s.Namespaces, caller.Namespace) && fits(s.Groups, caller.Groups...), nil
}

// fits says whether one of the values matches one of the patterns; without patterns, anything does. An empty list and an empty
// pattern are refused by Compile; a broken set governs more rather than less.
func fits(patterns []string, values ...string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool {
		return p == "" || slices.ContainsFunc(values, func(v string) bool { return v != "" && (p == v || glob(p).matches(v)) })
	})
}

// Governs says whether the set has a say on a call of the method, and of the tool where the method carries one; of the callers
// that it selects, where it selects any.
func (c *Compiled) Governs(tool ToolInfo, method string) bool {
	named := slices.Contains(c.set.Methods, method) || len(c.set.Methods) == 0 && method == methodCall
	if !named && !c.anyMethod {
		return false
	}
	if method != methodCall {
		return c.set.Reach != ReachTools
	}
	if slices.Contains(c.set.ToolScoped, tool.Name) {
		return true
	}
	return c.set.Reach != ReachTools && c.set.Tools.selects(tool)
}
