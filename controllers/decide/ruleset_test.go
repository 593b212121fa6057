// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/internal/rules"
)

func TestRuleSetConditions(t *testing.T) {
	enforced := decide.Reached{Server: "files", Written: true, Tools: 2}
	lagging := decide.Reached{Server: "files", Written: true, Lagging: []string{"files-1"}}
	since := func(status metav1.ConditionStatus, reason string) []metav1.Condition {
		return []metav1.Condition{{
			Type: "Enforced", Status: status, Reason: reason, Message: "as before", ObservedGeneration: 2, LastTransitionTime: metav1.NewTime(now.Add(-decide.Grace)),
		}}
	}
	for name, tc := range map[string]struct {
		edit        func(*decide.RuleSetInput)
		want        map[string]string
		wantMessage map[string]string
		wantServers int32
	}{
		"all is well": {func(*decide.RuleSetInput) {},
			map[string]string{"Accepted": "True/Accepted", "Enforced": "True/Enforced", "Ready": "True/Ready"}, map[string]string{"Enforced": "in force in 1 server"}, 1},
		"no server is selected": {func(in *decide.RuleSetInput) { in.Reached = nil },
			map[string]string{"Enforced": "True/NoServers"}, map[string]string{"Enforced": "no MCPServer is selected, so nothing is governed"}, 0},
		"names that nobody has": {func(in *decide.RuleSetInput) {
			in.Reached, in.RuleSet.Spec.Servers = nil, &mcpv1alpha1.ServerSelector{Names: []string{"b", "a"}}
		}, map[string]string{"Enforced": "True/NoServers"}, map[string]string{"Enforced": "no MCPServer is selected, so nothing is governed; spec.servers.names has a, b"}, 0},
		"a rule that does not compile is told with its place": {func(in *decide.RuleSetInput) {
			in.Errors = []rules.RuleError{{Rule: "r", Field: "when", Line: 2, Column: 3, Message: "Syntax error"}, {Field: "rules", Message: "cost too much"}}
		}, map[string]string{"Accepted": "False/InvalidRules", "Enforced": "False/NotAccepted", "Ready": "False/InvalidRules"},
			map[string]string{"Accepted": "rule r, field when, line 2, column 3: Syntax error (and 1 more, in status.ruleErrors)"}, 1},
		"a language that is not built": {func(in *decide.RuleSetInput) { in.RuleSet.Spec.Format = mcpv1alpha1.RuleFormatSHACL },
			map[string]string{"Accepted": "False/Unsupported"}, map[string]string{"Accepted": "spec.format shacl is not built yet; write the rules in cel or jsonSchema"}, 1},
		"a type that is not built": {func(in *decide.RuleSetInput) { in.RuleSet.Spec.Type = mcpv1alpha1.RuleSetRouting },
			map[string]string{"Accepted": "False/Unsupported", "Enforced": "False/NotAccepted"}, map[string]string{
				"Accepted": "spec.type routing is not built yet; write the rules as safety, policy or validation",
				"Enforced": "what the set governs is denied until it is accepted",
			}, 1},
		"a set that only records is said to deny nothing": {func(in *decide.RuleSetInput) {
			in.Errors, in.RuleSet.Spec.Enforcement = []rules.RuleError{{Message: "Syntax error"}}, mcpv1alpha1.EnforcementAudit
		}, map[string]string{"Accepted": "False/InvalidRules", "Enforced": "False/NotAccepted", "Ready": "False/InvalidRules"},
			map[string]string{"Enforced": "spec.enforcement is Audit, so nothing is denied: what the set governs is recorded as what it would have denied until it is accepted"}, 1},
		"a selector that can't be read": {func(in *decide.RuleSetInput) {
			in.RuleSet.Spec.Servers = &mcpv1alpha1.ServerSelector{Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}}
		}, map[string]string{"Accepted": "False/InvalidSelector"}, nil, 1},
		"a pod has not said so yet": {func(in *decide.RuleSetInput) { in.Reached = []decide.Reached{lagging} },
			map[string]string{"Enforced": "False/Progressing"}, map[string]string{"Enforced": "not in force yet in files-1"}, 0},
		"a pod lags for longer than is allowed": {func(in *decide.RuleSetInput) {
			in.Reached, in.RuleSet.Status.Conditions = []decide.Reached{lagging}, since(metav1.ConditionFalse, "Progressing")
		}, map[string]string{"Enforced": "False/Lagging", "Ready": "False/Lagging"}, map[string]string{"Enforced": "not in force yet in files-1"}, 0},
		"at most five that lag are named": {func(in *decide.RuleSetInput) {
			in.Reached = []decide.Reached{
				{Server: "a", Written: true, Lagging: []string{"a-1", "a-2"}}, {Server: "b"}, enforced,
				{Server: "c", Written: true, Lagging: []string{"c-1"}, Unheard: []string{"c-2", "c-3", "c-4"}},
			}
		}, map[string]string{"Enforced": "False/Progressing"}, map[string]string{"Enforced": "not in force yet in a-1, a-2, b, c-1, c-2 and 2 more"}, 1},
		"a document that does not hold it yet": {func(in *decide.RuleSetInput) { in.Reached[0].Written = false },
			map[string]string{"Enforced": "False/Progressing"}, map[string]string{"Enforced": "not in force yet in files"}, 0},
		"a manager that has just started takes nothing back": {func(in *decide.RuleSetInput) {
			in.Reached[0].Unheard, in.RuleSet.Status.Conditions = []string{"files-1"}, since(metav1.ConditionTrue, "Enforced")
		}, map[string]string{"Enforced": "True/Enforced"}, map[string]string{"Enforced": "as before"}, 1},
		"and takes nothing for granted of a new generation": {func(in *decide.RuleSetInput) {
			in.Reached[0].Unheard, in.RuleSet.Status.Conditions = []string{"files-1"}, since(metav1.ConditionTrue, "Enforced")
			in.RuleSet.Status.ObservedGeneration = 1
		}, map[string]string{"Enforced": "False/Progressing"}, map[string]string{"Enforced": "not in force yet in files-1"}, 0},
		"it takes nothing back of a set that is broken, either": {func(in *decide.RuleSetInput) {
			in.Errors = []rules.RuleError{{Message: "Syntax error"}}
			in.Reached = []decide.Reached{
				enforced, {Server: "b", Written: true, Unheard: []string{"b-1"}}, {Server: "c", Written: true, Unheard: []string{"c-1"}},
			}
			in.RuleSet.Status.EnforcedServers = new(int32(2))
		}, map[string]string{"Enforced": "False/NotAccepted"}, nil, 2},
		"and counts nobody for one that is known not to enforce it": {func(in *decide.RuleSetInput) {
			in.Reached = []decide.Reached{lagging, {Server: "b", Written: true, Unheard: []string{"b-1"}}}
			in.RuleSet.Status.EnforcedServers = new(int32(1))
		}, map[string]string{"Enforced": "False/Progressing"}, nil, 0},
		"and counts no server that it has not heard of since the set changed": {func(in *decide.RuleSetInput) {
			in.Errors = []rules.RuleError{{Message: "Syntax error"}}
			in.Reached = []decide.Reached{enforced, {Server: "b", Written: true, Unheard: []string{"b-1"}}}
			in.RuleSet.Status.EnforcedServers, in.RuleSet.Status.ObservedGeneration = new(int32(2)), 1
		}, map[string]string{"Enforced": "False/NotAccepted"}, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			in := decide.RuleSetInput{Now: now, Reached: []decide.Reached{enforced}, RuleSet: &mcpv1alpha1.RuleSet{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "paths", Generation: 2},
				Status:     mcpv1alpha1.RuleSetStatus{ObservedGeneration: 2},
			}}
			tc.edit(&in)
			status := decide.RuleSet(in)
			got := conditions(status.Conditions)
			for kind, want := range tc.want {
				if got[kind] != want {
					t.Errorf("%s is %s, want %s", kind, got[kind], want)
				}
			}
			for kind, want := range tc.wantMessage {
				if diff := cmp.Diff(want, meta.FindStatusCondition(status.Conditions, kind).Message); diff != "" {
					t.Errorf("%s says (-want +got):\n%s", kind, diff)
				}
			}
			if *status.EnforcedServers != tc.wantServers || len(status.RuleErrors) != len(in.Errors) {
				t.Errorf("%d servers, %d errors", *status.EnforcedServers, len(status.RuleErrors))
			}
		})
	}
}
