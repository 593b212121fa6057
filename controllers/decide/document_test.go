// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/waves"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/rules"
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

func TestAToolIsCallableWhereTheDocumentInForceLetsItThrough(t *testing.T) {
	none := func(*registry.Document) {}
	nothing := "what lets it through is in no document of MCPServer files yet: no such mode"
	for name, tc := range map[string]struct {
		refused decide.Refusal
		// inForce changes a document that lets the tool through; nil for no document.
		inForce func(*registry.Document)
		edit    func(*decide.ToolInput)
		want    string
		message string
	}{
		"what was asked for is there": {want: "True/Callable"},
		"it is too large":             {refused: tooLarge, inForce: none, want: "False/RegistryTooLarge", message: tooLarge.Message},
		"there is none":               {refused: invalid, want: "False/InvalidSpec", message: nothing},
		"it lets it through":          {refused: invalid, inForce: none, want: "True/Callable"},
		"it does not know it":         {refused: invalid, inForce: func(d *registry.Document) { d.Revisions["r1"].Tools[1].Name = "c" }, want: "False/InvalidSpec", message: nothing},
		"it has another definition of it": {refused: invalid, inForce: func(d *registry.Document) { d.Revisions["r1"].Tools[1].Digest = "a2" },
			want: "False/InvalidSpec", message: nothing},
		"it has none of it": {refused: invalid, inForce: func(d *registry.Document) { d.Revisions["r1"].Tools[1].Digest = "" },
			want: "False/InvalidSpec", message: nothing},
		"it has none of it and wants none": {refused: invalid, inForce: func(d *registry.Document) {
			d.Revisions["r1"].Tools[1].Digest, d.Policy.Discovery.PinningOff = "", true
		}, want: "True/Callable"},
		"it withholds it": {refused: invalid, inForce: func(d *registry.Document) { d.Revisions["r1"].Tools[1].Withheld = "Disabled" },
			want: "False/InvalidSpec", message: nothing},
		"it exposes no tools": {refused: invalid, inForce: func(d *registry.Document) { d.Policy.Expose.Tools = false },
			want: "False/InvalidSpec", message: nothing},
		"its gate holds it": {refused: invalid, inForce: func(d *registry.Document) { d.Revisions["r1"].Tools[1].Hints = &registry.Hints{ReadOnly: new(false)} },
			want: "False/InvalidSpec", message: nothing},
		"its gate would hold it, but the server is trusted there": {refused: invalid, inForce: func(d *registry.Document) {
			d.Revisions["r1"].Tools[1].Hints, d.Policy.Trust.Trusted = &registry.Hints{ReadOnly: new(false)}, true
		}, want: "True/Callable"},
		"its gate holds it since trust has ended": {refused: invalid, inForce: func(d *registry.Document) {
			d.Revisions["r1"].Tools[1].Hints, d.Policy.Trust = &registry.Hints{ReadOnly: new(false)}, registry.Trust{Trusted: true, ExpiresAt: now.Unix()}
		}, want: "False/InvalidSpec", message: nothing},
		"its gate holds it since the manager reaches nobody": {refused: invalid, inForce: func(d *registry.Document) {
			d.Revisions["r1"].Tools[1].Hints, d.Policy.Trust.Trusted = &registry.Hints{ReadOnly: new(false)}, true
		}, edit: func(in *decide.ToolInput) { in.TrustLapses = now }, want: "False/InvalidSpec", message: nothing},
		"its gate holds whatever mutates": {refused: invalid, inForce: func(d *registry.Document) {
			d.Revisions["r1"].Tools[1].Hints = &registry.Hints{ReadOnly: new(false), Destructive: new(false)}
			d.Policy.Gating.Mutating = true
		}, want: "False/InvalidSpec", message: nothing},
		"a broken set of it denies it": {refused: invalid, inForce: func(d *registry.Document) {
			d.RuleSets = []rules.Set{{Name: "s", Broken: "syntax"}}
		}, want: "False/InvalidSpec", message: nothing},
		"a broken set of it denies others, and one is an audit": {refused: invalid, inForce: func(d *registry.Document) {
			d.RuleSets = []rules.Set{{Name: "s", Broken: "syntax", Tools: &rules.ToolSelector{Names: []string{"b"}}}, {Name: "t", Broken: "syntax", Enforcement: rules.Audit}}
		}, want: "True/Callable"},
		"it lets through what a person has disabled": {refused: invalid, inForce: none,
			edit: func(in *decide.ToolInput) { in.Tool.Spec.State = mcpv1alpha1.StateDisabled },
			want: "True/InvalidSpec", message: "what withholds it (Disabled) is in no document of MCPServer files yet: no such mode"},
		"it lets through what a person has disabled, but no pod serves": {refused: invalid, inForce: none,
			edit: func(in *decide.ToolInput) {
				in.Tool.Spec.State, in.Server.Status.ReadyReplicas = mcpv1alpha1.StateDisabled, nil
			}, want: "False/ServerNotReady", message: "no pod of MCPServer files serves"},
		"both withhold it": {refused: invalid, inForce: func(d *registry.Document) { d.Revisions["r1"].Tools[1].Withheld = "Disabled" },
			edit: func(in *decide.ToolInput) { in.Tool.Spec.State = mcpv1alpha1.StateDisabled }, want: "False/Disabled", message: "spec.state is Disabled"},
		"nobody has tried to write another one yet": {edit: func(in *decide.ToolInput) {
			in.Untried, in.Tool.Status.Conditions = true, is("Callable=False/InvalidSpec: of before")
		}, want: "False/InvalidSpec", message: "of before"},
		"nobody has tried yet, and nothing was said before": {edit: func(in *decide.ToolInput) { in.Untried = true }, want: "True/Callable"},
	} {
		t.Run(name, func(t *testing.T) {
			in := tool(viewed(pod("a", lists("c1", defined("a1", `,"annotations":{"readOnlyHint":true}`)))))
			in.DocumentError = tc.refused
			if tc.inForce != nil {
				doc := &registry.Document{
					Policy:    registry.Policy{Expose: registry.Expose{Tools: true}},
					Revisions: map[string]registry.Revision{"r0": {}, "r1": {Tools: []registry.Tool{{Name: "Z"}, {Name: "a", Digest: "a1"}, {Name: "z"}}}},
				}
				tc.inForce(doc)
				in.InForce = decide.NewInForce(doc.Sorted())
			}
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
