// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/catalog"
)

// OwnedByPeople says whether anybody but Toolgate owns a field of a tool's spec. Then the object holds a decision that must
// outlive the server, and a name that a person has declared.
func OwnedByPeople(t *mcpv1alpha1.MCPTool) bool {
	return slices.ContainsFunc(t.ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager != FieldOwner && e.Subresource == "" && ownsSpec(e.FieldsV1)
	})
}

// PeoplesFields are managed fields that say the same as all those of a tool when OwnedByPeople is asked, and nothing else.
func PeoplesFields(t *mcpv1alpha1.MCPTool) []metav1.ManagedFieldsEntry {
	if !OwnedByPeople(t) {
		return nil
	}
	return peoples
}

// peoples is shared by all that is kept of tools.
var peoples = []metav1.ManagedFieldsEntry{{Manager: "people", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}}

func ownsSpec(fields *metav1.FieldsV1) bool {
	if fields == nil {
		return false
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(fields.GetRawBytes(), &top); err != nil {
		// What can't be read may well be a person's: keep the object.
		return true
	}
	_, ok := top["f:spec"]
	return ok
}

// Fault is why a tool may not be called before a person has decided about it. The zero value is none.
type Fault struct {
	// What is wrong, for callers and people alike.
	What string
	// WayOut is for people alone: no refusal says how to get it lifted.
	WayOut string
}

// ForPeople says what is wrong and the way out.
func (f Fault) ForPeople() string { return f.What + "; " + f.WayOut }

// Undeclared says why a tool's name needs a person's word, if it does and has none. Such names look different in two places:
// in a log, a policy or a prompt.
func Undeclared(t *mcpv1alpha1.MCPTool) Fault {
	if catalog.ValidName(t.Spec.ToolName) || OwnedByPeople(t) {
		return Fault{}
	}
	return Fault{
		What:   fmt.Sprintf("the name %q has characters outside of A-Z a-z 0-9 _ . - or is longer than 128", t.Spec.ToolName),
		WayOut: fmt.Sprintf("to allow it, declare the tool: write MCPTool %s yourself", t.Name),
	}
}

// Duplicates says, by the name of the object, which tools of one server can't be told apart: two objects for one tool, or
// two names that no person declared and that differ in nothing but case, or not at all as the name of an object. Names are held
// against those of the tools that count: what other revisions list is met by nobody beside them.
func Duplicates(tools []mcpv1alpha1.MCPTool, counts func(*mcpv1alpha1.MCPTool) bool) map[string]Fault {
	objects := map[string][]string{}
	undeclared := map[string]bool{}
	all, met := make([]string, 0, len(tools)), make([]*mcpv1alpha1.MCPTool, 0, len(tools))
	names := make([]string, 0, len(tools)) // of those that are met
	for i := range tools {
		t := &tools[i]
		all = append(all, t.Spec.ToolName)
		if counts(t) {
			met, names = append(met, t), append(names, t.Spec.ToolName)
		}
		objects[t.Spec.ToolName] = append(objects[t.Spec.ToolName], t.Name)
		undeclared[t.Spec.ToolName] = undeclared[t.Spec.ToolName] || !OwnedByPeople(t)
	}
	out := map[string]Fault{}
	for _, name := range catalog.Duplicates(all) {
		slices.Sort(objects[name])
		for _, object := range objects[name] {
			out[object] = Fault{fmt.Sprintf("MCPTools %s all claim tool %s", strings.Join(objects[name], ", "), name), "delete all but one"}
		}
	}
	confused := func(groups map[string][]string, how string) {
		for _, group := range groups {
			for _, name := range group {
				for _, object := range objects[name] {
					if undeclared[name] && out[object] == (Fault{}) {
						out[object] = Fault{fmt.Sprintf("tools %s %s", quoted(group), how), "to allow one, declare it: set a field in its MCPTool yourself"}
					}
				}
			}
		}
	}
	confused(catalog.Collisions(names), "differ in case alone")
	confused(oneObject(met), "have one object name")
	return out
}

// quoted lists names that may hold anything.
func quoted(names []string) string {
	out := make([]string, 0, len(names))
	for _, name := range names {
		if !catalog.ValidName(name) {
			name = strconv.QuoteToGraphic(name)
		}
		out = append(out, name)
	}
	return strings.Join(out, ", ")
}

// oneObject are the groups of two or more names, sorted, that would be objects of one name.
func oneObject(tools []*mcpv1alpha1.MCPTool) map[string][]string {
	groups := map[string][]string{}
	for _, t := range tools {
		spec := &t.Spec
		object := catalog.ObjectName(spec.ServerRef.Name, spec.ToolName)
		if !slices.Contains(groups[object], spec.ToolName) {
			groups[object] = append(groups[object], spec.ToolName)
		}
	}
	maps.DeleteFunc(groups, func(_ string, names []string) bool { return len(names) < 2 })
	for _, names := range groups {
		slices.Sort(names)
	}
	return groups
}
