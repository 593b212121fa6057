// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"toolgate.dev/toolgate/controllers/decide"
)

// is makes conditions out of "Type=Status/Reason", where a message may follow after a colon.
func is(texts ...string) []metav1.Condition {
	var out []metav1.Condition
	for _, text := range texts {
		text, message, _ := strings.Cut(text, ": ")
		kind, rest, _ := strings.Cut(text, "=")
		status, reason, _ := strings.Cut(rest, "/")
		out = append(out, metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: message})
	}
	return out
}

func TestTransitions(t *testing.T) {
	for name, tc := range map[string]struct {
		before, after []metav1.Condition
		want          []decide.Transition
	}{
		"a new object that is on its way": {nil, is("Available=False/Progressing", "Healthy=Unknown/Pending", "Ready=False/Progressing"), nil},
		"what came true, and why":         {nil, is("Available=True/Available: 1 of 1 pods serve"), []decide.Transition{{Type: "Available", Reason: "Available", Note: "1 of 1 pods serve"}}},
		"what came true, and no more":     {nil, is("Accepted=True/Accepted"), nil},
		"what came true in the end":       {is("Enforced=False/Progressing"), is("Enforced=True/Enforced"), nil},
		"what is put right": {
			is("Accepted=False/InvalidSpec: x"), is("Accepted=True/Accepted"),
			[]decide.Transition{{Type: "Accepted", Reason: "Accepted", Note: "Accepted is True"}},
		},
		"what is put right by and by, while something else is wrong": {
			is("Enforced=False/Progressing", "Ready=False/Failing: x"), is("Enforced=True/Enforced", "Ready=False/Failing: x"),
			[]decide.Transition{{Type: "Enforced", Reason: "Enforced", Note: "Enforced is True"}},
		},
		"what was told of a tool that works, and is so no more": {
			is("Callable=True/Deprecated: since 2.0.0", "Ready=True/Ready"), is("Callable=True/Callable", "Ready=True/Ready"),
			[]decide.Transition{{Type: "Callable", Reason: "Callable", Note: "Callable is True"}},
		},
		"what is put right with all else": {
			is("Callable=False/Untrusted: x", "Ready=False/Untrusted: x"), is("Callable=True/Callable", "Ready=True/Ready"),
			[]decide.Transition{{Type: "Ready", Reason: "Ready", Note: "Ready is True"}},
		},
		"a tool that is found and not let through": {
			is("Ready=Unknown/Pending"), is("Registered=True/Registered", "Callable=False/Untrusted: x", "Ready=False/Untrusted: x"),
			[]decide.Transition{{Type: "Callable", Reason: "Untrusted", Warning: true, Note: "x"}},
		},
		"what was on its way and failed": {
			is("Available=False/Progressing: waiting for pods"), is("Available=False/ImagePullFailed: image x"),
			[]decide.Transition{{Type: "Available", Reason: "ImagePullFailed", Warning: true, Note: "image x"}},
		},
		"what fails for another reason": {
			is("Available=False/ImagePullFailed"), is("Available=False/ServerExited: code 1"),
			[]decide.Transition{{Type: "Available", Reason: "ServerExited", Warning: true, Note: "code 1"}},
		},
		"what goes on failing, in other words": {is("Available=False/ServerExited: 2 times"), is("Available=False/ServerExited: 3 times"), nil},
		"one reason of several conditions, once": {
			is("Available=True/Available", "Ready=True/Ready"), is("Available=False/ServerExited: x", "Ready=False/ServerExited: x"),
			[]decide.Transition{{Type: "Available", Reason: "ServerExited", Warning: true, Note: "x"}},
		},
		"all at once, in one": {
			nil, is("Registered=True/Registered", "Callable=True/Deprecated: since 2.0.0", "Ready=True/Ready"),
			[]decide.Transition{{Type: "Callable", Reason: "Deprecated", Note: "since 2.0.0"}, {Type: "Ready", Reason: "Ready", Note: "Ready is True"}},
		},
		"what is True for another reason": {
			is("Discovered=True/Discovered"), is("Discovered=True/ToolsWithheld: 1 of 2"),
			[]decide.Transition{{Type: "Discovered", Reason: "ToolsWithheld", Note: "1 of 2"}},
		},
		"what stayed ready while a document was rolled out": {is("Ready=True/Progressing"), is("Ready=True/Ready"), nil},
		"what begins to be rolled out":                      {is("Ready=True/Ready"), is("Ready=True/Progressing: on its way"), nil},
		"what is not known any more":                        {is("Healthy=True/Healthy"), is("Healthy=Unknown/Disabled"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, decide.Transitions(tc.before, tc.after)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestANoteFitsIntoAnEvent(t *testing.T) {
	got := decide.Transitions(nil, is("Accepted=False/ApplyFailed: "+strings.Repeat("é", 2000)))[0].Note
	if len(got) > 1024 || !strings.HasSuffix(got, "é...") {
		t.Errorf("%d bytes, ending in %q", len(got), got[len(got)-8:])
	}
}

func TestRestartNews(t *testing.T) {
	if got := decide.RestartNews(nil); got != nil {
		t.Errorf("of nothing: %v", got)
	}
	got := decide.RestartNews([]string{"ConfigMap a", "Secret b"})
	if len(got) != 1 || !strings.HasSuffix(got[0].Note, "they are replaced: ConfigMap a, Secret b") {
		t.Errorf("of two: %v", got)
	}
	// The API refuses an event with a longer note.
	if got := decide.RestartNews(slices.Repeat([]string{"ConfigMap " + strings.Repeat("x", 253)}, 32)); len(got[0].Note) > 1024 {
		t.Errorf("a note of %d bytes", len(got[0].Note))
	}
}
