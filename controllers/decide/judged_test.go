// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide_test

import (
	"testing"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
)

// A tool is told of by what clients meet: a new revision whose pods never get ready says nothing of it.
func TestToolsAreJudgedByTheRevisionThatServes(t *testing.T) {
	safe, harmful := lists("c1", defined("safe", `,"annotations":{"readOnlyHint":true}`)), lists("c2", defined("harmful", ""))
	without1, without2 := lists("c1"), lists("c2")
	for name, tc := range map[string]struct {
		pods                              []decide.Pod
		registered, callable, destructive string
		listedBy                          string
	}{
		"the new one marks it destructive and does not serve": {
			[]decide.Pod{pod("a", safe), pod("b", harmful, of("r2"), notReady)}, "True/Registered", "True/Callable", "False", "r1"},
		"the new one serves, too": {
			[]decide.Pod{pod("a", safe), pod("b", harmful, of("r2"))}, "True/Registered", "False/Untrusted", "True", "r2"},
		"nobody serves": {
			[]decide.Pod{pod("a", safe, notReady), pod("b", harmful, of("r2"), notReady)}, "True/Registered", "False/Untrusted", "True", "r2"},
		"it comes with one that does not serve": {
			[]decide.Pod{pod("a", without1), pod("b", harmful, of("r2"), notReady)}, "False/NotListed", "False/NotListed", "", ""},
		"it goes with one that does not serve": {
			[]decide.Pod{pod("a", safe), pod("b", without2, of("r2"), notReady)}, "True/Registered", "True/Callable", "False", "r1"},
		"what serves has told a new manager nothing": {
			[]decide.Pod{pod("a", silent), pod("b", without2, of("r2"), notReady)}, "False/NotDiscovered", "False/NotDiscovered", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTale(t).records("r1=c1", "r2=c2").sees("r2", tc.pods...)
			got := conditions(s.in.Tool.Status.Conditions)
			if got["Registered"] != tc.registered || got["Callable"] != tc.callable {
				t.Errorf("Registered %s, Callable %s; want %s, %s", got["Registered"], got["Callable"], tc.registered, tc.callable)
			}
			var verdict mcpv1alpha1.Hint
			if o := s.in.Tool.Status.Observed; (o == nil) != (tc.listedBy == "") || o != nil && o.Revision != tc.listedBy {
				t.Errorf("observed %+v, want it to be of revision %q", o, tc.listedBy)
			}
			if d := s.in.Tool.Status.Destructive; d != nil {
				verdict = d.Verdict
			}
			if string(verdict) != tc.destructive {
				t.Errorf("destructive %q, want %q", verdict, tc.destructive)
			}
		})
	}
}
