// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package fakecluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"toolgate.dev/toolgate/internal/registry/statekey"
	"toolgate.dev/toolgate/internal/render/workload"
)

// mountKey gives a pod's dispatcher the key that its volume holds. Where the Secret is not there, the pod waits for its volume, and
// the error has the kubelet try again.
func (c *Cluster) mountKey(ctx context.Context, pod *corev1.Pod) (mounted bool, err error) {
	volumes := workload.StateKeyVolumes(pod.Spec.Volumes)
	if len(volumes) == 0 || pod.Status.Phase == corev1.PodRunning {
		// A pod that runs keeps what was mounted at its start.
		return true, nil
	}
	name := volumes[0].Secret.SecretName
	var secret corev1.Secret
	err = c.live.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: name}, &secret)
	if apierrors.IsNotFound(err) {
		if err := c.waitForVolumes(ctx, pod); err != nil {
			return false, err
		}
		return false, fmt.Errorf("pod %s waits for Secret %s", pod.Name, name)
	}
	if err != nil {
		return false, fmt.Errorf("reading Secret %s: %w", name, err)
	}
	key, err := statekey.Parse(secret.Data[statekey.FileName])
	if err != nil {
		return false, fmt.Errorf("mounting Secret %s: %w", name, err)
	}
	c.Dispatchers.Prove(string(pod.UID), key)
	return true, nil
}

func (c *Cluster) waitForVolumes(ctx context.Context, pod *corev1.Pod) error {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReadyToStartContainers {
			return nil
		}
	}
	pod.Status.Phase = corev1.PodPending
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now()}}
	if err := c.client.Status().Update(ctx, pod); err != nil {
		return fmt.Errorf("writing the status of pod %s: %w", pod.Name, err)
	}
	return nil
}
