// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render"
)

// CacheOptions keep the manager's memory to what Toolgate itself made: everything else of a cluster is never listed.
// Namespaces limits the kinds to these; none means all.
func CacheOptions(namespaces []string) cache.Options {
	ours := labels.SelectorFromSet(labels.Set{render.LabelManagedBy: render.ManagedBy})
	child := cache.ByObject{Label: ours, Transform: keepOwnFields}
	opts := cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&appsv1.Deployment{}:            child,
			&corev1.Service{}:               child,
			&corev1.ServiceAccount{}:        child,
			&corev1.ConfigMap{}:             child,
			&networkingv1.NetworkPolicy{}:   child,
			&policyv1.PodDisruptionBudget{}: child,
			replicaSet():                    {Label: ours},
			&corev1.Pod{}:                   {Label: ours, Transform: podStatus},
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

// replicaSet is read for its owner alone.
func replicaSet() *metav1.PartialObjectMetadata {
	rs := &metav1.PartialObjectMetadata{}
	rs.SetGroupVersionKind(schema.GroupVersionKind{Group: appsv1.GroupName, Version: "v1", Kind: "ReplicaSet"})
	return rs
}

// keepOwnFields drops the managed fields of others: only our own are compared.
func keepOwnFields(o any) (any, error) {
	if m, err := meta.Accessor(o); err == nil {
		m.SetManagedFields(slices.DeleteFunc(m.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
			return e.Manager != render.FieldOwner
		}))
	}
	return o, nil
}

// toolOwnership keeps of the managed fields of a tool whether a person has a word in it, which is all that they are asked for.
func toolOwnership(o any) (any, error) {
	if t, ok := o.(*mcpv1alpha1.MCPTool); ok {
		t.ManagedFields = render.PeoplesFields(t)
	}
	return o, nil
}

// podStatus drops what is never read of a pod: most of it.
func podStatus(o any) (any, error) {
	if pod, ok := o.(*corev1.Pod); ok {
		pod.ManagedFields = nil
		pod.Spec = corev1.PodSpec{}
	}
	return o, nil
}
