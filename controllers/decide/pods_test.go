// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/internal/registry"
)

func TestWhatAContainerEndsOf(t *testing.T) {
	killed := &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}
	for name, tc := range map[string]struct {
		status     corev1.ContainerStatus
		wantReason string
		want       string
	}{
		"the server without memory": {corev1.ContainerStatus{Name: "server", State: corev1.ContainerState{Terminated: killed}},
			"ServerExited", "container server ran out of memory (OOMKilled); raise spec.container.resources.limits.memory"},
		"the dispatcher without memory": {corev1.ContainerStatus{Name: "dispatcher", State: corev1.ContainerState{Terminated: killed}},
			"ContainerFailed", "container dispatcher ran out of memory (OOMKilled); raise spec.dispatcher.resources.limits.memory"},
		"the server, again and again": {corev1.ContainerStatus{
			Name: "server", RestartCount: 4, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 2, Message: "no such file\n"}},
		}, "ServerExited", "container server exited with code 2, 4 times so far; its last lines: no such file"},
		"the dispatcher, again and again": {corev1.ContainerStatus{
			Name: "dispatcher", RestartCount: 4, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		}, "ContainerFailed", "container dispatcher keeps exiting, 4 times so far"},
	} {
		t.Run(name, func(t *testing.T) {
			in := decide.ServerInput{Server: server(), Now: now, Revision: "r1", Deployment: &appsv1.Deployment{}, Document: "d1"}
			in.Pods = []decide.Pod{pod("a", silent, notReady, func(p *decide.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{tc.status} })}
			c := meta.FindStatusCondition(decide.Server(in).Conditions, "Available")
			if want := "0 of 1 pods serve; pod a: " + tc.want; c.Reason != tc.wantReason || c.Message != want {
				t.Errorf("%s: %s\nwant %s: %s", c.Reason, c.Message, tc.wantReason, want)
			}
		})
	}
}

// TestTheLastLinesOfAContainer: what kubelets keep, up to 4 KiB, is as the server printed it.
func TestTheLastLinesOfAContainer(t *testing.T) {
	for name, tc := range map[string]struct{ message, want string }{
		"nothing":              {"", ""},
		"blank lines":          {" \n\n", ""},
		"one line":             {"Error: DATABASE_URL not set\n", "; its last lines: Error: DATABASE_URL not set"},
		"more than fit":        {"a\nb\n\nc\r\nd\ne\nf\n", "; its last lines: b | c | d | e | f"},
		"an error of Node":     {"/app/index.js:3\n  throw new Error('x')\n  ^\n\nError: x\n    at a (/app/index.js:3:9)\n    at b (node:c)\n    at d (node:e)\n    at f (node:g)\n\nNode.js v24.1.0\n", "; its last lines: /app/index.js:3 |   throw new Error('x') |   ^ | Error: x | Node.js v24.1.0"},
		"nothing but frames":   {"    at a\n    at b\n", "; its last lines:     at a |     at b"},
		"colours and controls": {"\x1b[31mError\x1b[0m: \x07x\u202e\x00y\tz\xff\n", "; its last lines: Error: xy\tz\ufffd"},
	} {
		t.Run(name, func(t *testing.T) {
			in := decide.ServerInput{Server: server(), Now: now, Revision: "r1", Deployment: &appsv1.Deployment{}, Document: "d1"}
			in.Pods = []decide.Pod{pod("a", silent, notReady, func(p *decide.Pod) {
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "server", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: tc.message}}}}
			})}
			c := meta.FindStatusCondition(decide.Server(in).Conditions, "Available")
			if want := "0 of 1 pods serve; pod a: container server exited with code 1" + tc.want; c.Message != want {
				t.Errorf("message %q\nwant %q", c.Message, want)
			}
		})
	}
}

// TestLinesAreToldOnce: where kubelet and dispatcher both know the last lines of a server, the kubelet's are told.
func TestLinesAreToldOnce(t *testing.T) {
	in := decide.ServerInput{Server: server(), Now: now, Revision: "r1", Deployment: &appsv1.Deployment{}, Document: "d1"}
	in.Pods = []decide.Pod{pod("a", notReady, func(p *decide.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "server", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: "[1] no database"}}}}
		p.Seen.State.Catalogue = nil
		p.Seen.State.Upstream = registry.UpstreamState{Phase: registry.UpstreamFailed, Reason: registry.FailExited, Message: "the server exited with code 1", Stderr: []string{"no database"}}
	})}
	for _, condition := range []string{"Available", "Discovered"} {
		if c := meta.FindStatusCondition(decide.Server(in).Conditions, condition); strings.Count(c.Message, "no database") != 1 {
			t.Errorf("%s: %s", condition, c.Message)
		}
	}
}
