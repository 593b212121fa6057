// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/waves"
	"toolgate.dev/toolgate/internal/render"
)

// runs gives a pod of another revision containers: those before and those beside its server.
func runs(first, beside []string) func(*decide.ServerInput) {
	statuses := func(names []string) (out []corev1.ContainerStatus) {
		for _, name := range names {
			out = append(out, corev1.ContainerStatus{Name: name})
		}
		return out
	}
	return func(in *decide.ServerInput) {
		in.Pods = append(in.Pods, pod("z", of("r0"), func(p *decide.Pod) {
			p.Status.InitContainerStatuses, p.Status.ContainerStatuses = statuses(first), statuses(beside)
		}))
	}
}

// TestProtectedGoesByAllThatRuns: pods of before stay for as long as new ones can't come, whatever the spec says.
func TestProtectedGoesByAllThatRuns(t *testing.T) {
	var (
		socket  = runs([]string{render.ContainerInstall, render.ContainerDispatcher}, []string{render.ContainerServer})
		port    = runs([]string{render.ContainerDispatcher}, []string{render.ContainerServer})
		away    = runs(nil, []string{render.ContainerDispatcher})
		nothing = runs(nil, nil)
	)
	http := func(in *decide.ServerInput) { in.Server.Spec.Transport.Type = mcpv1alpha1.TransportStreamableHTTP }
	remote := func(in *decide.ServerInput) {
		in.Server.Spec.Container = nil
		in.Server.Spec.Remote = &mcpv1alpha1.Remote{URL: "https://a.example/mcp", HeadersFrom: []mcpv1alpha1.HeaderFrom{{Name: "X-Key"}}}
	}
	refused := func(in *decide.ServerInput) { in.Guard.Refused = decide.Refusal{Reason: "NameConflict", Message: "x"} }
	unanswered := func(in *decide.ServerInput) { in.Guard.Unanswered = true }
	was := func(all string) func(*decide.ServerInput) {
		return func(in *decide.ServerInput) { in.Server.Status.Conditions = is("Protected=" + all) }
	}
	type edits []func(*decide.ServerInput)
	for name, tc := range map[string]struct {
		edits edits
		want  string
		// says is part of the message.
		says string
	}{
		"pipes after pipes":                                {edits{socket, refused}, "True/Socket", "on pipes"},
		"pipes after a pod that has not begun":             {edits{nothing, refused}, "True/Socket", "on pipes"},
		"pipes after a port without its NetworkPolicy":     {edits{port, refused}, "Unknown/NameConflict", "pods of another revision have a port: the NetworkPolicy"},
		"pipes after a port that is shut":                  {edits{port}, "True/Guarded", "pods of another revision have a port: "},
		"pipes after a port, and no answer":                {edits{port, unanswered, was("Unknown/NameConflict: x")}, "Unknown/NameConflict", "x"},
		"pipes after a port that was taken for pipes":      {edits{port, unanswered, was("True/Socket: x")}, "Unknown/Pending", "has not been written yet"},
		"pipes after a remote server that all can reach":   {edits{away, was("False/Unguarded: x")}, "False/Unguarded", "x"},
		"pipes after a remote server, whose word is lost":  {edits{away}, "True/Socket", "on pipes"},
		"a port after a port":                              {edits{http, port}, "True/Guarded", "the server's port"},
		"a port after pipes":                               {edits{http, socket, refused}, "Unknown/NameConflict", "the NetworkPolicy"},
		"a remote server after a port that is shut":        {edits{remote, port}, "True/Guarded", "pods of another revision"},
		"a remote server after a port that nobody shuts":   {edits{remote, port, refused}, "Unknown/NameConflict", "pods of another revision"},
		"a remote server after one that all could reach":   {edits{remote, away, was("False/Unguarded: x")}, "False/Unguarded", "x"},
		"a remote server that all can reach, after pipes":  {edits{remote, socket, func(in *decide.ServerInput) { in.Server.Spec.Remote.HeadersFrom = nil }}, "False/Unguarded", ""},
		"a remote server alone, whatever the policy is of": {edits{remote, refused}, "True/Guarded", "that the server refuses others can't be seen"},
	} {
		t.Run(name, func(t *testing.T) {
			in := decide.ServerInput{
				Server: server(), Now: now, Revision: "r1", Deployment: &appsv1.Deployment{}, Pods: []decide.Pod{pod("a")}, Upgrade: waves.Settled,
			}
			for _, edit := range tc.edits {
				edit(&in)
			}
			c := meta.FindStatusCondition(decide.Server(in).Conditions, "Protected")
			if got := conditions([]metav1.Condition{*c})["Protected"]; got != tc.want || !strings.Contains(c.Message, tc.says) {
				t.Errorf("Protected is %s: %s\nwant %s: %s", got, c.Message, tc.want, tc.says)
			}
		})
	}
}
