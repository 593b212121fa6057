// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"toolgate.dev/toolgate/controllers/gather"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/workload"
)

// TestPodsAreKept wants all of a pod to be kept that decisions go by, and nothing else.
func TestPodsAreKept(t *testing.T) {
	owners := []metav1.OwnerReference{{UID: "rs", Controller: new(true)}}
	state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
	since := metav1.NewTime(time.Unix(1, 0))
	keyVolume := corev1.Volume{Name: "toolgate-state-key", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "files.state-0123456789"}}}
	full := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "files-1", Namespace: "ns", UID: "u", ResourceVersion: "3", CreationTimestamp: since, Finalizers: []string{"theirs"}, OwnerReferences: owners,
			Labels:        map[string]string{render.LabelServer: "files", render.LabelRevision: "r1", "theirs": "1"},
			Annotations:   map[string]string{render.AnnotationReferences: "x", render.AnnotationRegistryDigest: "y"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}},
		},
		Spec: corev1.PodSpec{NodeName: "node", Volumes: []corev1.Volume{{Name: "theirs"}, keyVolume}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.0.0.1", PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}}, HostIP: "10.0.0.9", QOSClass: corev1.PodQOSBurstable,
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue, LastTransitionTime: since},
				{Type: corev1.ContainersReady, Status: corev1.ConditionFalse},
				{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, LastTransitionTime: since},
				{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "why", LastTransitionTime: since, LastProbeTime: metav1.Now()},
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, Message: "here", LastTransitionTime: since},
			},
			InitContainerStatuses: []corev1.ContainerStatus{{Name: "dispatcher", ContainerID: "c1", ImageID: "i1", Image: "one", State: state, LastTerminationState: ended, RestartCount: 2}},
		},
	}
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "files-1", Namespace: "ns", UID: "u", ResourceVersion: "3", CreationTimestamp: since, OwnerReferences: owners,
			Labels:      map[string]string{render.LabelServer: "files", render.LabelRevision: "r1"},
			Annotations: map[string]string{render.AnnotationReferences: "x"},
		},
		Spec: corev1.PodSpec{Volumes: []corev1.Volume{keyVolume}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.0.0.1",
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue, LastTransitionTime: since},
				{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, LastTransitionTime: since},
				{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "why", LastTransitionTime: since},
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, Message: "here"},
			},
			InitContainerStatuses: []corev1.ContainerStatus{{Name: "dispatcher", ContainerID: "c1", Image: "one", State: state, LastTerminationState: ended, RestartCount: 2}},
			ContainerStatuses:     []corev1.ContainerStatus{},
		},
	}
	if diff := cmp.Diff(want, kept(t, full)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestAPodThatWaitsKeepsWhatItsVolumesNeed, and no longer than it waits.
func TestAPodThatWaitsKeepsWhatItsVolumesNeed(t *testing.T) {
	for waits, want := range map[corev1.ConditionStatus][]string{
		corev1.ConditionFalse: {"Secret s1", "Secret files.state-0123456789"},
		corev1.ConditionTrue:  {"Secret files.state-0123456789"},
	} {
		secret := func(volume, name string) corev1.Volume {
			return corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}}
		}
		got := kept(t, &corev1.Pod{
			Spec:   corev1.PodSpec{Volumes: []corev1.Volume{{Name: "tmp"}, secret("theirs", "s1"), secret("toolgate-state-key", "files.state-0123456789")}},
			Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReadyToStartContainers, Status: waits}}},
		}).(*corev1.Pod)
		if diff := cmp.Diff(want, workload.VolumeSources(got.Spec.Volumes)); diff != "" {
			t.Errorf("ready to start is %s (-want +got)\n%s", waits, diff)
		}
	}
}

// TestAPodThatFailedKeepsWhy and little else: the cluster keeps thousands of them.
func TestAPodThatFailedKeepsWhy(t *testing.T) {
	since := metav1.NewTime(time.Unix(1, 0))
	got := kept(t, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "files-1", Labels: map[string]string{render.LabelServer: "files", "theirs": "1"}, CreationTimestamp: since},
		Spec:       corev1.PodSpec{Volumes: []corev1.Volume{{Name: "tmp"}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodFailed, Reason: "Evicted", Message: strings.Repeat("x", 10000), PodIP: "10.0.0.1",
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "PodFailed", LastTransitionTime: since},
				{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue},
			},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "server"}},
		},
	})
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "files-1", Labels: map[string]string{render.LabelServer: "files"}, CreationTimestamp: since},
		Status: corev1.PodStatus{
			Phase: corev1.PodFailed, Reason: "Evicted", Message: strings.Repeat("x", 509) + "...",
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: since}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// kept is what the cache keeps of an object.
func kept(t *testing.T, o client.Object) any {
	t.Helper()
	for kind, by := range gather.CacheOptions(nil).ByObject {
		if _, is := kind.(*corev1.Pod); is {
			out, err := by.Transform(o)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
	}
	t.Fatal("pods are not cached")
	return nil
}

// TestWhatRunsIsSeenByTheLabelThatServes takes the labels off that others go by: the Service does not.
func TestWhatRunsIsSeenByTheLabelThatServes(t *testing.T) {
	serves := labels.Set{render.LabelServer: "files"}
	seen := 0
	for kind, by := range gather.CacheOptions(nil).ByObject {
		switch kind.(type) {
		case *corev1.Pod, *metav1.PartialObjectMetadata:
			seen++
			if !by.Label.Matches(serves) || by.Label.Matches(labels.Set{render.LabelManagedBy: render.ManagedBy}) {
				t.Errorf("%T is selected by %s", kind, by.Label)
			}
		}
	}
	if seen != 2 {
		t.Errorf("%d kinds of what runs are cached", seen)
	}
}
