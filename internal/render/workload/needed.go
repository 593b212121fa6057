// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// NeededVolumes are those of a pod's volumes that can't be mounted while an object is missing, and of them no more than VolumeSources
// goes by.
func NeededVolumes(volumes []corev1.Volume) []corev1.Volume {
	var out []corev1.Volume
	for _, v := range volumes {
		if p := v.Projected; p != nil {
			v.Projected = &corev1.ProjectedVolumeSource{Sources: slices.DeleteFunc(slices.Clone(p.Sources), func(s corev1.VolumeProjection) bool {
				return projectedSource(s) == ""
			})}
		}
		if len(sourcesOf(v)) > 0 {
			out = append(out, v)
		}
	}
	return out
}

// VolumeSources are the objects without which a pod with these volumes can't start, in words, sorted: what people name before what
// Toolgate makes itself.
func VolumeSources(volumes []corev1.Volume) []string {
	var theirs, ours []string
	for _, v := range volumes {
		if v.Name == volumeRegistry || v.Name == volumeStateKey {
			ours = append(ours, sourcesOf(v)...)
		} else {
			theirs = append(theirs, sourcesOf(v)...)
		}
	}
	slices.Sort(theirs)
	slices.Sort(ours)
	return append(slices.Compact(theirs), ours...)
}

func sourcesOf(v corev1.Volume) []string {
	var out []string
	add := func(text string) {
		if text != "" {
			out = append(out, text)
		}
	}
	switch {
	case v.ConfigMap != nil:
		add(source(kindConfigMap, v.ConfigMap.Name, v.ConfigMap.Optional, v.ConfigMap.Items))
	case v.Secret != nil:
		add(source(kindSecret, v.Secret.SecretName, v.Secret.Optional, v.Secret.Items))
	case v.PersistentVolumeClaim != nil:
		add(source("PersistentVolumeClaim", v.PersistentVolumeClaim.ClaimName, nil, nil))
	case v.CSI != nil && v.CSI.NodePublishSecretRef != nil:
		add(source(kindSecret, v.CSI.NodePublishSecretRef.Name, nil, nil))
	case v.Projected != nil:
		for _, s := range v.Projected.Sources {
			add(projectedSource(s))
		}
	}
	return out
}

func projectedSource(s corev1.VolumeProjection) string {
	switch {
	case s.ConfigMap != nil:
		return source(kindConfigMap, s.ConfigMap.Name, s.ConfigMap.Optional, s.ConfigMap.Items)
	case s.Secret != nil:
		return source(kindSecret, s.Secret.Name, s.Secret.Optional, s.Secret.Items)
	default:
		return ""
	}
}

// source names an object, with the keys that it must have; "" where the pod starts without it.
func source(kind, name string, optional *bool, items []corev1.KeyToPath) string {
	if name == "" || ptr.Deref(optional, false) {
		return ""
	}
	keys := make([]string, 0, len(items))
	for _, item := range items {
		keys = append(keys, item.Key)
	}
	if len(keys) == 0 {
		return kind + " " + name
	}
	return kind + " " + name + " with " + strings.Join(keys, ", ")
}
