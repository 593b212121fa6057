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
	"toolgate.dev/toolgate/internal/render"
)

// evicted is a pod of a revision that was made an hour before it was evicted, so long ago.
func evicted(name, revision string, ago time.Duration) *corev1.Pod {
	at := now.Add(-ago)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{render.LabelRevision: revision}, CreationTimestamp: metav1.NewTime(at.Add(-time.Hour))},
		Status: corev1.PodStatus{
			Phase: corev1.PodFailed, Reason: "Evicted", Message: `Usage of EmptyDir volume "tmp" exceeds the limit "1Gi".`,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(at)}},
		},
	}
}

func made(ago time.Duration) func(*decide.Pod) {
	return func(p *decide.Pod) { p.CreationTimestamp = metav1.NewTime(now.Add(-ago)) }
}

// stoppedServing has a pod stop being ready so long after it was initialized; never having been ready is to have stopped at once.
func stoppedServing(after time.Duration) func(*decide.Pod) {
	return func(p *decide.Pod) {
		for i := range p.Status.Conditions {
			if c := &p.Status.Conditions[i]; c.Type == corev1.PodReady {
				c.LastTransitionTime = metav1.NewTime(p.CreationTimestamp.Add(after))
			}
		}
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, LastTransitionTime: p.CreationTimestamp})
	}
}

func TestWhyAPodFailedIsToldWherePodsAreMissing(t *testing.T) {
	const why = `pod x failed: Evicted: Usage of EmptyDir volume "tmp" exceeds the limit "1Gi".`
	last := evicted("x", "r1", time.Minute)
	rejected := evicted("x", "r1", time.Minute)
	rejected.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "OutOfcpu"}
	comes := pod("b", silent, notReady, made(time.Minute))
	type pods []decide.Pod
	for name, tc := range map[string]struct {
		pods    pods
		failed  []*corev1.Pod
		edit    func(*decide.ServerInput)
		want    string
		message string
	}{
		"nothing failed":                   {pods: pods{comes}, want: "False/Progressing", message: "0 of 2 pods serve; waiting for pods"},
		"the next one comes up":            {pods: pods{comes}, failed: []*corev1.Pod{last}, want: "False/PodFailed", message: "0 of 2 pods serve; " + why},
		"the next one comes up long after": {pods: pods{comes}, failed: []*corev1.Pod{evicted("x", "r1", time.Hour)}, want: "False/Progressing", message: "0 of 2 pods serve; waiting for pods"},
		"there is no next one":             {failed: []*corev1.Pod{last}, want: "False/PodFailed", message: "0 of 2 pods serve; " + why},
		"the last of several":              {failed: []*corev1.Pod{evicted("w", "r1", time.Hour), last, evicted("y", "r1", 2*time.Hour)}, want: "False/PodFailed", message: "0 of 2 pods serve; " + why},
		"the kubelet did not take it":      {failed: []*corev1.Pod{rejected}, want: "False/PodFailed", message: "0 of 2 pods serve; pod x failed: OutOfcpu"},
		"another serves since before":      {pods: pods{pod("a", made(time.Hour)), comes}, failed: []*corev1.Pod{last}, want: "False/PodFailed", message: "1 of 2 pods serve; " + why},
		"the next one has served":          {pods: pods{pod("b", silent, notReady, made(time.Minute), stoppedServing(time.Second))}, failed: []*corev1.Pod{last}, want: "False/Progressing", message: "0 of 2 pods serve; waiting for pods"},
		"the next one is initialized":      {pods: pods{pod("b", silent, notReady, made(time.Minute), stoppedServing(0))}, failed: []*corev1.Pod{last}, want: "False/PodFailed", message: "0 of 2 pods serve; " + why},
		"one before it has served":         {pods: pods{pod("b", silent, notReady, made(time.Hour), stoppedServing(time.Second))}, failed: []*corev1.Pod{last}, want: "False/PodFailed", message: "0 of 2 pods serve; " + why},
		"one of another revision":          {pods: pods{comes}, failed: []*corev1.Pod{evicted("x", "r0", time.Minute)}, want: "False/Progressing", message: "0 of 2 pods serve; waiting for pods"},
		"its place was taken long since":   {pods: pods{pod("a", made(time.Minute)), comes}, failed: []*corev1.Pod{last}, want: "False/Progressing", message: "1 of 2 pods serve; waiting for pods"},
		"as many serve as are asked for":   {pods: pods{pod("a", made(time.Hour)), pod("b", made(time.Hour))}, failed: []*corev1.Pod{last}, want: "True/Available", message: "2 of 2 pods serve"},
		"the next one finds no node":       {pods: pods{pod("b", silent, notReady, unschedulable)}, failed: []*corev1.Pod{last}, want: "False/Unschedulable", message: "0 of 2 pods serve; pod b: 0/3 nodes; before that, " + why},
		"its rollout has taken too long": {failed: []*corev1.Pod{last}, edit: says(appsv1.DeploymentProgressing, corev1.ConditionFalse, "ProgressDeadlineExceeded", "too long"),
			want: "False/ProgressDeadlineExceeded", message: "0 of 2 pods serve; too long; before that, " + why},
	} {
		t.Run(name, func(t *testing.T) {
			in := decide.ServerInput{Server: server(), Now: now, Revision: "r1", Deployment: &appsv1.Deployment{}, Pods: tc.pods, Failed: tc.failed, Document: "d1",
				Tools: registered(), Upgrade: waves.Settled}
			in.Server.Spec.Replicas = new(int32(2))
			if tc.edit != nil {
				tc.edit(&in)
			}
			c := meta.FindStatusCondition(decide.Server(in).Conditions, "Available")
			if got := string(c.Status) + "/" + c.Reason; got != tc.want || c.Message != tc.message {
				t.Errorf("Available is %s: %q\nwant %s: %q", got, c.Message, tc.want, tc.message)
			}
		})
	}
}

// TestANewRevisionWhosePodsFailIsToldOf beside pods of before that serve: nobody has read its catalogue, and why is known.
func TestANewRevisionWhosePodsFailIsToldOf(t *testing.T) {
	in := decide.ServerInput{Server: server(), Now: now, Revision: "r2", Deployment: &appsv1.Deployment{}, Pods: []decide.Pod{pod("a", made(time.Hour))},
		Failed: []*corev1.Pod{evicted("x", "r2", time.Minute)}, Document: "d1", Tools: registered(), Upgrade: waves.Settled}
	c := meta.FindStatusCondition(decide.Server(in).Conditions, "Discovered")
	if want := `the catalogue of this revision has not been read yet; pod x failed: Evicted: Usage of EmptyDir volume "tmp" exceeds the limit "1Gi".`; c.Message != want {
		t.Errorf("Discovered says %q, want %q", c.Message, want)
	}
}
