// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package applied_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/applied"
	"toolgate.dev/toolgate/internal/render"
)

// wrote is what the API server notes of a write of a status.
func wrote(manager string, second int64, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status",
		Time: &metav1.Time{Time: time.Unix(second, 0)}, FieldsV1: metav1.NewFieldsV1(fields),
	}
}

func TestMeddled(t *testing.T) {
	const all, part = `{"f:status":{"f:conditions":{},"f:url":{}}}`, `{"f:status":{"f:url":{}}}`
	spec := metav1.ManagedFieldsEntry{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}
	scaled := metav1.ManagedFieldsEntry{Manager: "hpa", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "scale", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}
	mine := wrote(render.FieldOwner, 1, all)
	for name, tc := range map[string]struct {
		before, after []metav1.ManagedFieldsEntry
		want          bool
	}{
		"nothing":                              {[]metav1.ManagedFieldsEntry{mine}, []metav1.ManagedFieldsEntry{mine}, false},
		"our first write":                      {nil, []metav1.ManagedFieldsEntry{mine}, false},
		"our next write":                       {[]metav1.ManagedFieldsEntry{mine}, []metav1.ManagedFieldsEntry{wrote(render.FieldOwner, 2, part)}, false},
		"a spec":                               {[]metav1.ManagedFieldsEntry{mine}, []metav1.ManagedFieldsEntry{mine, spec}, false},
		"a number of pods":                     {[]metav1.ManagedFieldsEntry{mine}, []metav1.ManagedFieldsEntry{mine, scaled}, false},
		"somebody sets what we never did":      {[]metav1.ManagedFieldsEntry{mine}, []metav1.ManagedFieldsEntry{mine, wrote("kubectl", 2, `{"f:status":{"f:x":{}}}`)}, true},
		"somebody takes a field over":          {[]metav1.ManagedFieldsEntry{mine}, []metav1.ManagedFieldsEntry{wrote(render.FieldOwner, 1, part), wrote("kubectl", 2, all)}, true},
		"somebody takes a field away":          {[]metav1.ManagedFieldsEntry{mine}, []metav1.ManagedFieldsEntry{wrote(render.FieldOwner, 1, part)}, true},
		"somebody takes all away":              {[]metav1.ManagedFieldsEntry{mine}, nil, true},
		"somebody writes again":                {[]metav1.ManagedFieldsEntry{mine, wrote("kubectl", 2, part)}, []metav1.ManagedFieldsEntry{mine, wrote("kubectl", 3, part)}, true},
		"we put right what somebody had set":   {[]metav1.ManagedFieldsEntry{wrote(render.FieldOwner, 1, part), wrote("kubectl", 2, all)}, []metav1.ManagedFieldsEntry{wrote(render.FieldOwner, 3, all)}, false},
		"an earlier release wrote, and we now": {[]metav1.ManagedFieldsEntry{wrote("manager", 1, all)}, []metav1.ManagedFieldsEntry{wrote("manager", 1, part), mine}, false},
		"somebody wrote, and then we":          {[]metav1.ManagedFieldsEntry{mine}, []metav1.ManagedFieldsEntry{wrote("kubectl", 2, part), wrote(render.FieldOwner, 3, all)}, true},
		"somebody writes where we never did":   {nil, []metav1.ManagedFieldsEntry{wrote("kubectl", 2, part)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := &mcpv1alpha1.MCPServer{}, &mcpv1alpha1.MCPServer{}
			before.ManagedFields, after.ManagedFields = applied.StatusMarks(tc.before), applied.StatusMarks(tc.after)
			if got := applied.Meddled(before, after); got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
			if diff := cmp.Diff(after.ManagedFields, applied.StatusMarks(after.ManagedFields)); diff != "" {
				t.Errorf("marked again (-once +twice)\n%s", diff)
			}
		})
	}
}
