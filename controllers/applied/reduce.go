// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package applied

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"

	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/workload"
)

// Reduce leaves of a child what somebody reads, and the mark of what we have applied to it. It changes the object that it is given.
// A child that can't be understood gets a mark that is like no other. What is no child, or is reduced already, stays as it is.
func Reduce(o any) {
	if meta, ok := o.(metav1.Object); !ok || entry(meta) != nil {
		return
	}
	switch o := o.(type) {
	case *appsv1.Deployment:
		deployment(o)
	case *corev1.ConfigMap:
		ours, err := corev1ac.ExtractConfigMap(o, render.FieldOwner)
		// Its labels say whose it is, its files are read.
		labels := o.Labels
		reduce(o, &o.ObjectMeta, ours, err)
		o.Labels = labels
	case *corev1.Service:
		ours, err := corev1ac.ExtractService(o, render.FieldOwner)
		reduce(o, &o.ObjectMeta, ours, err)
		o.Spec, o.Status = corev1.ServiceSpec{}, corev1.ServiceStatus{}
	case *corev1.ServiceAccount:
		ours, err := corev1ac.ExtractServiceAccount(o, render.FieldOwner)
		reduce(o, &o.ObjectMeta, ours, err)
		o.Secrets, o.ImagePullSecrets, o.AutomountServiceAccountToken = nil, nil, nil
	case *networkingv1.NetworkPolicy:
		ours, err := networkingv1ac.ExtractNetworkPolicy(o, render.FieldOwner)
		reduce(o, &o.ObjectMeta, ours, err)
		o.Spec = networkingv1.NetworkPolicySpec{}
	case *policyv1.PodDisruptionBudget:
		ours, err := policyv1ac.ExtractPodDisruptionBudget(o, render.FieldOwner)
		reduce(o, &o.ObjectMeta, ours, err)
		o.Spec, o.Status = policyv1.PodDisruptionBudgetSpec{}, policyv1.PodDisruptionBudgetStatus{}
	}
}

// reduce takes away of an object's metadata what nobody reads, and puts the mark of what is ours there.
func reduce(o metav1.Object, meta *metav1.ObjectMeta, ours runtime.ApplyConfiguration, failed error) {
	strip(o, meta, markOf(o, ours, failed))
}

// strip leaves of the metadata what is read, and a mark in the place of the managed fields.
func strip(o metav1.Object, meta *metav1.ObjectMeta, mark Mark) {
	*meta = metav1.ObjectMeta{
		Name: meta.Name, Namespace: meta.Namespace, UID: meta.UID,
		ResourceVersion: meta.ResourceVersion, Generation: meta.Generation,
		DeletionTimestamp: meta.DeletionTimestamp, OwnerReferences: meta.OwnerReferences,
	}
	put(o, mark)
}

func markOf(o metav1.Object, ours runtime.ApplyConfiguration, failed error) Mark {
	if !slices.ContainsFunc(o.GetManagedFields(), isOurs) {
		return Mark{}
	}
	if failed != nil {
		return unknown
	}
	mark, err := MarkOf(ours)
	if err != nil {
		return unknown
	}
	return mark
}

func isOurs(e metav1.ManagedFieldsEntry) bool {
	return e.Manager == render.FieldOwner && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
}

func deployment(d *appsv1.Deployment) {
	ours, err := appsv1ac.ExtractDeployment(d, render.FieldOwner)
	var annotations map[string]string
	if err == nil && ours.ObjectMetaApplyConfiguration != nil {
		annotations = ours.Annotations
	}
	stripDeployment(d, markOf(d, ours, err), annotations)
}

// stripDeployment keeps the annotations that we have applied, by which upgrades go, the number of pods, whether it is paused, what pods
// were last started anew for, the names of their key and of their account, and the status.
func stripDeployment(d *appsv1.Deployment, mark Mark, annotations map[string]string) {
	strip(d, &d.ObjectMeta, mark)
	d.Annotations = annotations
	var references map[string]string
	if value, ok := d.Spec.Template.Annotations[render.AnnotationReferences]; ok {
		references = map[string]string{render.AnnotationReferences: value}
	}
	d.Spec = appsv1.DeploymentSpec{
		Replicas: d.Spec.Replicas,
		Paused:   d.Spec.Paused,
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Annotations: references},
			Spec: corev1.PodSpec{
				Volumes: workload.StateKeyVolumes(d.Spec.Template.Spec.Volumes), ServiceAccountName: d.Spec.Template.Spec.ServiceAccountName,
			},
		},
	}
}
