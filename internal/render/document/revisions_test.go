// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package document_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/document"
	"toolgate.dev/toolgate/internal/render/rendertest"
)

// judged is a tool that the revision listed last with a definition.
func judged(name, revision, digest, reason string, pins ...mcpv1alpha1.RevisionPin) mcpv1alpha1.MCPTool {
	return mcpv1alpha1.MCPTool{
		ObjectMeta: metav1.ObjectMeta{Name: name, ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: render.FieldOwner, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:toolName":{}}}`)},
		}},
		Spec: mcpv1alpha1.MCPToolSpec{ToolName: name},
		Status: mcpv1alpha1.MCPToolStatus{
			ObservedGeneration: 1, Pins: pins, Observed: &mcpv1alpha1.ObservedTool{Digest: digest, Revision: revision},
			Conditions: []metav1.Condition{{Type: "Registered", Status: "False", Reason: reason, Message: "as it is"}},
		},
	}
}

func pin(revision, digest string) mcpv1alpha1.RevisionPin {
	return mcpv1alpha1.RevisionPin{Revision: revision, Digest: digest}
}

// withheld is why a document withholds each tool of the two revisions.
func withheld(t *testing.T, s *mcpv1alpha1.MCPServer, tools ...mcpv1alpha1.MCPTool) map[string]string {
	t.Helper()
	doc := rendertest.Must(document.Render(document.Input{Server: s, Tools: tools, Revisions: []string{"r1", "r2"}}))
	got := map[string]string{}
	for _, r := range []string{"r1", "r2"} {
		for _, tool := range doc.Revisions[r].Tools {
			got[r+" "+tool.Name] = tool.Withheld
		}
	}
	return got
}

// Old pods of a rollout serve under their old pins, whatever the new revision lists.
func TestWhatIsWrongWithADefinitionIsSaidOfTheRevisionThatListsIt(t *testing.T) {
	for name, tc := range map[string]struct {
		tool    mcpv1alpha1.MCPTool
		pinning mcpv1alpha1.Pinning
		r1, r2  string
	}{
		"a schema that can't be used": {judged("a", "r2", "bad", "InvalidSchema", pin("r1", "good"), pin("r2", "bad")), "", "", "InvalidSchema"},
		"no schema":                   {judged("a", "r2", "bad", "NoInputSchema", pin("r1", "good"), pin("r2", "bad")), "", "", "NoInputSchema"},
		"a name twice":                {judged("a", "r2", "good", "DuplicateName", pin("r1", "good")), "", "", "DuplicateName"},
		"a definition that both list": {judged("a", "r2", "bad", "InvalidSchema", pin("r1", "bad"), pin("r2", "bad")), "", "InvalidSchema", "InvalidSchema"},
		"the old one lists it":        {judged("a", "r1", "bad", "InvalidSchema", pin("r1", "good"), pin("r2", "better")), "", "InvalidSchema", ""},
		"nothing is pinned":           {judged("a", "r2", "bad", "InvalidSchema"), mcpv1alpha1.PinningOff, "", "InvalidSchema"},
		"nobody noted which":          {judged("a", "", "bad", "InvalidSchema", pin("r1", "good"), pin("r2", "bad")), "", "InvalidSchema", "InvalidSchema"},
	} {
		t.Run(name, func(t *testing.T) {
			s := rendertest.Stdio()
			s.Spec.Discovery.Pinning = tc.pinning
			if diff := cmp.Diff(map[string]string{"r1 a": tc.r1, "r2 a": tc.r2}, withheld(t, s, tc.tool)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// Names are confused that clients can meet beside each other.
func TestNamesAreConfusedWithinARevision(t *testing.T) {
	people := func(tool mcpv1alpha1.MCPTool) mcpv1alpha1.MCPTool {
		tool.ManagedFields[0].Manager = "kubectl"
		return tool
	}
	unseen := judged("X", "", "", "NotListed", pin("r2", "2"))
	unseen.Status.Observed = nil
	ahead := judged("X", "", "", "NotListed")
	ahead.Status.Observed = nil
	for name, tc := range map[string]struct {
		tools   []mcpv1alpha1.MCPTool
		pinning mcpv1alpha1.Pinning
		want    map[string]string
	}{
		"a tool gets another spelling with a revision": {[]mcpv1alpha1.MCPTool{judged("x", "r1", "1", "Gone", pin("r1", "1")), judged("X", "r2", "2", "Registered", pin("r2", "2"))}, "",
			map[string]string{"r1 x": "", "r1 X": "DefinitionChanged", "r2 x": "DefinitionChanged", "r2 X": ""}},
		"with one that does not serve yet": {[]mcpv1alpha1.MCPTool{judged("x", "r1", "1", "Registered", pin("r1", "1")), unseen}, "",
			map[string]string{"r1 x": "", "r1 X": "DefinitionChanged", "r2 x": "DefinitionChanged", "r2 X": ""}},
		"and a person declares the new one": {[]mcpv1alpha1.MCPTool{judged("x", "r1", "1", "Gone", pin("r1", "1")), people(judged("X", "r2", "2", "Registered", pin("r2", "2")))}, "",
			map[string]string{"r1 x": "", "r1 X": "DefinitionChanged", "r2 x": "DefinitionChanged", "r2 X": ""}},
		"both are listed by one": {[]mcpv1alpha1.MCPTool{judged("x", "r2", "1", "Registered", pin("r1", "1")), judged("X", "r2", "2", "Registered", pin("r2", "2"))}, "",
			map[string]string{"r1 x": "", "r1 X": "DefinitionChanged", "r2 x": "DuplicateName", "r2 X": "DuplicateName"}},
		"what people decided of one that is gone is not escaped": {[]mcpv1alpha1.MCPTool{people(judged("x", "r1", "1", "Gone", pin("r1", "1"))), judged("X", "r2", "2", "Registered", pin("r2", "2"))}, "",
			map[string]string{"r1 x": "", "r1 X": "DefinitionChanged", "r2 x": "DefinitionChanged", "r2 X": "DuplicateName"}},
		"nor of one that was never listed": {[]mcpv1alpha1.MCPTool{judged("x", "r1", "1", "Registered", pin("r1", "1")), people(ahead)}, "",
			map[string]string{"r1 x": "DuplicateName", "r1 X": "DefinitionChanged", "r2 x": "DefinitionChanged", "r2 X": "DefinitionChanged"}},
		"nothing is pinned": {[]mcpv1alpha1.MCPTool{judged("x", "r1", "1", "Gone"), judged("X", "r2", "2", "Registered")}, mcpv1alpha1.PinningOff,
			map[string]string{"r1 x": "DuplicateName", "r1 X": "DuplicateName", "r2 x": "DuplicateName", "r2 X": "DuplicateName"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := rendertest.Stdio()
			s.Spec.Discovery.Pinning = tc.pinning
			if diff := cmp.Diff(tc.want, withheld(t, s, tc.tools...)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
