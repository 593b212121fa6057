// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// everyField sets whatever reaches a child, with values that an API server would write in another way.
func everyField(s *mcpv1alpha1.MCPServer) {
	many, labels := map[string]string{}, map[string]mcpv1alpha1.LabelValue{}
	for i := range 12 {
		key := fmt.Sprintf("example.com/key-%d", i)
		many[key], labels[key] = "value", "value"
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
		SecurityContext: mcpv1alpha1.ContainerSecurity{RunAsUser: new(int64(2000)), RunAsGroup: new(int64(2001)), RootFilesystem: mcpv1alpha1.VolumeReadOnly},
		LivenessProbe:   &mcpv1alpha1.Probe{HTTPGet: &mcpv1alpha1.HTTPProbe{Port: 8080}, PeriodSeconds: new(int32(5)), FailureThreshold: new(int32(2))},
		ReadinessProbe:  &mcpv1alpha1.Probe{TCPPort: new(int32(8080)), InitialDelaySeconds: new(int32(1))},
		StartupProbe:    &mcpv1alpha1.Probe{Exec: []string{"true"}, TimeoutSeconds: new(int32(3))},
	}
	s.Spec.Replicas = new(int32(2))
	quarter, one := intstr.FromString("50%"), intstr.FromInt32(1)
	s.Spec.Rollout = mcpv1alpha1.Rollout{
		Type: mcpv1alpha1.RolloutRollingUpdate, MaxUnavailable: &quarter, MaxSurge: &one, ProgressDeadlineSeconds: new(int32(60)),
	}
	s.Spec.Pod = mcpv1alpha1.PodSettings{
		Labels: labels, Annotations: many,
		ImagePullSecrets: []string{"b", "a"},
		Volumes: []mcpv1alpha1.Volume{
			{Name: "data", PersistentVolumeClaim: "data"},
			{Name: "config", ConfigMap: "config"},
			{Name: "secret", Secret: "secret"},
			{Name: "scratch", EmptyDir: &mcpv1alpha1.EmptyDirVolume{Medium: corev1.StorageMediumMemory, SizeLimit: "1024Mi"}},
			{Name: "both", Projected: &mcpv1alpha1.ProjectedVolume{Sources: []mcpv1alpha1.ProjectedSource{
				{ConfigMap: "config"}, {Secret: "secret", Items: []mcpv1alpha1.ProjectedItem{{Key: "a", Path: "b/c"}}},
			}}},
			{Name: "store", CSI: &mcpv1alpha1.CSIVolume{
				Driver: "store.example.com", Attributes: many, NodePublishSecret: "secret", FSType: "ext4", Access: mcpv1alpha1.VolumeReadOnly,
			}},
			{Name: "disk", Ephemeral: &mcpv1alpha1.EphemeralVolume{Size: "1024Mi", StorageClassName: "fast", AccessMode: corev1.ReadWriteMany}},
		},
		Affinity:                  everyAffinity(),
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: &metav1.LabelSelector{MatchLabels: many}}},
		RuntimeClassName:          "sandbox",
		PriorityClassName:         "batch",
		SecurityContext: mcpv1alpha1.PodSecurity{
			FSGroup: new(int64(2002)), FSGroupChangePolicy: corev1.FSGroupChangeOnRootMismatch, SupplementalGroups: []int64{2004, 2003}, SeccompProfile: "profiles/files.json",
		},
		NodeSelector:                  map[string]mcpv1alpha1.LabelValue{"kubernetes.io/os": "linux"},
		Tolerations:                   []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(30))}, {Key: "b", Value: "c"}},
		TerminationGracePeriodSeconds: new(int64(30)),
	}
	theirs := &mcpv1alpha1.LabelSelector{MatchLabels: labels}
	s.Spec.Network = mcpv1alpha1.Network{
		IngressFrom: []mcpv1alpha1.NetworkPeer{{NamespaceSelector: theirs, PodSelector: &mcpv1alpha1.LabelSelector{}}, {CIDR: "10.0.0.0/8"}},
		MetricsFrom: []mcpv1alpha1.NetworkPeer{{PodSelector: theirs}},
		EgressTo:    []mcpv1alpha1.EgressPeer{{NamespaceSelector: &mcpv1alpha1.LabelSelector{}, Ports: []int32{443, 80}}},
	}
	s.Spec.DomainModel = &mcpv1alpha1.DomainModel{ConfigMapKeyRef: mcpv1alpha1.KeyRef{Name: "model", Key: "text"}, Format: mcpv1alpha1.ModelMarkdown}
	s.Spec.Telemetry.OTLPEndpoint = "http://10.0.0.1:4318"
	s.Spec.Dispatcher = mcpv1alpha1.DispatcherSettings{Resources: resources, LogLevel: "debug"}
	s.Spec.Service = mcpv1alpha1.ServiceSettings{Type: corev1.ServiceTypeNodePort, Annotations: many, Port: new(int32(8000)), Hosts: []string{"b.example.com", "a.example.com"}}
}

func everyAffinity() *corev1.Affinity {
	term := corev1.PodAffinityTerm{TopologyKey: "node", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}
	return &corev1.Affinity{
		NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "a", Operator: corev1.NodeSelectorOpIn, Values: []string{"b", "a"}}},
		}}}},
		PodAffinity:     &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}},
		PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: term}}},
	}
}
