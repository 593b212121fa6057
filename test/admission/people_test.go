// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"slices"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestRolesOfPeople asks the API server what each role may do: more with each step, and none of them what loosens.
func TestRolesOfPeople(t *testing.T) {
	s := need(t)
	s.install(t)
	namespace := s.namespace(t)
	view, edit := []string{"toolgate-view"}, []string{"toolgate-view", "toolgate-edit"}
	admin := slices.Concat(edit, []string{"toolgate-admin"})
	clients := map[string]client.Client{
		"view": s.as(t, namespace, "viewer", view...), "edit": s.as(t, namespace, "editor", edit...), "admin": s.as(t, namespace, "admin", admin...),
		"truster": s.as(t, namespace, "truster", "toolgate-truster"), "approver": s.as(t, namespace, "approver", "toolgate-approver"),
	}
	for _, tc := range []struct {
		verb, resource, subresource string
		roles                       []string
	}{
		{"get", "mcpservers", "", []string{"view", "edit", "admin"}},
		{"watch", "rulesets", "", []string{"view", "edit", "admin"}},
		{"get", "mcptools", "status", []string{"view", "edit", "admin"}},
		{"create", "mcpservers", "", []string{"edit", "admin"}},
		{"delete", "mcpservers", "", []string{"edit", "admin"}},
		{"patch", "mcpservers", "scale", []string{"edit", "admin"}},
		{"patch", "mcptools", "", []string{"edit", "admin"}},
		{"delete", "mcptools", "", []string{"admin"}},
		{"create", "rulesets", "", []string{"admin"}},
		{"delete", "rulesets", "", []string{"admin"}},
		{"trust", "mcpservers", "", []string{"truster"}},
		{"approve", "mcptools", "", []string{"approver"}},
		{"update", "mcpservers", "status", nil},
		{"patch", "mcptools", "status", nil},
		{"update", "rulesets", "status", nil},
		{"approve", "mcpservers", "", nil},
		{"get", "secrets", "", nil},
	} {
		may := map[string]bool{}
		for _, role := range tc.roles {
			may[role] = true
		}
		group := "mcp.toolgate.dev"
		if tc.resource == "secrets" {
			group = ""
		}
		for role, c := range clients {
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Group: group, Resource: tc.resource, Subresource: tc.subresource, Verb: tc.verb,
			}}}
			if err := c.Create(context.Background(), review); err != nil {
				t.Fatal(err)
			}
			if review.Status.Allowed != may[role] {
				t.Errorf("%s may %s %s/%s: %v, want %v", role, tc.verb, tc.resource, tc.subresource, review.Status.Allowed, may[role])
			}
		}
	}
}

// TestDeclaringATool: a tool whose name is withheld until a person declares it is declared with the first field of its spec that a
// person owns, whatever that field says.
func TestDeclaringATool(t *testing.T) {
	s := need(t)
	s.install(t)
	namespace := s.namespace(t)
	ctx := context.Background()
	editor := s.as(t, namespace, "declarer", "toolgate-view", "toolgate-edit")
	approver := s.as(t, namespace, "approving", "toolgate-view", "toolgate-edit", "toolgate-approver")
	manager := s.user(t, managerUser, authenticated, serviceAccounts)
	odd := func() *unstructured.Unstructured {
		return parse(t, namespace, `{kind: MCPTool, metadata: {name: files.read-file-1214148e}, spec: {serverRef: {name: files}, toolName: read file}}`)
	}
	expect(t, "somebody declares an odd name", editor.Create(ctx, odd(), client.DryRunAll), declaring)
	expect(t, "an approver declares an odd name", approver.Create(ctx, odd(), client.DryRunAll), "")
	disabled := odd()
	set(specOfAny(disabled), "state", "Disabled")
	expect(t, "somebody declares an odd name and disables it", editor.Create(ctx, disabled, client.DryRunAll), "")
	plain := parse(t, namespace, `{kind: MCPTool, metadata: {name: files.read-file}, spec: {serverRef: {name: files}, toolName: read_file}}`)
	expect(t, "somebody declares a plain name", editor.Create(ctx, plain.DeepCopy(), client.DryRunAll), "")
	expect(t, "somebody declares a name with a capital that nobody has judged", editor.Create(ctx, camel(t, namespace), client.DryRunAll), declaring)

	if err := manager.Apply(ctx, client.ApplyConfigurationFromUnstructured(odd()), client.FieldOwner("toolgate")); err != nil {
		t.Fatal(err)
	}
	for what, tc := range map[string]struct{ patch, want string }{
		"state, as it is":         {`{"spec":{"state":"Enabled"}}`, declaring},
		"a timeout":               {`{"spec":{"timeoutSeconds":5}}`, declaring},
		"a label":                 {`{"metadata":{"labels":{"a":"b"}}}`, ""},
		"a timeout, and Disabled": {`{"spec":{"timeoutSeconds":5,"state":"Disabled"}}`, ""},
	} {
		expect(t, "somebody sets "+what, editor.Patch(ctx, odd(), merge(tc.patch), client.DryRunAll), tc.want)
		expect(t, "an approver sets "+what, approver.Patch(ctx, odd(), merge(tc.patch), client.DryRunAll), "")
	}
	if err := editor.Patch(ctx, odd(), merge(`{"spec":{"state":"Disabled"}}`)); err != nil {
		t.Fatal(err)
	}
	expect(t, "somebody enables a tool that is declared and disabled", editor.Patch(ctx, odd(), merge(`{"spec":{"state":"Enabled"}}`), client.DryRunAll), "spec.state")
	expect(t, "somebody takes the state away", editor.Patch(ctx, odd(), merge(`{"spec":{"state":null}}`), client.DryRunAll), "spec.state")
}

const declaring = "spec.toolName: this loosens"

// camel is a tool whose name is as MCP asks, and would be confused with one that is written in lower case.
func camel(t *testing.T, namespace string) *unstructured.Unstructured {
	t.Helper()
	return parse(t, namespace, `{kind: MCPTool, metadata: {name: files.readfile-11f9ed36}, spec: {serverRef: {name: files}, toolName: readFile}}`)
}

// TestTighteningANameWithACapital: what is served without a person's word is restricted without the verb, as every other tool is.
func TestTighteningANameWithACapital(t *testing.T) {
	s := need(t)
	s.install(t)
	namespace := s.namespace(t)
	ctx := context.Background()
	editor := s.as(t, namespace, "tightening", "toolgate-view", "toolgate-edit")
	manager := s.user(t, managerUser, authenticated, serviceAccounts)
	if err := manager.Apply(ctx, client.ApplyConfigurationFromUnstructured(camel(t, namespace)), client.FieldOwner("toolgate")); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ status, reason, want string }{
		{"", "", declaring}, // not judged yet
		{"True", "Registered", ""},
		{"False", "DefinitionChanged", ""},
		{"False", "DuplicateName", declaring},
		{"False", "Disabled", declaring},
	} {
		if tc.reason != "" {
			status := `{"status":{"conditions":[{"type":"Registered","status":"` + tc.status + `","reason":"` + tc.reason + `","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`
			if err := s.client.Status().Patch(ctx, camel(t, namespace), merge(status)); err != nil {
				t.Fatal(err)
			}
		}
		for _, patch := range []string{
			`{"spec":{"hints":{"destructive":"True"}}}`, `{"spec":{"ruleSets":["a"]}}`, `{"spec":{"limits":{"maxConcurrent":1}}}`,
			`{"spec":{"contract":{"inputSchema":{"type":"object"}}}}`, `{"spec":{"timeoutSeconds":5}}`,
		} {
			expect(t, "somebody sets "+patch+" while it is "+tc.reason, editor.Patch(ctx, camel(t, namespace), merge(patch), client.DryRunAll), tc.want)
		}
		expect(t, "somebody disables it while it is "+tc.reason, editor.Patch(ctx, camel(t, namespace), merge(`{"spec":{"state":"Disabled"}}`), client.DryRunAll), "")
	}
}

// TestLabelsOfATrustedServer: RuleSets select servers by label.
func TestLabelsOfATrustedServer(t *testing.T) {
	s := need(t)
	s.install(t)
	namespace := s.namespace(t)
	editor := s.as(t, namespace, "labelling", "toolgate-view", "toolgate-edit")
	for state, want := range map[string]string{"Trusted": "metadata.labels", "Untrusted": ""} {
		server := parse(t, namespace, `{kind: MCPServer, metadata: {generateName: a, labels: {tier: prod}}, spec: {container: {image: a, command: [b]}}}`)
		set(specOfAny(server), "trust.state", state)
		if err := s.client.Create(context.Background(), server); err != nil {
			t.Fatal(err)
		}
		for _, patch := range []string{`{"metadata":{"labels":{"tier":null}}}`, `{"metadata":{"labels":{"tier":"dev"}}}`} {
			expect(t, "relabelling while "+state, editor.Patch(context.Background(), server.DeepCopy(), merge(patch), client.DryRunAll), want)
		}
		expect(t, "annotating while "+state, editor.Patch(context.Background(), server.DeepCopy(), merge(`{"metadata":{"annotations":{"a":"b"}}}`), client.DryRunAll), "")
	}
}
