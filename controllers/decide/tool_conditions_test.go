// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/rules"
)

func tool(edits ...func(*decide.ToolInput)) decide.ToolInput {
	s := server()
	s.Status.Revisions = []mcpv1alpha1.RevisionStatus{{Name: "r1", FirstCatalogueDigest: "c1"}}
	s.Status.ReadyReplicas = new(int32(1))
	meta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{Type: "Available", Status: metav1.ConditionTrue, Reason: "Available"})
	in := decide.ToolInput{
		Tool:        &mcpv1alpha1.MCPTool{Spec: mcpv1alpha1.MCPToolSpec{ServerRef: mcpv1alpha1.ServerRef{Name: "files"}, ToolName: "a"}},
		Server:      s,
		Now:         now,
		View:        decide.NewView(s, "r1", []decide.Pod{pod("a", lists("c1", defined("a1", "")))}),
		Definitions: decide.NewDefinitions(),
	}
	for _, edit := range edits {
		edit(&in)
	}
	return in
}

func defined(digest, more string) registry.ObservedTool {
	return registry.ObservedTool{Name: "a", Digest: digest, Definition: []byte(`{"name":"a","inputSchema":{"type":"object"}` + more + `}`)}
}

func viewed(pods ...decide.Pod) func(*decide.ToolInput) {
	return func(in *decide.ToolInput) { in.View = decide.NewView(in.Server, "r1", pods) }
}

func TestToolConditions(t *testing.T) {
	readOnly := viewed(pod("a", lists("c1", defined("a1", `,"annotations":{"readOnlyHint":true}`))))
	for name, tc := range map[string]struct {
		edit           func(*decide.ToolInput)
		wantRegistered string
		wantCallable   string
	}{
		"an unannotated tool of an untrusted server": {func(*decide.ToolInput) {}, "True/Registered", "False/Untrusted"},
		"a read-only tool":                           {readOnly, "True/Registered", "True/Callable"},
		"of a trusted server":                        {func(in *decide.ToolInput) { in.Server.Spec.Trust.State = mcpv1alpha1.Trusted }, "True/Registered", "True/Callable"},
		"whose trust has ended": {func(in *decide.ToolInput) {
			in.Server.Spec.Trust = mcpv1alpha1.Trust{State: mcpv1alpha1.Trusted, ExpiresAt: &metav1.Time{Time: now}}
		}, "True/Registered", "False/TrustExpired"},
		"of a trusted server whose pods the manager has not reached for too long": {func(in *decide.ToolInput) {
			in.Server.Spec.Trust.State, in.TrustLapses = mcpv1alpha1.Trusted, now
		}, "True/Registered", "False/TrustStale"},
		"of a trusted server whose pods the manager does not reach, for less": {func(in *decide.ToolInput) {
			in.Server.Spec.Trust.State, in.TrustLapses = mcpv1alpha1.Trusted, now.Add(time.Second)
		}, "True/Registered", "True/Callable"},
		"whose calls are confirmed since no pod was reached for too long": {func(in *decide.ToolInput) {
			in.Server.Spec.Gating.Destructive, in.Server.Spec.Trust.State, in.TrustLapses = mcpv1alpha1.GateConfirm, mcpv1alpha1.Trusted, now
		}, "True/Registered", "False/NeedsConfirmation"},
		"that a person calls harmless": {func(in *decide.ToolInput) { in.Tool.Spec.Hints.Destructive = mcpv1alpha1.HintFalse }, "True/Registered", "True/Callable"},
		"harmless, but not read-only, where the gate holds all that mutates": {func(in *decide.ToolInput) {
			in.Tool.Spec.Hints.Destructive = mcpv1alpha1.HintFalse
			in.Server.Spec.Gating.Scope = mcpv1alpha1.GateMutating
		}, "True/Registered", "False/Untrusted"},
		"that a broken set of destructive tools governs, since the gate holds all that mutates": {func(in *decide.ToolInput) {
			in.Tool.Spec.Hints.Destructive = mcpv1alpha1.HintFalse
			in.Server.Spec.Gating.Scope, in.Server.Spec.Trust.State = mcpv1alpha1.GateMutating, mcpv1alpha1.Trusted
			in.Broken = decide.BrokenSets(&registry.Document{RuleSets: []rules.Set{{Name: "s", Broken: "x", Tools: &rules.ToolSelector{Destructive: rules.DestructiveTrue}}}})
		}, "True/Registered", "False/RuleSetInvalid"},
		"whose calls are confirmed": {func(in *decide.ToolInput) { in.Server.Spec.Gating.Destructive = mcpv1alpha1.GateConfirm }, "True/Registered", "False/NeedsConfirmation"},
		"whose calls were confirmed, of a trusted server": {func(in *decide.ToolInput) {
			in.Server.Spec.Gating.Destructive, in.Server.Spec.Trust.State = mcpv1alpha1.GateConfirm, mcpv1alpha1.Trusted
		}, "True/Registered", "True/Callable"},
		"whose calls are confirmed once trust has ended": {func(in *decide.ToolInput) {
			in.Server.Spec.Gating.Destructive = mcpv1alpha1.GateConfirm
			in.Server.Spec.Trust = mcpv1alpha1.Trust{State: mcpv1alpha1.Trusted, ExpiresAt: &metav1.Time{Time: now}}
		}, "True/Registered", "False/NeedsConfirmation"},
		"a read-only tool where no tools are exposed": {func(in *decide.ToolInput) { readOnly(in); in.Server.Spec.Expose.Tools = mcpv1alpha1.Deny }, "True/Registered", "False/NotExposed"},
		"a read-only tool of a server of which some pods serve and others can't": {func(in *decide.ToolInput) {
			readOnly(in)
			in.Server.Status.Conditions = is("Available=False/ImagePullFailed: 1 of 2 pods serve")
		}, "True/Registered", "True/Callable"},
		"a read-only tool of a server that does not serve": {func(in *decide.ToolInput) { readOnly(in); in.Server.Status.ReadyReplicas = nil }, "True/Registered", "False/ServerNotReady"},
		"a definition with another digest than the pin": {func(in *decide.ToolInput) {
			in.Tool.Status.Pins = []mcpv1alpha1.RevisionPin{{Revision: "r1", Digest: "a0"}}
		}, "False/DefinitionChanged", "False/DefinitionChanged"},
		"a later catalogue than the first": {viewed(pod("a", lists("c2", defined("a1", "")))), "False/DefinitionChanged", "False/DefinitionChanged"},
		"no catalogue at all":              {viewed(pod("a", silent)), "False/NotDiscovered", "False/NotDiscovered"},
		"an external reference in its schema": {viewed(pod("a", lists("c1", registry.ObservedTool{
			Name: "a", Digest: "a1", Definition: []byte(`{"name":"a","inputSchema":{"type":"object","$ref":"https://example.com/x"}}`),
		}))), "False/InvalidSchema", "False/InvalidSchema"},
		"no schema": {viewed(pod("a", lists("c1", registry.ObservedTool{Name: "a", Digest: "a1", Definition: []byte(`{"name":"a"}`)}))),
			"False/NoInputSchema", "False/NoInputSchema"},
		"a server that is gone": {func(in *decide.ToolInput) { in.Server, in.View = nil, decide.NewView(nil, "", nil) }, "False/Gone", "False/Gone"},
	} {
		t.Run(name, func(t *testing.T) {
			in := tool(tc.edit)
			got := conditions(decide.Tool(in).Conditions)
			if got["Registered"] != tc.wantRegistered || got["Callable"] != tc.wantCallable {
				t.Errorf("Registered %s, Callable %s", got["Registered"], got["Callable"])
			}
		})
	}
}

func TestOfSeveralDefinitionsThePinnedIsToldElseTheLeast(t *testing.T) {
	drifted := viewed(pod("a", lists("c9", defined("a0", ""))), pod("b", lists("c1", defined("a1", ""))))
	status := decide.Tool(tool(drifted))
	if status.Observed.Digest != "a1" || status.Observed.Variants != 2 {
		t.Errorf("observed %s of %d variants, admitted is a1", status.Observed.Digest, status.Observed.Variants)
	}
	both := viewed(pod("a", lists("c8", defined("a3", ""))), pod("b", lists("c9", defined("a2", ""))))
	if status := decide.Tool(tool(both)); status.Observed.Digest != "a2" {
		t.Errorf("observed %s, none is admitted", status.Observed.Digest)
	}
}

func TestWhatIsShownOfADefinitionIsBounded(t *testing.T) {
	long := strings.Repeat("é", 40_000)
	def := registry.ObservedTool{Name: "a", Digest: "a1", Definition: []byte(
		`{"name":"a","title":"` + long + `","description":"` + long + `","inputSchema":{"type":"object","title":"` + long + `"},"outputSchema":{"type":"object"}}`)}
	observed := decide.Tool(tool(viewed(pod("a", lists("c1", def))))).Observed
	if observed.InputSchema != nil || observed.OutputSchema == nil || !cmp.Equal(observed.SchemaOmitted, []string{"inputSchema"}) {
		t.Errorf("schemas: %+v", observed.SchemaOmitted)
	}
	for _, text := range []string{observed.Title, observed.Description} {
		if len(text) > 5000 || !utf8.ValidString(text) {
			t.Errorf("a text of %d bytes", len(text))
		}
	}
}

func TestADefinitionThatIsShownIsNotShownAnew(t *testing.T) {
	in := tool()
	in.Tool.Status = decide.Tool(in)
	// The API server gives JSON back in another form.
	in.Tool.Status.Observed.InputSchema.Raw = []byte(`{ "type" : "object" }`)
	in.Now = now.Add(time.Hour)
	if diff := cmp.Diff(in.Tool.Status, decide.Tool(in)); diff != "" {
		t.Error(diff)
	}
}
