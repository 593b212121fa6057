// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
)

func TestToolsThatAreBlockedAreCountedOverTheCatalogue(t *testing.T) {
	object := func(name, callable string) mcpv1alpha1.MCPTool {
		return mcpv1alpha1.MCPTool{Spec: mcpv1alpha1.MCPToolSpec{ToolName: name},
			Status: mcpv1alpha1.MCPToolStatus{Conditions: is("Registered=True/Registered", "Callable="+callable)}}
	}
	gone := func(name, reason string) mcpv1alpha1.MCPTool {
		o := object(name, "False/"+reason)
		o.Status.Conditions[0] = is("Registered=False/" + reason)[0]
		return o
	}
	for name, tc := range map[string]struct {
		tools   []mcpv1alpha1.MCPTool
		leftOut []string
		edit    func(*decide.ServerInput)
		want    int32
	}{
		"callable":                          {[]mcpv1alpha1.MCPTool{object("a", "True/Callable")}, nil, nil, 0},
		"blocked":                           {[]mcpv1alpha1.MCPTool{object("a", "False/Untrusted")}, nil, nil, 1},
		"it can have no object":             {nil, []string{"a"}, nil, 1},
		"its object is on its way":          {nil, nil, nil, 0},
		"its object came after all":         {[]mcpv1alpha1.MCPTool{object("a", "True/Callable")}, []string{"a"}, nil, 0},
		"declared, disabled and not listed": {[]mcpv1alpha1.MCPTool{object("a", "True/Callable"), object("z", "False/Disabled")}, nil, nil, 0},
		"two objects claim one tool":        {[]mcpv1alpha1.MCPTool{object("a", "False/DuplicateName"), object("a", "False/DuplicateName")}, nil, nil, 1},
		"no pod is there: what was listed":  {[]mcpv1alpha1.MCPTool{object("a", "False/ServerNotReady"), gone("b", "Gone"), gone("z", "NotListed")}, nil, func(in *decide.ServerInput) { in.Pods = nil }, 1},
		"a manager has just started":        {nil, nil, func(in *decide.ServerInput) { in.Pods = []decide.Pod{pod("a", silent)} }, 7},
		"a pod that serves has never answered": {nil, []string{"a"}, func(in *decide.ServerInput) {
			in.Pods = []decide.Pod{pod("a", silent)}
			in.Pods[0].Seen.Err, in.Pods[0].Seen.FailingSince = "no answer in time", now.Add(-decide.Unreachable)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			in := decide.ServerInput{Server: server(), Now: now, Revision: "r1", Deployment: &appsv1.Deployment{}, Pods: []decide.Pod{pod("a")}, Document: "d1",
				Tools: tc.tools, LeftOut: map[string]decide.Refusal{}}
			in.Server.Status.BlockedToolsCount = new(int32(7))
			for _, name := range tc.leftOut {
				in.LeftOut[name] = decide.Refusal{Reason: "ApplyFailed", Message: "quota"}
			}
			if tc.edit != nil {
				tc.edit(&in)
			}
			if got := *decide.Server(in).BlockedToolsCount; got != tc.want {
				t.Errorf("%d are blocked, want %d", got, tc.want)
			}
		})
	}
}
