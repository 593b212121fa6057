// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/applied"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/decide/admission"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/workload"
)

// CacheOptions keep the manager's memory to what Toolgate itself made: everything else of a cluster is never listed.
// Namespaces limits the kinds to these; none means all.
func CacheOptions(namespaces []string) cache.Options {
	ours := labels.SelectorFromSet(labels.Set{render.LabelManagedBy: render.ManagedBy})
	// What runs is found by the label that puts it behind the Service: a pod without any other one serves all the same.
	running := runs()
	child := cache.ByObject{Label: ours, Transform: reduced(applied.NewMemory())}
	opts := cache.Options{
		DefaultTransform: withoutNotes,
		ByObject: map[client.Object]cache.ByObject{
			&appsv1.Deployment{}:            child,
			&corev1.Service{}:               child,
			&corev1.ServiceAccount{}:        child,
			&corev1.ConfigMap{}:             child,
			&networkingv1.NetworkPolicy{}:   child,
			&policyv1.PodDisruptionBudget{}: child,
			replicaSet():                    {Label: running, Transform: owner},
			&corev1.Pod{}:                   {Label: running, Transform: pod},
			&mcpv1alpha1.MCPTool{}:          {Transform: toolOwnership},
		},
	}
	for _, name := range namespaces {
		if opts.DefaultNamespaces == nil {
			opts.DefaultNamespaces = map[string]cache.Config{}
		}
		opts.DefaultNamespaces[name] = cache.Config{}
	}
	return opts
}

// runs selects the pods of servers and their ReplicaSets.
func runs() labels.Selector {
	requirement, err := labels.NewRequirement(render.LabelServer, selection.Exists, nil)
	if err != nil {
		panic("gather: the name of a label: " + err.Error()) // it is a constant
	}
	return labels.NewSelector().Add(*requirement)
}

// replicaSet is read for its owner alone.
func replicaSet() *metav1.PartialObjectMetadata {
	rs := &metav1.PartialObjectMetadata{}
	rs.SetGroupVersionKind(schema.GroupVersionKind{Group: appsv1.GroupName, Version: "v1", Kind: "ReplicaSet"})
	return rs
}

// reduced keeps of a child what is read, and a mark of what we have applied to it.
func reduced(memory *applied.Memory) toolscache.TransformFunc {
	return func(o any) (any, error) {
		memory.Reduce(o)
		return o, nil
	}
}

// withoutNotes drops what nobody reads of our own kinds: who wrote what, and annotations, where tools of people keep a second copy
// of all that they have applied. A write of a status leaves both as they are.
func withoutNotes(o any) (any, error) {
	if m, err := meta.Accessor(o); err == nil {
		m.SetManagedFields(applied.StatusMarks(m.GetManagedFields()))
		m.SetAnnotations(nil)
	}
	return o, nil
}

// toolOwnership keeps of the managed fields of a tool whether a person has a word in it, which is all that they are asked for.
func toolOwnership(o any) (any, error) {
	if t, ok := o.(*mcpv1alpha1.MCPTool); ok {
		t.ManagedFields, t.Annotations = append(applied.StatusMarks(t.ManagedFields), render.PeoplesFields(t)...), nil
	}
	return o, nil
}

// owner keeps of a ReplicaSet whose it is.
func owner(o any) (any, error) {
	if rs, ok := o.(*metav1.PartialObjectMetadata); ok {
		rs.ObjectMeta = identity(rs.ObjectMeta)
	}
	return o, nil
}

// read are the conditions of a pod that decisions go by.
var read = []corev1.PodConditionType{corev1.PodReady, corev1.PodScheduled, corev1.PodReadyToStartContainers, corev1.PodInitialized}

// pod keeps what decisions go by: whose it is, what it runs, how its containers fare, and the name of its dispatcher's key.
func pod(o any) (any, error) {
	p, ok := o.(*corev1.Pod)
	if !ok {
		return o, nil
	}
	notes, status := only(p.Annotations, render.AnnotationReferences), p.Status
	if p.Status.Phase == corev1.PodFailed {
		return failed(p), nil
	}
	volumes := workload.StateKeyVolumes(p.Spec.Volumes)
	if _, waits := (&decide.Pod{Pod: p}).WaitsForVolumes(); waits {
		volumes = workload.NeededVolumes(p.Spec.Volumes) // for as long as it is told what it waits for
	}
	p.ObjectMeta, p.Spec = identity(p.ObjectMeta), corev1.PodSpec{Volumes: volumes}
	p.Annotations = notes
	p.Status = corev1.PodStatus{
		Phase: status.Phase, PodIP: status.PodIP,
		InitContainerStatuses: containers(status.InitContainerStatuses), ContainerStatuses: containers(status.ContainerStatuses),
	}
	for _, c := range status.Conditions {
		if slices.Contains(read, c.Type) {
			kept := corev1.PodCondition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message}
			if c.Type != corev1.PodScheduled {
				kept.LastTransitionTime = c.LastTransitionTime // since when it waits for its volumes, and whether it has served
			}
			p.Status.Conditions = append(p.Status.Conditions, kept)
		}
	}
	return o, nil
}

// maxFailure bounds what is kept of why a pod failed. The cluster keeps thousands of such pods before it collects them.
const maxFailure = 512

// failed keeps of a pod that has failed why, and when it stopped serving.
func failed(p *corev1.Pod) *corev1.Pod {
	short := func(text string) string { return strings.Clone(admission.Clip(text, maxFailure)) }
	out := &corev1.Pod{
		ObjectMeta: identity(p.ObjectMeta),
		Status:     corev1.PodStatus{Phase: p.Status.Phase, Reason: short(p.Status.Reason), Message: short(p.Status.Message)},
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			out.Status.Conditions = []corev1.PodCondition{{Type: c.Type, Status: c.Status, LastTransitionTime: c.LastTransitionTime}}
		}
	}
	return out
}

func containers(all []corev1.ContainerStatus) []corev1.ContainerStatus {
	out := make([]corev1.ContainerStatus, 0, len(all))
	for _, c := range all {
		out = append(out, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ContainerID: c.ContainerID, State: c.State, LastTerminationState: c.LastTerminationState, RestartCount: c.RestartCount,
		})
	}
	return out
}

// identity is what is read of the metadata of what runs.
func identity(m metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: m.Name, Namespace: m.Namespace, UID: m.UID, ResourceVersion: m.ResourceVersion, Generation: m.Generation,
		CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp, OwnerReferences: m.OwnerReferences,
		Labels: only(m.Labels, render.LabelServer, render.LabelRevision),
	}
}

func only(m map[string]string, keys ...string) map[string]string {
	var out map[string]string
	for _, key := range keys {
		if value, ok := m[key]; ok {
			if out == nil {
				out = make(map[string]string, len(keys))
			}
			out[key] = value
		}
	}
	return out
}
