// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/registry/statekey"
	"toolgate.dev/toolgate/internal/render"
)

const (
	stateKeyDir    = "/etc/toolgate/state-key"
	volumeStateKey = "toolgate-state-key"
)

// StateKeyName is the Secret that holds a server's key of this name. A server that is made again and a key that was replaced
// have a Secret of another name, because nobody could change this one.
func StateKeyName(server, key string) string { return server + ".state-" + key }

// StateKeyOf names the key that the dispatcher of a pod with these volumes has; "" for a pod that predates keys. It goes by volumes
// because nobody can change those of a pod: an annotation could be taken off to have a pod believed as it is.
func StateKeyOf(volumes []corev1.Volume) string {
	for i := range volumes {
		if v := &volumes[i]; v.Name == volumeStateKey && v.Secret != nil {
			return v.Secret.SecretName[strings.LastIndexByte(v.Secret.SecretName, '-')+1:]
		}
	}
	return ""
}

// StateKeyVolumes are those of a pod's volumes that StateKeyOf goes by, and no more of them than that.
func StateKeyVolumes(volumes []corev1.Volume) []corev1.Volume {
	for i := range volumes {
		if v := &volumes[i]; v.Name == volumeStateKey && v.Secret != nil {
			return []corev1.Volume{{Name: v.Name, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: v.Secret.SecretName}}}}
		}
	}
	return nil
}

// StateKey is the Secret of a server's key. It is immutable and goes with the server.
func StateKey(s *mcpv1alpha1.MCPServer, key statekey.Key) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace,
			Name:      StateKeyName(s.Name, key.Name()),
			Labels:    render.Labels(s.Name),
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: mcpv1alpha1.GroupVersion.String(), Kind: "MCPServer", Name: s.Name, UID: s.UID, Controller: ptr.To(true),
			}},
		},
		Immutable: ptr.To(true),
		Data:      map[string][]byte{statekey.FileName: key[:]},
	}
}

// withStateKey gives the dispatcher, and no other container, the key of this name; "" is none.
func withStateKey(s *mcpv1alpha1.MCPServer, pod *corev1ac.PodSpecApplyConfiguration, dispatcher *corev1ac.ContainerApplyConfiguration, key string) {
	if key == "" {
		return
	}
	pod.WithVolumes(corev1ac.Volume().WithName(volumeStateKey).WithSecret(corev1ac.SecretVolumeSource().
		WithSecretName(StateKeyName(s.Name, key)).
		WithDefaultMode(readable).
		WithItems(corev1ac.KeyToPath().WithKey(statekey.FileName).WithPath(statekey.FileName)).
		WithOptional(false)))
	dispatcher.WithCommand("--state-key-file", stateKeyDir+"/"+statekey.FileName)
	dispatcher.WithVolumeMounts(corev1ac.VolumeMount().WithName(volumeStateKey).WithMountPath(stateKeyDir).WithReadOnly(true))
}
