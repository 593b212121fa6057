// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"toolgate.dev/toolgate/api/v1alpha1"
)

// huge is longer than any bound, in characters of two bytes.
var huge = strings.Repeat("é", 40_000)

func hugeConditions() []metav1.Condition {
	return []metav1.Condition{{Type: "Ready", Status: "False", Reason: "NotMCP", Message: huge, LastTransitionTime: metav1.Now()}}
}

func hugeList() []string {
	list := make([]string, 1000)
	for i := range list {
		list[i] = huge
	}
	return list
}

// TestBoundedStatusIsAccepted gives each status what a hostile server would like to see there.
func TestBoundedStatusIsAccepted(t *testing.T) {
	s := need(t)
	ctx := context.Background()
	meta := metav1.ObjectMeta{Name: "files", Namespace: s.namespace(t)}

	server := &v1alpha1.MCPServer{ObjectMeta: meta, Spec: v1alpha1.MCPServerSpec{Container: &v1alpha1.Container{Image: "a", Command: []string{"b"}}}}
	serverStatus := v1alpha1.MCPServerStatus{
		Conditions: hugeConditions(), ProtocolVersion: huge, DispatcherVersion: huge, Capabilities: hugeList(),
		ServerInfo: &v1alpha1.ServerInfo{Name: huge, Version: huge},
		Health:     &v1alpha1.HealthStatus{State: v1alpha1.Unhealthy, Message: huge},
	}
	serverStatus.Bound()

	tool := &v1alpha1.MCPTool{ObjectMeta: meta, Spec: v1alpha1.MCPToolSpec{ServerRef: v1alpha1.ServerRef{Name: "files"}, ToolName: "echo"}}
	tool.Name = "files.echo"
	toolStatus := v1alpha1.MCPToolStatus{
		Conditions: hugeConditions(), Observed: &v1alpha1.ObservedTool{Title: huge, Description: huge},
		Admitted: &v1alpha1.ObservedTool{Title: huge, Description: huge},
		Change:   &v1alpha1.ToolChange{Kind: v1alpha1.ChangeBreaking, Text: huge},
	}
	toolStatus.Bound()

	set := &v1alpha1.RuleSet{ObjectMeta: meta, Spec: v1alpha1.RuleSetSpec{
		Type: v1alpha1.RuleSetSafety, Rules: []v1alpha1.Rule{{Name: "a", Action: v1alpha1.ActionWarn, When: "true"}},
	}}
	setStatus := v1alpha1.RuleSetStatus{Conditions: hugeConditions()}
	for range 1000 {
		setStatus.RuleErrors = append(setStatus.RuleErrors, v1alpha1.RuleError{Rule: huge, Field: huge, Line: -1, Column: -1, Message: "short enough"})
	}
	setStatus.RuleErrors[0].Message = huge
	setStatus.Bound()

	for _, object := range []client.Object{server, tool, set} {
		if err := s.client.Create(ctx, object); err != nil {
			t.Fatalf("creating %T: %v", object, err)
		}
		switch o := object.(type) {
		case *v1alpha1.MCPServer:
			o.Status = serverStatus
		case *v1alpha1.MCPTool:
			o.Status = toolStatus
		case *v1alpha1.RuleSet:
			o.Status = setStatus
		}
		if err := s.client.Status().Update(ctx, object); err != nil {
			t.Errorf("writing the status of %T: %v", object, err)
		}
	}
	if got := server.Status.ServerInfo.Name; !strings.HasSuffix(got, "é…") {
		t.Errorf("what is cut must say so, got an end of %q", got[len(got)-10:])
	}
}

// TestRoundTrip writes an object with every field through the Go types and reads the same back: the CRD prunes nothing that
// the types hold.
func TestRoundTrip(t *testing.T) {
	s := need(t)
	for _, file := range []string{"mcpserver/every-field-at-once", "mcptool/every-field-at-once", "ruleset/every-field-at-once"} {
		t.Run(file, func(t *testing.T) {
			tc := load(t, "testdata/"+file+".yaml")
			var object, got client.Object
			switch tc.Object["kind"] {
			case "MCPServer":
				object, got = &v1alpha1.MCPServer{}, &v1alpha1.MCPServer{}
			case "MCPTool":
				object, got = &v1alpha1.MCPTool{}, &v1alpha1.MCPTool{}
			case "RuleSet":
				object, got = &v1alpha1.RuleSet{}, &v1alpha1.RuleSet{}
			}
			if err := convert(tc.Object, object); err != nil {
				t.Fatal(err)
			}
			object.SetNamespace(s.namespace(t))
			want, err := specOf(object)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.client.Create(context.Background(), object); err != nil {
				t.Fatal(err)
			}
			if err := s.client.Get(context.Background(), client.ObjectKeyFromObject(object), got); err != nil {
				t.Fatal(err)
			}
			stored, err := specOf(got)
			if err != nil {
				t.Fatal(err)
			}
			written, err := yamlOf(tc.Object["spec"])
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, stored); diff != "" {
				t.Errorf("through the types (-written +stored):\n%s", diff)
			}
			if diff := cmp.Diff(written, stored); diff != "" {
				t.Errorf("the Go types lose a field (-file +stored):\n%s", diff)
			}
		})
	}
}
