// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/rules"
)

// RuleSet turns a RuleSet into what the document carries. Values that the engine does not know are passed on as they are:
// its compiler refuses them, and then the set denies what it governs. Whom it reaches is not decided here.
func RuleSet(rs *mcpv1alpha1.RuleSet) rules.Set {
	spec := rs.Spec.Effective()
	set := rules.Set{
		Name:        rs.Name,
		Generation:  rs.Generation,
		Type:        rules.Type(spec.Type),
		Priority:    int(*spec.Priority),
		Enforcement: rules.Enforcement(spec.Enforcement),
		Format:      rules.Format(spec.Format),
		Methods:     slices.Clone(spec.Methods),
	}
	if t := spec.Tools; t != nil {
		set.Tools = &rules.ToolSelector{Names: slices.Clone(t.Names)}
		if t.Destructive == mcpv1alpha1.DestructiveOnly {
			set.Tools.Destructive = rules.DestructiveTrue
		}
	}
	if c := spec.Callers; c != nil {
		set.Callers = &rules.Callers{Names: slices.Clone(c.Names), Namespaces: slices.Clone(c.Namespaces), Groups: slices.Clone(c.Groups)}
	}
	for _, r := range rs.Spec.Rules {
		rule := rules.Rule{
			Name:              r.Name,
			Action:            rules.Action(r.Action),
			Message:           r.Message,
			MessageExpression: r.MessageExpression,
			When:              r.When,
			Require:           r.Require,
		}
		if r.Priority != nil {
			rule.Priority = ptr.To(int(*r.Priority))
		}
		if r.Schema != nil {
			rule.Schema = r.Schema.Raw
		}
		set.Rules = append(set.Rules, rule)
	}
	return set
}

// selectsServer says whether a RuleSet selects a server by itself. A selector that can't be read selects every server:
// the set denies what it governs, and to narrow a restriction by guesswork would drop it.
func selectsServer(rs *mcpv1alpha1.RuleSet, s *mcpv1alpha1.MCPServer) bool {
	sel := rs.Spec.Servers
	if sel == nil {
		return true
	}
	if slices.Contains(sel.Names, s.Name) {
		return true
	}
	if sel.Selector == nil {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(sel.Selector)
	if err != nil {
		return true
	}
	return selector.Matches(labels.Set(s.Labels))
}

// SelectorError says why a RuleSet's selector can't be read, or "".
func SelectorError(rs *mcpv1alpha1.RuleSet) string {
	if rs.Spec.Servers == nil || rs.Spec.Servers.Selector == nil {
		return ""
	}
	if _, err := metav1.LabelSelectorAsSelector(rs.Spec.Servers.Selector); err != nil {
		return fmt.Sprintf("spec.servers.selector can't be read: %v", err)
	}
	return ""
}

// Reaches says whether a RuleSet governs anything of a server: because it selects it, because the server names it, or
// because one of the server's tools does.
func Reaches(rs *mcpv1alpha1.RuleSet, s *mcpv1alpha1.MCPServer, tools []mcpv1alpha1.MCPTool) bool {
	if selectsServer(rs, s) || slices.Contains(s.Spec.RuleSets, rs.Name) {
		return true
	}
	return slices.ContainsFunc(tools, func(t mcpv1alpha1.MCPTool) bool { return slices.Contains(t.Spec.RuleSets, rs.Name) })
}

// SetFor is a RuleSet as the document of one server carries it, and whether it does. broken says why the set does not compile,
// or is "".
func SetFor(rs *mcpv1alpha1.RuleSet, s *mcpv1alpha1.MCPServer, tools []mcpv1alpha1.MCPTool, broken string) (set rules.Set, reaches bool) {
	if !Reaches(rs, s, tools) {
		return rules.Set{}, false
	}
	set = RuleSet(rs)
	if broken != "" {
		// Rules that don't compile are of no use to a dispatcher, and might not even decode there.
		set.Broken, set.Rules = broken, nil
	}
	if !selectsServer(rs, s) && !slices.Contains(s.Spec.RuleSets, rs.Name) {
		set.Reach = rules.ReachTools
	}
	set.ToolScoped = namedBy(rs.Name, tools)
	return set, true
}

// ruleSets are the sets of one server's document: those that reach it, and for each name that is referred to without being
// there, a broken one in its place.
func ruleSets(in Input) []rules.Set {
	var out []rules.Set
	there := map[string]bool{}
	for i := range in.RuleSets {
		rs := &in.RuleSets[i]
		there[rs.Name] = true
		if set, reaches := SetFor(rs, in.Server, in.Tools, in.Broken[rs.Name]); reaches {
			out = append(out, set)
		}
	}
	for _, name := range MissingRuleSets(in.Server, in.Tools, there) {
		set := rules.Set{
			Name: name, Type: rules.TypeSafety, Format: rules.FormatCEL,
			Broken:     fmt.Sprintf("RuleSet %s does not exist in namespace %s", name, in.Server.Namespace),
			ToolScoped: namedBy(name, in.Tools),
		}
		if slices.Contains(in.Server.Spec.RuleSets, name) {
			// What it governed, or will, nobody knows.
			set.Methods = rules.AnyMethod()
		} else {
			set.Reach = rules.ReachTools
		}
		out = append(out, set)
	}
	return out
}

// MissingRuleSets are the names that a server or its tools refer to and that are not there, sorted.
func MissingRuleSets(s *mcpv1alpha1.MCPServer, tools []mcpv1alpha1.MCPTool, there map[string]bool) []string {
	var missing []string
	add := func(names []string) {
		for _, name := range names {
			if !there[name] {
				missing = append(missing, name)
			}
		}
	}
	add(s.Spec.RuleSets)
	for i := range tools {
		add(tools[i].Spec.RuleSets)
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}

// namedBy are the true names of the tools that name a set, sorted.
func namedBy(set string, tools []mcpv1alpha1.MCPTool) []string {
	var out []string
	for i := range tools {
		if slices.Contains(tools[i].Spec.RuleSets, set) {
			out = append(out, tools[i].Spec.ToolName)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
