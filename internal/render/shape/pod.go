// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// Placement says where the pods may run and what runs them.
func Placement(ac *corev1ac.PodSpecApplyConfiguration, p *mcpv1alpha1.PodSettings) error {
	ac.WithNodeSelector(Labels(p.NodeSelector))
	if p.RuntimeClassName != "" {
		ac.WithRuntimeClassName(p.RuntimeClassName)
	}
	if p.PriorityClassName != "" {
		ac.WithPriorityClassName(p.PriorityClassName)
	}
	for _, name := range p.ImagePullSecrets {
		ac.WithImagePullSecrets(corev1ac.LocalObjectReference().WithName(name))
	}
	if err := same(p.Tolerations, &ac.Tolerations); err != nil {
		return fmt.Errorf("spec.pod.tolerations: %w", err)
	}
	if err := same(p.TopologySpreadConstraints, &ac.TopologySpreadConstraints); err != nil {
		return fmt.Errorf("spec.pod.topologySpreadConstraints: %w", err)
	}
	if p.Affinity == nil {
		return nil
	}
	if err := same(p.Affinity, &ac.Affinity); err != nil {
		return fmt.Errorf("spec.pod.affinity: %w", err)
	}
	return nil
}

// Labels are labels of a spec.
func Labels(labels map[string]mcpv1alpha1.LabelValue) map[string]string {
	if labels == nil {
		return nil
	}
	out := make(map[string]string, len(labels))
	for key, value := range labels {
		out[key] = string(value)
	}
	return out
}

// same turns a type of Kubernetes into its apply configuration. The two have one JSON form, which leaves out what is empty.
func same(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}

// PodSecurity is what Pod Security "restricted" asks of pods, with the groups and the profile of the spec.
func PodSecurity(p mcpv1alpha1.PodSecurity) *corev1ac.PodSecurityContextApplyConfiguration {
	profile := corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault)
	if p.SeccompProfile != "" {
		profile = corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeLocalhost).WithLocalhostProfile(p.SeccompProfile)
	}
	ac := corev1ac.PodSecurityContext().
		WithRunAsNonRoot(true).
		WithSeccompProfile(profile).
		WithSupplementalGroups(p.SupplementalGroups...)
	ac.FSGroup = p.FSGroup
	if p.FSGroupChangePolicy != "" {
		ac.WithFSGroupChangePolicy(p.FSGroupChangePolicy)
	}
	return ac
}

// Volume is a volume. Its sizes must be quantities.
func Volume(v mcpv1alpha1.Volume) *corev1ac.VolumeApplyConfiguration {
	ac := corev1ac.Volume().WithName(v.Name)
	switch {
	case v.ConfigMap != "":
		ac.WithConfigMap(corev1ac.ConfigMapVolumeSource().WithName(v.ConfigMap))
	case v.Secret != "":
		ac.WithSecret(corev1ac.SecretVolumeSource().WithSecretName(v.Secret))
	case v.PersistentVolumeClaim != "":
		ac.WithPersistentVolumeClaim(corev1ac.PersistentVolumeClaimVolumeSource().WithClaimName(v.PersistentVolumeClaim))
	case v.Projected != nil:
		ac.WithProjected(projected(v.Projected))
	case v.CSI != nil:
		ac.WithCSI(csi(v.CSI))
	case v.Ephemeral != nil:
		ac.WithEphemeral(ephemeral(v.Ephemeral))
	default:
		ac.WithEmptyDir(emptyDir(v.EmptyDir))
	}
	return ac
}

func emptyDir(v *mcpv1alpha1.EmptyDirVolume) *corev1ac.EmptyDirVolumeSourceApplyConfiguration {
	ac := corev1ac.EmptyDirVolumeSource()
	if v != nil && v.Medium != "" {
		ac.WithMedium(v.Medium)
	}
	if v != nil && v.SizeLimit != "" {
		ac.WithSizeLimit(resource.MustParse(v.SizeLimit))
	}
	return ac
}

func projected(v *mcpv1alpha1.ProjectedVolume) *corev1ac.ProjectedVolumeSourceApplyConfiguration {
	ac := corev1ac.ProjectedVolumeSource()
	for i, source := range v.Sources {
		items := lasting(source.Items, v.Sources[i+1:])
		if len(items) == 0 && len(source.Items) > 0 {
			continue
		}
		if source.ConfigMap != "" {
			ac.WithSources(corev1ac.VolumeProjection().WithConfigMap(
				corev1ac.ConfigMapProjection().WithName(source.ConfigMap).WithItems(items...)))
			continue
		}
		ac.WithSources(corev1ac.VolumeProjection().WithSecret(
			corev1ac.SecretProjection().WithName(source.Secret).WithItems(items...)))
	}
	return ac
}

// lasting are the files that no later source has: the API server takes each once.
func lasting(items []mcpv1alpha1.ProjectedItem, later []mcpv1alpha1.ProjectedSource) []*corev1ac.KeyToPathApplyConfiguration {
	var out []*corev1ac.KeyToPathApplyConfiguration
	for _, item := range items {
		replaced := slices.ContainsFunc(later, func(s mcpv1alpha1.ProjectedSource) bool {
			return slices.ContainsFunc(s.Items, func(other mcpv1alpha1.ProjectedItem) bool { return other.Path == item.Path })
		})
		if !replaced {
			out = append(out, corev1ac.KeyToPath().WithKey(item.Key).WithPath(item.Path))
		}
	}
	return out
}

func csi(v *mcpv1alpha1.CSIVolume) *corev1ac.CSIVolumeSourceApplyConfiguration {
	ac := corev1ac.CSIVolumeSource().WithDriver(v.Driver).WithVolumeAttributes(v.Attributes)
	if v.NodePublishSecret != "" {
		ac.WithNodePublishSecretRef(corev1ac.LocalObjectReference().WithName(v.NodePublishSecret))
	}
	if v.FSType != "" {
		ac.WithFSType(v.FSType)
	}
	if v.Access == mcpv1alpha1.VolumeReadOnly {
		ac.WithReadOnly(true)
	}
	return ac
}

func ephemeral(v *mcpv1alpha1.EphemeralVolume) *corev1ac.EphemeralVolumeSourceApplyConfiguration {
	mode := v.AccessMode
	if mode == "" {
		mode = corev1.ReadWriteOnce
	}
	claim := corev1ac.PersistentVolumeClaimSpec().
		WithAccessModes(mode).
		WithResources(corev1ac.VolumeResourceRequirements().
			WithRequests(corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(v.Size)}))
	if v.StorageClassName != "" {
		claim.WithStorageClassName(v.StorageClassName)
	}
	return corev1ac.EphemeralVolumeSource().WithVolumeClaimTemplate(
		corev1ac.PersistentVolumeClaimTemplate().WithSpec(claim))
}
