// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/waves"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/render"
)

// says gives the Deployment a condition.
func says(kind appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason, message string) func(*decide.ServerInput) {
	return func(in *decide.ServerInput) {
		in.Deployment.Status.Conditions = append(in.Deployment.Status.Conditions, appsv1.DeploymentCondition{Type: kind, Status: status, Reason: reason, Message: message})
	}
}

// newest adds a pod of the newest template, which does not serve.
func newest(edits ...func(*decide.Pod)) func(*decide.ServerInput) {
	return func(in *decide.ServerInput) {
		in.Pods = append(in.Pods, pod("b", append([]func(*decide.Pod){silent, notReady}, edits...)...))
	}
}

func container(state corev1.ContainerState) func(*decide.Pod) {
	return func(p *decide.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "server", Image: "x", State: state}}
	}
}

func waitsFor(reason string) func(*decide.Pod) {
	return container(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}})
}

// fails has the server of a pod fail, once or for as many times that it counts as unhealthy.
func fails(health string) func(*decide.Pod) {
	return func(p *decide.Pod) {
		p.Seen.State = &registry.State{
			Upstream: registry.UpstreamState{Phase: registry.UpstreamFailed, Reason: registry.FailExited, Message: "exit status 1"},
			Health:   registry.HealthState{State: health},
		}
	}
}

// needs has a pod wait since a while ago for its volumes, one of which is of a Secret.
func needs(secret string, ago time.Duration) func(*decide.Pod) {
	return func(p *decide.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(now.Add(-ago))})
		p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}}}}
	}
}

const (
	secretNeeded = "; its volumes need Secret absent to exist"
	waitsLong    = "pod b has waited for its volumes or network for more than 2m0s" + secretNeeded + "; kubectl describe pod b shows what the kubelet says"
)

func unschedulable(p *decide.Pod) {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes"})
}

// TestARolloutBesidePodsThatServe has all pods that are asked for serve, of an older template of the same revision, and one of the
// newest come.
func TestARolloutBesidePodsThatServe(t *testing.T) {
	tooLate := says(appsv1.DeploymentProgressing, corev1.ConditionFalse, "ProgressDeadlineExceeded", "too long")
	paused := func(in *decide.ServerInput) { in.Deployment.Spec.Paused = true }
	upgrade := func(in *decide.ServerInput) {
		in.Deployment.Annotations = map[string]string{render.AnnotationUpgrade: "Watched"}
	}
	const resume = "Deployment files is paused, so that its pods stay as they were before the last change; to let it go on: kubectl rollout resume deployment/files"
	type edits []func(*decide.ServerInput)
	for name, tc := range map[string]struct {
		edits   edits
		want    string
		message string
		others  map[string]string
	}{
		"it is on its way":                    {edits{newest()}, "True/Available", "1 of 1 pods serve", map[string]string{"Ready": "True/Ready"}},
		"its container is made":               {edits{newest(waitsFor("ContainerCreating"))}, "True/Available", "1 of 1 pods serve", nil},
		"its server is not up yet":            {edits{newest(fails("Unknown"))}, "True/Available", "1 of 1 pods serve", nil},
		"its server has ended once":           {edits{newest(container(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}))}, "True/Available", "1 of 1 pods serve", nil},
		"its pod is on its way out":           {edits{newest(unschedulable, func(p *decide.Pod) { p.DeletionTimestamp = &metav1.Time{Time: now} })}, "True/Available", "1 of 1 pods serve", nil},
		"no node takes it":                    {edits{newest(unschedulable)}, "False/Unschedulable", "1 of 1 pods serve; pod b: 0/3 nodes", map[string]string{"Ready": "False/Unschedulable"}},
		"its image can't be had":              {edits{newest(waitsFor("ImagePullBackOff"))}, "False/ImagePullFailed", "1 of 1 pods serve; pod b: image x of container server: ImagePullBackOff", nil},
		"its server ends again and again":     {edits{newest(waitsFor("CrashLoopBackOff"))}, "False/ServerExited", "1 of 1 pods serve; pod b: container server keeps exiting, 0 times so far", nil},
		"its server has failed often enough":  {edits{newest(fails("Unhealthy"))}, "False/ServerExited", "1 of 1 pods serve; pod b: exit status 1", nil},
		"it has taken too long":               {edits{newest(), tooLate}, "False/ProgressDeadlineExceeded", "1 of 1 pods serve; too long", map[string]string{"Ready": "False/ProgressDeadlineExceeded"}},
		"it has taken too long, and says why": {edits{newest(fails("Unknown")), tooLate}, "False/ServerExited", "1 of 1 pods serve; pod b: exit status 1", nil},
		"it waits for its volumes":            {edits{newest(needs("absent", decide.SetUpGrace-time.Second))}, "True/Available", "1 of 1 pods serve", nil},
		"it has waited for its volumes for long": {edits{newest(needs("absent", decide.SetUpGrace))},
			"False/PodNotSetUp", "1 of 1 pods serve; " + waitsLong, map[string]string{"Accepted": "True/Accepted", "Ready": "False/PodNotSetUp"}},
		"it has waited for its volumes until the deadline": {edits{newest(needs("absent", time.Hour)), tooLate},
			"False/PodNotSetUp", "1 of 1 pods serve; " + waitsLong, nil},
		"another revision has waited for its volumes for long": {edits{newest(of("r2"), needs("absent", decide.SetUpGrace)), func(in *decide.ServerInput) { in.Revision = "r2" }},
			"False/PodNotSetUp", "1 of 1 pods serve; " + waitsLong, map[string]string{"Discovered": "False/PodNotSetUp"}},
		"a pod waits for its volumes and another for a node": {edits{newest(needs("absent", decide.SetUpGrace)), newest(unschedulable)},
			"False/Unschedulable", "1 of 1 pods serve; pod b: 0/3 nodes", nil},
		"a release's waits for its volumes": {edits{newest(needs("absent", decide.SetUpGrace)), func(in *decide.ServerInput) { in.Upgrade = waves.Upgrading }},
			"True/Available", "1 of 1 pods serve", map[string]string{"Upgraded": "False/Progressing"}},
		"a release's waits for its volumes until the deadline": {edits{newest(needs("absent", time.Hour)), tooLate, func(in *decide.ServerInput) { in.Upgrade = waves.Upgrading }},
			"True/Available", "1 of 1 pods serve", map[string]string{"Upgraded": "False/UpgradeFailed"}},
		"its pods are refused": {edits{says(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "FailedCreate", "exceeded quota")},
			"False/PodsRefused", "1 of 1 pods serve; exceeded quota", nil},
		"it has ended, whatever was wrong": {edits{newest(unschedulable), tooLate, func(in *decide.ServerInput) {
			in.Deployment.Status.UpdatedReplicas, in.Deployment.Status.Replicas = 1, 1
		}}, "True/Available", "1 of 1 pods serve", nil},
		"it is a release's, which Upgraded tells of": {edits{newest(unschedulable), func(in *decide.ServerInput) { in.Upgrade = waves.Upgrading }},
			"True/Available", "1 of 1 pods serve", map[string]string{"Upgraded": "False/UpgradeFailed", "Ready": "True/Ready"}},
		"it is paused": {edits{paused}, "False/DeploymentPaused", "1 of 1 pods serve; " + resume, map[string]string{"Upgraded": "True/UpToDate", "Ready": "False/DeploymentPaused"}},
		"it is paused, and pods of before fail": {edits{paused, newest(unschedulable), func(in *decide.ServerInput) { in.Pods = in.Pods[1:] }},
			"False/DeploymentPaused", "0 of 1 pods serve; " + resume, nil},
		"another revision is paused": {edits{paused, func(in *decide.ServerInput) { in.Revision = "r2" }},
			"False/DeploymentPaused", "1 of 1 pods serve; " + resume, map[string]string{"Discovered": "False/DeploymentPaused"}},
		"a release's is paused": {edits{paused, upgrade},
			"True/Available", "1 of 1 pods serve", map[string]string{"Upgraded": "False/DeploymentPaused", "Ready": "True/Ready"}},
		"it is paused when it is at its end": {edits{paused, func(in *decide.ServerInput) { in.Deployment.Status.UpdatedReplicas = 1 }},
			"True/Available", "1 of 1 pods serve", nil},
	} {
		t.Run(name, func(t *testing.T) {
			in := decide.ServerInput{
				Server: server(), Now: now, Revision: "r1", Pods: []decide.Pod{pod("a")}, Document: "d1", Tools: registered(), Upgrade: waves.Settled,
				Deployment: &appsv1.Deployment{Status: appsv1.DeploymentStatus{Replicas: 1, AvailableReplicas: 1}},
			}
			in.Deployment.Name = "files"
			for _, edit := range tc.edits {
				edit(&in)
			}
			status := decide.Server(in)
			got := conditions(status.Conditions)
			if message := meta.FindStatusCondition(status.Conditions, "Available").Message; got["Available"] != tc.want || message != tc.message {
				t.Errorf("Available is %s: %q\nwant %s: %q", got["Available"], message, tc.want, tc.message)
			}
			for kind, want := range tc.others {
				if got[kind] != want {
					t.Errorf("%s is %s, want %s", kind, got[kind], want)
				}
			}
		})
	}
}

// TestAServerThatStartsNamesWhatItsVolumesNeed: before that is too long, after it, and after the deadline of its rollout.
func TestAServerThatStartsNamesWhatItsVolumesNeed(t *testing.T) {
	for name, tc := range map[string]struct {
		ago     time.Duration
		tooLate bool
		want    string
		message string
		next    time.Time
	}{
		"it begins": {ago: time.Second, want: "False/Progressing", message: "0 of 1 pods serve; pod b waits for its volumes or network" + secretNeeded,
			next: now.Add(decide.SetUpGrace - time.Second)},
		"it takes long":     {ago: decide.SetUpGrace, want: "False/PodNotSetUp", message: "0 of 1 pods serve; " + waitsLong},
		"it takes too long": {ago: time.Hour, tooLate: true, want: "False/PodNotSetUp", message: "0 of 1 pods serve; " + waitsLong},
	} {
		t.Run(name, func(t *testing.T) {
			in := decide.ServerInput{Server: server(), Now: now, Revision: "r1", Deployment: &appsv1.Deployment{}, Document: "d1", Upgrade: waves.Settled}
			newest(needs("absent", tc.ago))(&in)
			if tc.tooLate {
				says(appsv1.DeploymentProgressing, corev1.ConditionFalse, "ProgressDeadlineExceeded", "too long")(&in)
			}
			status := decide.Server(in)
			c := meta.FindStatusCondition(status.Conditions, "Available")
			if got := string(c.Status) + "/" + c.Reason; got != tc.want || c.Message != tc.message {
				t.Errorf("Available is %s: %q\nwant %s: %q", got, c.Message, tc.want, tc.message)
			}
			if next := in.NextLook(status.Conditions); !next.Equal(tc.next) {
				t.Errorf("the next look is at %v, want %v", next, tc.next)
			}
		})
	}
}
