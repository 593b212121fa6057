// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
)

func TestLastRefusal(t *testing.T) {
	for name, tc := range map[string]struct {
		conditions []metav1.Condition
		observed   int64
		want       decide.Refusal
	}{
		"nothing is known":                       {nil, 2, decide.Refusal{}},
		"all was taken":                          {is("Accepted=True/Accepted"), 2, decide.Refusal{}},
		"a child was refused":                    {is("Accepted=False/ApplyFailed: no quota"), 2, decide.Refusal{Reason: "ApplyFailed", Message: "no quota"}},
		"a name is taken":                        {is("Accepted=False/NameConflict: taken"), 2, decide.Refusal{Reason: "NameConflict", Message: "taken"}},
		"a child was refused, of another spec":   {is("Accepted=False/ApplyFailed: no quota"), 1, decide.Refusal{}},
		"what the next pass finds out by itself": {is("Accepted=False/RuleSetNotFound: rules"), 2, decide.Refusal{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &mcpv1alpha1.MCPServer{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Status: mcpv1alpha1.MCPServerStatus{Conditions: tc.conditions}}
			for i := range s.Status.Conditions {
				s.Status.Conditions[i].ObservedGeneration = tc.observed
			}
			if got := decide.LastRefusal(s); got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}
