// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package document_test

import (
	stdcmp "cmp"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/document"
	"toolgate.dev/toolgate/internal/render/rendertest"
	"toolgate.dev/toolgate/internal/rules"
)

func TestDocuments(t *testing.T) {
	for name, s := range rendertest.Servers() {
		t.Run(name, func(t *testing.T) {
			doc, err := document.Render(document.Input{
				Server: s, Tools: rendertest.Tools(s.Name), RuleSets: rendertest.RuleSets(), Broken: map[string]string{"broken": "rule x: field when: no"},
				Revisions: []string{"old"},
			})
			if err != nil {
				t.Fatal(err)
			}
			data, _, err := doc.Encode()
			if err != nil {
				t.Fatal(err)
			}
			var indented any
			if err := json.Unmarshal(data, &indented); err != nil {
				t.Fatal(err)
			}
			pretty, err := json.MarshalIndent(indented, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			rendertest.Golden(t, name+".registry.json", append(pretty, '\n'))
		})
	}
}

// TestASetThatIsNotThereDeniesWhateverItMayHaveGoverned: nobody knows which methods it had.
func TestASetThatIsNotThereDeniesWhateverItMayHaveGoverned(t *testing.T) {
	s := rendertest.Stdio()
	s.Spec.RuleSets = []string{"of-the-server"}
	tools := []mcpv1alpha1.MCPTool{{Spec: mcpv1alpha1.MCPToolSpec{ToolName: "a", RuleSets: []string{"of-a-tool"}}}}
	doc := rendertest.Must(document.Render(document.Input{Server: s, Tools: tools}))
	data, _, err := doc.Encode()
	if err != nil {
		t.Fatal(err)
	}
	decoded := rendertest.Must(registry.Decode(data))
	governs := map[string][]string{}
	for _, set := range decoded.RuleSets {
		compiled, _ := rules.Compile(set)
		if compiled.Broken() != set.Broken {
			t.Errorf("set %s is broken because %q, want %q", set.Name, compiled.Broken(), set.Broken)
		}
		for _, method := range []string{"tools/call", "tools/list", "resources/read", "prompts/get", "completion/complete", "acme/reindex"} {
			for _, tool := range []string{"a", "b"} {
				if compiled.Governs(rules.ToolInfo{Name: tool}, method) {
					governs[set.Name] = append(governs[set.Name], method+" "+tool)
				}
			}
		}
	}
	want := map[string][]string{
		"of-a-tool": {"tools/call a"},
		"of-the-server": {
			"tools/call a", "tools/call b", "tools/list a", "tools/list b", "resources/read a", "resources/read b", "prompts/get a", "prompts/get b",
			"completion/complete a", "completion/complete b", "acme/reindex a", "acme/reindex b",
		},
	}
	if diff := cmp.Diff(want, governs); diff != "" {
		t.Errorf("what the missing sets govern (-want +got):\n%s", diff)
	}
}

func TestLimitsAreSharedAmongReplicas(t *testing.T) {
	s := rendertest.Listening()
	s.Spec.Limits = mcpv1alpha1.Limits{RequestsPerMinute: new(int32(100)), MaxConcurrent: new(int32(0)), MaxSessions: new(int32(7))}
	got := rendertest.Must(document.Render(document.Input{Server: s})).Policy.Limits
	if got.RequestsPerMinute != 34 || got.MaxConcurrent != 0 || got.MaxSessions != 7 {
		t.Errorf("limits of one of 3 replicas: %+v", got)
	}
}

// What an absent field of the API means and what an absent number of a document means are the same, but for the two whose 0 says something.
func TestAbsentFieldsAreTheUsualNumbers(t *testing.T) {
	s := rendertest.Listening()
	s.Spec.Replicas, s.Spec.Limits, s.Spec.Health, s.Spec.TimeoutSeconds = nil, mcpv1alpha1.Limits{}, mcpv1alpha1.Health{}, nil
	s.Spec.Discovery.TTLSeconds, s.Spec.Confirm = nil, mcpv1alpha1.Confirm{}
	got, want := rendertest.Must(document.Render(document.Input{Server: s})).Policy, registry.Usual()
	want.Limits.RequestsPerMinute = mcpv1alpha1.DefaultRequestsPerMinute
	if got.Confirm.TTLSeconds == 0 { // left out of documents
		got.Confirm.TTLSeconds = registry.DefaultConfirmTTL
	}
	for name, tc := range map[string]struct{ got, want any }{
		"timeoutSeconds": {got.TimeoutSeconds, want.TimeoutSeconds},
		"limits":         {got.Limits, want.Limits},
		"health":         {got.Health, want.Health},
		"ttlSeconds":     {got.Discovery.TTLSeconds, want.Discovery.TTLSeconds},
		"confirm":        {got.Confirm.TTLSeconds, want.Confirm.TTLSeconds},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got.Trust.MaxStalenessSeconds != mcpv1alpha1.DefaultMaxStalenessSeconds {
		t.Errorf("trust outlives the manager for %d s", got.Trust.MaxStalenessSeconds)
	}
}

func TestPinningSaysWhichPinsCount(t *testing.T) {
	automatic := mcpv1alpha1.MCPTool{Status: mcpv1alpha1.MCPToolStatus{Pins: []mcpv1alpha1.RevisionPin{{Revision: "r1", Digest: "automatic"}}}}
	person := *automatic.DeepCopy()
	person.Spec.Pin = &mcpv1alpha1.Pin{Digest: "person"}
	for pinning, want := range map[mcpv1alpha1.Pinning]string{
		"": "automatic", mcpv1alpha1.PinningPerRevision: "automatic", mcpv1alpha1.PinningStrict: "automatic",
		mcpv1alpha1.PinningManual: "", mcpv1alpha1.PinningOff: "",
	} {
		s := rendertest.Stdio()
		s.Spec.Discovery.Pinning = pinning
		if got := document.Admitted(s, &automatic, "r1"); got != want {
			t.Errorf("%q: admitted is %q, want %q", pinning, got, want)
		}
		if got := document.Admitted(s, &person, "r1"); got != "person" {
			t.Errorf("%q: admitted is %q, and a person pinned another", pinning, got)
		}
		if got := document.Admitted(s, &automatic, "r2"); got != "" {
			t.Errorf("%q: a pin counts for another revision: %q", pinning, got)
		}
	}
}

func TestABrokenContractWithholdsWhatBreaksIt(t *testing.T) {
	for name, tc := range map[string]struct {
		pinning mcpv1alpha1.Pinning
		broken  []string
		want    string
	}{
		"the admitted definition":                  {"", []string{"d1"}, "ContractBroken"},
		"a definition of another revision":         {"", []string{"d2"}, ""},
		"some definition, where any may be served": {mcpv1alpha1.PinningOff, []string{"d2"}, "ContractBroken"},
		"none": {mcpv1alpha1.PinningOff, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := rendertest.Stdio()
			s.Spec.Discovery.Pinning = tc.pinning
			revision := rendertest.Must(render.Revision(s))
			tool := mcpv1alpha1.MCPTool{Spec: mcpv1alpha1.MCPToolSpec{ToolName: "a"}, Status: mcpv1alpha1.MCPToolStatus{
				ObservedGeneration: 1, ContractBroken: tc.broken, Pins: []mcpv1alpha1.RevisionPin{{Revision: revision, Digest: "d1"}},
			}}
			doc := rendertest.Must(document.Render(document.Input{Server: s, Tools: []mcpv1alpha1.MCPTool{tool}}))
			if got := doc.Revisions[revision].Tools[0].Withheld; got != tc.want {
				t.Errorf("withheld %q, want %q", got, tc.want)
			}
		})
	}
}

// TestWhereNothingIsPinnedAContractIsHeldByTheDocument: a dispatcher serves what is known to keep it, and nothing else, whoever runs.
func TestWhereNothingIsPinnedAContractIsHeldByTheDocument(t *testing.T) {
	promise := &mcpv1alpha1.Contract{InputSchema: &runtime.RawExtension{Raw: []byte(`{"type":"object"}`)}}
	registered := []metav1.Condition{{Type: "Registered", Status: metav1.ConditionTrue, Reason: "Registered"}}
	for name, tc := range map[string]struct {
		tool    mcpv1alpha1.MCPTool
		pinning mcpv1alpha1.Pinning
		want    registry.Tool
	}{
		"nothing is promised": {tool: mcpv1alpha1.MCPTool{Status: mcpv1alpha1.MCPToolStatus{ContractKept: []string{"d1"}}}},
		"no schema is promised": {
			tool: mcpv1alpha1.MCPTool{Spec: mcpv1alpha1.MCPToolSpec{Contract: &mcpv1alpha1.Contract{Version: "1.0.0"}}},
			want: registry.Tool{Version: "1.0.0"},
		},
		"some keep it": {
			tool: mcpv1alpha1.MCPTool{Spec: mcpv1alpha1.MCPToolSpec{Contract: promise}, Status: mcpv1alpha1.MCPToolStatus{ContractKept: []string{"d2", "d1"}}},
			want: registry.Tool{Digests: []string{"d1", "d2"}},
		},
		"some keep it, and another breaks it": {
			tool: mcpv1alpha1.MCPTool{Spec: mcpv1alpha1.MCPToolSpec{Contract: promise}, Status: mcpv1alpha1.MCPToolStatus{ContractKept: []string{"d1"}, ContractBroken: []string{"d2"}}},
			want: registry.Tool{Digest: "d1"},
		},
		"none keeps it": {
			tool: mcpv1alpha1.MCPTool{Spec: mcpv1alpha1.MCPToolSpec{Contract: promise}, Status: mcpv1alpha1.MCPToolStatus{ContractBroken: []string{"d2"}}},
			want: registry.Tool{Withheld: "ContractBroken"},
		},
		"nobody has looked yet": {
			tool: mcpv1alpha1.MCPTool{Spec: mcpv1alpha1.MCPToolSpec{Contract: promise}},
			want: registry.Tool{Withheld: "NotDiscovered"},
		},
		"it was written just now, of a tool that is served": {
			tool: mcpv1alpha1.MCPTool{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Spec: mcpv1alpha1.MCPToolSpec{Contract: promise},
				Status: mcpv1alpha1.MCPToolStatus{ObservedGeneration: 1, Observed: &mcpv1alpha1.ObservedTool{Digest: "d1"}, Conditions: registered}},
			want: registry.Tool{Digest: "d1"},
		},
		"a manager from before has judged it, and noted that alone": {
			tool: mcpv1alpha1.MCPTool{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Spec: mcpv1alpha1.MCPToolSpec{Contract: promise},
				Status: mcpv1alpha1.MCPToolStatus{ObservedGeneration: 2, Observed: &mcpv1alpha1.ObservedTool{Digest: "d1"}, Conditions: registered}},
			want: registry.Tool{Digest: "d1"},
		},
		"it has been judged, and nothing is known to keep it": {
			tool: mcpv1alpha1.MCPTool{Spec: mcpv1alpha1.MCPToolSpec{Contract: promise},
				Status: mcpv1alpha1.MCPToolStatus{Observed: &mcpv1alpha1.ObservedTool{Digest: "d1"}, Conditions: []metav1.Condition{{Type: "Registered", Status: metav1.ConditionFalse, Reason: "Gone"}}}},
			want: registry.Tool{Withheld: "NotDiscovered"},
		},
		"sessions alone list it": {
			tool: mcpv1alpha1.MCPTool{Spec: mcpv1alpha1.MCPToolSpec{Contract: promise},
				Status: mcpv1alpha1.MCPToolStatus{Observed: &mcpv1alpha1.ObservedTool{Digest: "d1", Variants: 1, SessionVariants: 1}, Conditions: registered}},
			want: registry.Tool{Withheld: "NotDiscovered"},
		},
		"a person has pinned one": {
			tool: mcpv1alpha1.MCPTool{Spec: mcpv1alpha1.MCPToolSpec{Contract: promise, Pin: &mcpv1alpha1.Pin{Digest: "d3"}}, Status: mcpv1alpha1.MCPToolStatus{ContractKept: []string{"d1", "d3"}}},
			want: registry.Tool{Digest: "d3"},
		},
		"pins count": {
			tool: mcpv1alpha1.MCPTool{Spec: mcpv1alpha1.MCPToolSpec{Contract: promise}, Status: mcpv1alpha1.MCPToolStatus{ContractKept: []string{"d1"}}}, pinning: mcpv1alpha1.PinningPerRevision,
			want: registry.Tool{Withheld: "NotDiscovered"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := rendertest.Stdio()
			s.Spec.Discovery.Pinning = stdcmp.Or(tc.pinning, mcpv1alpha1.PinningOff)
			tc.tool.Spec.ToolName, tc.want.Name = "a", "a"
			revision := rendertest.Must(render.Revision(s))
			got := rendertest.Must(document.Render(document.Input{Server: s, Tools: []mcpv1alpha1.MCPTool{tc.tool}})).Revisions[revision].Tools[0]
			got.Message = ""
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestNoCallerIsToldTheWayOut: the messages of withheld tools are read by models, which must not lift a refusal themselves.
func TestNoCallerIsToldTheWayOut(t *testing.T) {
	tool := func(object, name string, registered ...metav1.Condition) mcpv1alpha1.MCPTool {
		return mcpv1alpha1.MCPTool{
			ObjectMeta: metav1.ObjectMeta{Name: object},
			Spec:       mcpv1alpha1.MCPToolSpec{ToolName: name},
			Status:     mcpv1alpha1.MCPToolStatus{ObservedGeneration: 1, Conditions: registered},
		}
	}
	doc := rendertest.Must(document.Render(document.Input{
		Server: rendertest.Stdio(),
		Tools: []mcpv1alpha1.MCPTool{
			tool("a", "odd name"), tool("b", "x"), tool("c", "X"), tool("d", "y"), tool("e", "y"), tool("f", "new"),
			tool("g", "twice", metav1.Condition{Type: "Registered", Status: "False", Reason: "DuplicateName", Message: "MCPTools g, h; delete all but one"}),
		},
	}))
	for _, rev := range doc.Revisions {
		if len(rev.Tools) != 6 {
			t.Errorf("%d tools", len(rev.Tools))
		}
		for _, tool := range rev.Tools {
			if tool.Withheld == "" || tool.Message == "" {
				t.Errorf("%s is not withheld: %+v", tool.Name, tool)
			}
			for _, word := range []string{"write ", "delete", "declare", "set ", "kubectl", "spec."} {
				if strings.Contains(tool.Message, word) {
					t.Errorf("%s: callers are told %q", tool.Name, tool.Message)
				}
			}
		}
	}
}
