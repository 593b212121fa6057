// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/registry"
)

// envModel tells the server where its domain model is.
const envModel = "DOMAIN_MODEL"

// modelFile is what the domain model is called where it is mounted.
func modelFile(m *mcpv1alpha1.DomainModel) string {
	switch m.Format {
	case mcpv1alpha1.ModelTurtle:
		return "model.ttl"
	case mcpv1alpha1.ModelJSON:
		return "model.json"
	case mcpv1alpha1.ModelMarkdown:
		return "model.md"
	default:
		return "model"
	}
}

// modelVolume is optional: a server runs without its model, and a condition says what is missing.
func modelVolume(m *mcpv1alpha1.DomainModel) *corev1ac.VolumeApplyConfiguration {
	return corev1ac.Volume().WithName(volumeModel).WithConfigMap(corev1ac.ConfigMapVolumeSource().
		WithName(m.ConfigMapKeyRef.Name).
		WithItems(corev1ac.KeyToPath().WithKey(m.ConfigMapKeyRef.Key).WithPath(modelFile(m))).
		WithDefaultMode(readable).
		WithOptional(true))
}

func modelMount(path string) *corev1ac.VolumeMountApplyConfiguration {
	return corev1ac.VolumeMount().WithName(volumeModel).WithMountPath(path).WithReadOnly(true)
}

// domainModel is what the dispatcher is told of it. A format that is not known here is passed on: the dispatcher says so.
func domainModel(m *mcpv1alpha1.DomainModel) registry.DomainModel {
	if m == nil {
		return registry.DomainModel{}
	}
	return registry.DomainModel{File: modelDir + "/" + modelFile(m), Format: registry.ModelFormat(m.Format)}
}
