// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// everyField sets whatever reaches a child, with values that an API server would write in another way.
func everyField(s *mcpv1alpha1.MCPServer) {
	many := map[string]string{}
	for i := range 12 {
		many[fmt.Sprintf("example.com/key-%d", i)] = "value"
	}
	resources := corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.1"), corev1.ResourceMemory: resource.MustParse("128Mi")},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1024Mi")},
	}
	s.Spec.Description = "files of the build"
	s.Spec.Container = &mcpv1alpha1.Container{
		Image: "example.com/files:1", ImagePullPolicy: corev1.PullAlways,
		Command: []string{"files"}, Args: []string{"--root", "/data"}, WorkingDir: "/data",
		Env: []mcpv1alpha1.EnvVar{
			{Name: "B", Value: "1"},
			{Name: "A", SecretKeyRef: &mcpv1alpha1.KeyRef{Name: "secret", Key: "a"}},
			{Name: "C", ConfigMapKeyRef: &mcpv1alpha1.KeyRef{Name: "config", Key: "c"}},
		},
		EnvFrom:   []mcpv1alpha1.EnvFrom{{Prefix: "X_", SecretRef: "secret"}, {ConfigMapRef: "config"}},
		Resources: resources,
		VolumeMounts: []mcpv1alpha1.VolumeMount{
			{Name: "data", MountPath: "/data"},
			{Name: "config", MountPath: "/config", SubPath: "c", Access: mcpv1alpha1.VolumeReadOnly},
			{Name: "scratch", MountPath: "/scratch"},
			{Name: "secret", MountPath: "/secret"},
		},
	}
	s.Spec.Pod = mcpv1alpha1.PodSettings{
		Labels: many, Annotations: many,
		ImagePullSecrets: []string{"b", "a"},
		Volumes: []mcpv1alpha1.Volume{
			{Name: "data", PersistentVolumeClaim: "data"},
			{Name: "config", ConfigMap: "config"},
			{Name: "secret", Secret: "secret"},
			{Name: "scratch", EmptyDir: &mcpv1alpha1.EmptyDirVolume{Medium: corev1.StorageMediumMemory, SizeLimit: "1024Mi"}},
		},
		NodeSelector:                  map[string]string{"kubernetes.io/os": "linux"},
		Tolerations:                   []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(30))}, {Key: "b", Value: "c"}},
		TerminationGracePeriodSeconds: new(int64(30)),
	}
	s.Spec.Dispatcher = mcpv1alpha1.DispatcherSettings{Resources: resources, LogLevel: "debug"}
	s.Spec.Service = mcpv1alpha1.ServiceSettings{Type: corev1.ServiceTypeNodePort, Annotations: many, Port: new(int32(8000))}
}
