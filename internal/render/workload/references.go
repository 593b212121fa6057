// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render"
)

// reference is a ConfigMap or Secret that the server is started with.
type reference struct {
	kind, name string
	// keys that are taken; none means all.
	keys []string
}

// The kinds of references.
const (
	kindConfigMap = "ConfigMap"
	kindSecret    = "Secret"
)

// directory is what the dispatcher calls it. Kubernetes' names have no upper case, so the two parts can't be confused.
func (r reference) directory() string { return strings.ToLower(r.kind) + "." + r.name }

// Follows says whether the pods of a server are replaced for the content of anything.
func Follows(s *mcpv1alpha1.MCPServer) bool { return len(references(s)) > 0 }

// references are the objects whose content the pods are to be restarted for, each once, sorted. Toolgate's own ConfigMap is
// none of them, nor are the credentials of a remote server, which the dispatcher reads anew.
func references(s *mcpv1alpha1.MCPServer) []reference {
	c := s.Spec.Container
	if c == nil || s.Spec.RestartOn == mcpv1alpha1.RestartOnNever {
		return nil
	}
	var all []reference
	add := func(kind, name string, keys ...string) {
		if name != "" {
			all = append(all, reference{kind, name, keys})
		}
	}
	for _, e := range c.Env {
		if ref := e.ConfigMapKeyRef; ref != nil {
			add(kindConfigMap, ref.Name, ref.Key)
		}
		if ref := e.SecretKeyRef; ref != nil {
			add(kindSecret, ref.Name, ref.Key)
		}
	}
	for _, e := range c.EnvFrom {
		add(kindConfigMap, e.ConfigMapRef)
		add(kindSecret, e.SecretRef)
	}
	for _, v := range render.Mounted(s.Spec.Pod.Volumes, c.VolumeMounts) {
		add(kindConfigMap, v.ConfigMap)
		add(kindSecret, v.Secret)
		if v.Projected == nil {
			continue
		}
		for _, source := range v.Projected.Sources {
			var keys []string
			for _, item := range source.Items {
				keys = append(keys, item.Key)
			}
			add(kindConfigMap, source.ConfigMap, keys...)
			add(kindSecret, source.Secret, keys...)
		}
	}
	return united(all)
}

// united makes one of those that name one object.
func united(all []reference) []reference {
	slices.SortStableFunc(all, func(a, b reference) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name))
	})
	var out []reference
	for _, r := range all {
		last := len(out) - 1
		switch {
		case last < 0 || out[last].kind != r.kind || out[last].name != r.name:
			out = append(out, r)
		case len(out[last].keys) == 0 || len(r.keys) == 0:
			out[last].keys = nil
		default:
			out[last].keys = slices.Concat(out[last].keys, r.keys)
		}
	}
	for i := range out {
		slices.Sort(out[i].keys)
		out[i].keys = slices.Compact(out[i].keys)
	}
	return out
}

// referenceVolumes show the dispatcher what the server is started with, and keep what that was for the life of the pod.
// They are optional: of an object that is missing, the server's own container tells in better words.
func referenceVolumes(s *mcpv1alpha1.MCPServer) []*corev1ac.VolumeApplyConfiguration {
	refs := references(s)
	if len(refs) == 0 {
		return nil
	}
	out := []*corev1ac.VolumeApplyConfiguration{emptyDir(volumeState, maxState)}
	for i, r := range refs {
		items := make([]*corev1ac.KeyToPathApplyConfiguration, 0, len(r.keys))
		for _, key := range r.keys {
			items = append(items, corev1ac.KeyToPath().WithKey(key).WithPath(key))
		}
		v := corev1ac.Volume().WithName(referenceVolume(i))
		if r.kind == kindSecret {
			v.WithSecret(corev1ac.SecretVolumeSource().WithSecretName(r.name).WithItems(items...).WithOptional(true).WithDefaultMode(readable))
		} else {
			v.WithConfigMap(corev1ac.ConfigMapVolumeSource().WithName(r.name).WithItems(items...).WithOptional(true).WithDefaultMode(readable))
		}
		out = append(out, v)
	}
	return out
}

func referenceMounts(s *mcpv1alpha1.MCPServer) []*corev1ac.VolumeMountApplyConfiguration {
	refs := references(s)
	if len(refs) == 0 {
		return nil
	}
	out := []*corev1ac.VolumeMountApplyConfiguration{corev1ac.VolumeMount().WithName(volumeState).WithMountPath(stateDir)}
	for i, r := range refs {
		out = append(out, corev1ac.VolumeMount().
			WithName(referenceVolume(i)).WithMountPath(referencesDir+"/"+r.directory()).WithReadOnly(true))
	}
	return out
}

func referenceVolume(i int) string { return fmt.Sprintf("%s-%d", volumeReference, i) }

// referenceFlags tell the dispatcher where they are.
func referenceFlags(s *mcpv1alpha1.MCPServer) []string {
	if len(references(s)) == 0 {
		return nil
	}
	return []string{"--references", referencesDir, "--references-baseline", stateDir + "/references.json"}
}
