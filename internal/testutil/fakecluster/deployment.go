// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package fakecluster

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"toolgate.dev/toolgate/internal/render"
)

// byServer maps a pod to its Deployment, which has the name of the server.
func byServer(_ context.Context, o client.Object) []reconcile.Request {
	if name := o.GetLabels()[render.LabelServer]; name != "" {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: name}}}
	}
	return nil
}

// deployment is one step of the Deployment controller: a ReplicaSet for the template, its pods, and when these are ready the
// end of all others.
func (c *Cluster) deployment(ctx context.Context, d *appsv1.Deployment) error {
	if !d.DeletionTimestamp.IsZero() {
		return nil
	}
	current, err := c.replicaSet(ctx, d)
	if err != nil {
		return err
	}
	pods, err := c.scale(ctx, current, int(ptr.Deref(d.Spec.Replicas, 1)))
	if err != nil {
		return err
	}
	ready := 0
	for i := range pods {
		if isReady(&pods[i]) {
			ready++
		}
	}
	if ready == int(ptr.Deref(d.Spec.Replicas, 1)) {
		if err := c.endOthers(ctx, d, current.UID); err != nil {
			return err
		}
	}
	return c.deploymentStatus(ctx, d, int32(len(pods)), int32(ready))
}

// replicaSet makes the ReplicaSet of the template if it is not there, under a name that the template alone decides.
func (c *Cluster) replicaSet(ctx context.Context, d *appsv1.Deployment) (*appsv1.ReplicaSet, error) {
	data, err := json.Marshal(d.Spec.Template)
	if err != nil {
		return nil, fmt.Errorf("encoding the template of Deployment %s: %w", d.Name, err)
	}
	hash := fnv.New32a()
	_, _ = hash.Write(data)
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.Namespace, Name: fmt.Sprintf("%s-%08x", d.Name, hash.Sum32()), Labels: d.Spec.Template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
		},
		Spec: appsv1.ReplicaSetSpec{Selector: d.Spec.Selector, Template: d.Spec.Template, Replicas: d.Spec.Replicas},
	}
	live := &appsv1.ReplicaSet{}
	err = c.client.Get(ctx, client.ObjectKeyFromObject(set), live)
	switch {
	case apierrors.IsNotFound(err):
		if err := c.client.Create(ctx, set); err != nil {
			return nil, fmt.Errorf("making ReplicaSet %s: %w", set.Name, err)
		}
		return set, nil
	case err != nil:
		return nil, fmt.Errorf("reading ReplicaSet %s: %w", set.Name, err)
	case !metav1.IsControlledBy(live, d):
		return nil, fmt.Errorf("ReplicaSet %s belongs to a Deployment that is gone", set.Name)
	}
	return live, nil
}

// scale makes and deletes pods of a ReplicaSet and gives those that stay.
func (c *Cluster) scale(ctx context.Context, set *appsv1.ReplicaSet, want int) ([]corev1.Pod, error) {
	pods, err := c.podsIn(ctx, set.Namespace, set.Labels[render.LabelServer])
	if err != nil {
		return nil, err
	}
	pods = slices.DeleteFunc(pods, func(p corev1.Pod) bool { return !metav1.IsControlledBy(&p, set) })
	have := map[string]bool{}
	var kept []corev1.Pod
	for i := range pods {
		var ordinal int
		if _, err := fmt.Sscanf(strings.TrimPrefix(pods[i].Name, set.Name), "-%d", &ordinal); err != nil || ordinal >= want {
			if err := c.client.Delete(ctx, &pods[i], client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
				return nil, fmt.Errorf("deleting pod %s: %w", pods[i].Name, err)
			}
			continue
		}
		have[pods[i].Name] = true
		kept = append(kept, pods[i])
	}
	for i := range want {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: set.Namespace, Name: fmt.Sprintf("%s-%d", set.Name, i),
				Labels: set.Spec.Template.Labels, Annotations: set.Spec.Template.Annotations,
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))},
			},
			Spec: *set.Spec.Template.Spec.DeepCopy(),
		}
		if have[pod.Name] {
			continue
		}
		if c.options.Inject != nil {
			c.options.Inject(pod)
		}
		if err := c.client.Create(ctx, pod); err != nil {
			return nil, fmt.Errorf("making pod %s: %w", pod.Name, err)
		}
		kept = append(kept, *pod)
	}
	return kept, nil
}

func (c *Cluster) podsIn(ctx context.Context, namespace, server string) ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := c.client.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{indexServer: server}); err != nil {
		return nil, fmt.Errorf("listing pods of %s: %w", server, err)
	}
	return list.Items, nil
}

// endOthers deletes what older templates left.
func (c *Cluster) endOthers(ctx context.Context, d *appsv1.Deployment, current any) error {
	var list appsv1.ReplicaSetList
	if err := c.client.List(ctx, &list, client.InNamespace(d.Namespace), client.MatchingFields{indexServer: d.Name}); err != nil {
		return fmt.Errorf("listing ReplicaSets: %w", err)
	}
	for i := range list.Items {
		set := &list.Items[i]
		if !metav1.IsControlledBy(set, d) || any(set.UID) == current {
			continue
		}
		if _, err := c.scale(ctx, set, 0); err != nil {
			return err
		}
		if err := c.client.Delete(ctx, set, client.PropagationPolicy(metav1.DeletePropagationBackground)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting ReplicaSet %s: %w", set.Name, err)
		}
	}
	return nil
}

func (c *Cluster) deploymentStatus(ctx context.Context, d *appsv1.Deployment, pods, ready int32) error {
	want := appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: pods, UpdatedReplicas: pods, ReadyReplicas: ready, AvailableReplicas: ready,
		UnavailableReplicas: pods - ready,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, Status: status(ready == pods), Reason: "MinimumReplicas"},
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
		},
	}
	if equality.Semantic.DeepEqual(d.Status, want) {
		return nil
	}
	d.Status = want
	if err := c.client.Status().Update(ctx, d); err != nil {
		return fmt.Errorf("writing the status of Deployment %s: %w", d.Name, err)
	}
	return nil
}

func status(is bool) corev1.ConditionStatus {
	if is {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}
