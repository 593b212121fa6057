// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/waves"
)

var (
	tooLarge = decide.Refusal{Reason: "RegistryTooLarge", Message: "every call is refused until it fits: shorten rules"}
	invalid  = decide.Refusal{Reason: "InvalidSpec", Message: "no such mode"}
)

func TestAServerWhoseDocumentIsNotTheOneThatWasAskedFor(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*decide.ServerInput)
		want map[string]string
	}{
		"no dispatcher would read it": {func(in *decide.ServerInput) { in.DocumentError = invalid },
			map[string]string{"Accepted": "False/InvalidSpec", "Available": "True/Available", "Enforced": "False/InvalidSpec", "Ready": "False/InvalidSpec"}},
		"the spec is not valid, and asks for another one": {func(in *decide.ServerInput) { in.Refused, in.DocumentStale = invalid, true },
			map[string]string{"Accepted": "False/InvalidSpec", "Available": "True/Available", "Enforced": "False/InvalidSpec", "Ready": "False/InvalidSpec"}},
		"the spec is not valid, and there is none": {func(in *decide.ServerInput) { in.Refused, in.Document = invalid, "" },
			map[string]string{"Accepted": "False/InvalidSpec", "Enforced": "False/InvalidSpec"}},
		"the spec is not valid, but asks for the one that is there": {func(in *decide.ServerInput) { in.Refused = invalid },
			map[string]string{"Accepted": "False/InvalidSpec", "Enforced": "True/Enforced"}},
		"a child can't be applied, and the document is on its way": {func(in *decide.ServerInput) {
			in.Refused, in.DocumentStale = decide.Refusal{Reason: "ApplyFailed", Message: "quota"}, true
		}, map[string]string{"Accepted": "False/ApplyFailed", "Enforced": "False/Progressing"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := decide.ServerInput{
				Server: server(), Now: now, Revision: "r1", Deployment: &appsv1.Deployment{}, Pods: []decide.Pod{pod("a")}, Document: "d1", Tools: registered(), Upgrade: waves.Settled,
			}
			tc.edit(&in)
			got := conditions(decide.Server(in).Conditions)
			for kind, want := range tc.want {
				if got[kind] != want {
					t.Errorf("%s is %s, want %s; all: %v", kind, got[kind], want, got)
				}
			}
		})
	}
}

func TestAToolIsCallableOnlyWhereADocumentLetsItThrough(t *testing.T) {
	for name, tc := range map[string]struct {
		refused decide.Refusal
		before  []metav1.Condition
		edit    func(*decide.ToolInput)
		want    string
		message string
	}{
		"it is as was asked for":       {want: "True/Callable"},
		"it is too large":              {refused: tooLarge, before: is("Callable=True/Callable"), want: "False/RegistryTooLarge", message: tooLarge.Message},
		"it is too large for new ones": {refused: tooLarge, want: "False/RegistryTooLarge", message: tooLarge.Message},
		"the last one does not know of it": {refused: invalid, want: "False/InvalidSpec",
			message: "what lets it through is in no document of MCPServer files yet: no such mode"},
		"the last one lets it through":                         {refused: invalid, before: is("Callable=True/Callable"), want: "True/Callable"},
		"the last one lets it through, and its pods were away": {refused: invalid, before: is("Callable=False/ServerNotReady: no pod serves"), want: "True/Callable"},
		"the last one withholds it": {refused: invalid, before: is("Callable=False/Disabled: spec.state is Disabled"), want: "False/InvalidSpec",
			message: "what lets it through is in no document of MCPServer files yet: no such mode"},
		"the last one lets it through, and what is asked for does not": {refused: invalid, before: is("Callable=True/Callable"),
			edit: func(in *decide.ToolInput) { in.Tool.Spec.State = mcpv1alpha1.StateDisabled }, want: "False/Disabled", message: "spec.state is Disabled"},
	} {
		t.Run(name, func(t *testing.T) {
			in := tool(viewed(pod("a", lists("c1", defined("a1", `,"annotations":{"readOnlyHint":true}`)))))
			in.DocumentError, in.Tool.Status.Conditions = tc.refused, tc.before
			if tc.edit != nil {
				tc.edit(&in)
			}
			in.Tool.Status = decide.Tool(in)
			c := meta.FindStatusCondition(in.Tool.Status.Conditions, "Callable")
			if got := string(c.Status) + "/" + c.Reason; got != tc.want || c.Message != tc.message {
				t.Errorf("Callable is %s: %q, want %s: %q", got, c.Message, tc.want, tc.message)
			}
			if diff := cmp.Diff(in.Tool.Status, decide.Tool(in)); diff != "" {
				t.Errorf("a second look changes the status: %s", diff)
			}
		})
	}
}
