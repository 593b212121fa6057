// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render"
)

// envModel tells the server where its domain model is.
const envModel = "DOMAIN_MODEL"

// modelVolume is optional: a server runs without its model, and a condition says what is missing.
func modelVolume(m *mcpv1alpha1.DomainModel) *corev1ac.VolumeApplyConfiguration {
	return corev1ac.Volume().WithName(volumeModel).WithConfigMap(corev1ac.ConfigMapVolumeSource().
		WithName(m.ConfigMapKeyRef.Name).
		WithItems(corev1ac.KeyToPath().WithKey(m.ConfigMapKeyRef.Key).WithPath(render.ModelFileName(m))).
		WithDefaultMode(readable).
		WithOptional(true))
}

func modelMount(path string) *corev1ac.VolumeMountApplyConfiguration {
	return corev1ac.VolumeMount().WithName(volumeModel).WithMountPath(path).WithReadOnly(true)
}
