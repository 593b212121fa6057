// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// Env are environment variables.
func Env(env []mcpv1alpha1.EnvVar) []*corev1ac.EnvVarApplyConfiguration {
	out := make([]*corev1ac.EnvVarApplyConfiguration, 0, len(env))
	for _, e := range env {
		ac := corev1ac.EnvVar().WithName(e.Name)
		switch {
		case e.SecretKeyRef != nil:
			ac.WithValueFrom(corev1ac.EnvVarSource().WithSecretKeyRef(
				corev1ac.SecretKeySelector().WithName(e.SecretKeyRef.Name).WithKey(e.SecretKeyRef.Key)))
		case e.ConfigMapKeyRef != nil:
			ac.WithValueFrom(corev1ac.EnvVarSource().WithConfigMapKeyRef(
				corev1ac.ConfigMapKeySelector().WithName(e.ConfigMapKeyRef.Name).WithKey(e.ConfigMapKeyRef.Key)))
		case e.Value != "":
			ac.WithValue(e.Value)
		}
		out = append(out, ac)
	}
	return out
}

// EnvFrom are sources of environment variables.
func EnvFrom(from []mcpv1alpha1.EnvFrom) []*corev1ac.EnvFromSourceApplyConfiguration {
	out := make([]*corev1ac.EnvFromSourceApplyConfiguration, 0, len(from))
	for _, e := range from {
		ac := corev1ac.EnvFromSource()
		if e.Prefix != "" {
			ac.WithPrefix(e.Prefix)
		}
		if e.SecretRef != "" {
			ac.WithSecretRef(corev1ac.SecretEnvSource().WithName(e.SecretRef))
		}
		if e.ConfigMapRef != "" {
			ac.WithConfigMapRef(corev1ac.ConfigMapEnvSource().WithName(e.ConfigMapRef))
		}
		out = append(out, ac)
	}
	return out
}

// Mounts are mounts of volumes.
func Mounts(mounts []mcpv1alpha1.VolumeMount) []*corev1ac.VolumeMountApplyConfiguration {
	out := make([]*corev1ac.VolumeMountApplyConfiguration, 0, len(mounts))
	for _, m := range mounts {
		ac := corev1ac.VolumeMount().WithName(m.Name).WithMountPath(m.MountPath)
		if m.SubPath != "" {
			ac.WithSubPath(m.SubPath)
		}
		if m.Access == mcpv1alpha1.VolumeReadOnly {
			ac.WithReadOnly(true)
		}
		out = append(out, ac)
	}
	return out
}

// Resources are requests and limits.
func Resources(r corev1.ResourceRequirements) *corev1ac.ResourceRequirementsApplyConfiguration {
	ac := corev1ac.ResourceRequirements()
	if len(r.Limits) > 0 {
		ac.WithLimits(r.Limits)
	}
	if len(r.Requests) > 0 {
		ac.WithRequests(r.Requests)
	}
	for _, c := range r.Claims {
		ac.WithClaims(corev1ac.ResourceClaim().WithName(c.Name))
	}
	return ac
}

// Probes gives a container the probes of its user.
func Probes(ac *corev1ac.ContainerApplyConfiguration, c *mcpv1alpha1.Container) {
	if c.LivenessProbe != nil {
		ac.WithLivenessProbe(probe(c.LivenessProbe))
	}
	if c.ReadinessProbe != nil {
		ac.WithReadinessProbe(probe(c.ReadinessProbe))
	}
	if c.StartupProbe != nil {
		ac.WithStartupProbe(probe(c.StartupProbe))
	}
}

func probe(p *mcpv1alpha1.Probe) *corev1ac.ProbeApplyConfiguration {
	ac := corev1ac.Probe()
	switch {
	case p.HTTPGet != nil:
		get := corev1ac.HTTPGetAction().WithPort(intstr.FromInt32(p.HTTPGet.Port))
		if p.HTTPGet.Path != "" {
			get.WithPath(p.HTTPGet.Path)
		}
		if p.HTTPGet.Scheme != "" {
			get.WithScheme(p.HTTPGet.Scheme)
		}
		ac.WithHTTPGet(get)
	case p.TCPPort != nil:
		ac.WithTCPSocket(corev1ac.TCPSocketAction().WithPort(intstr.FromInt32(*p.TCPPort)))
	default:
		ac.WithExec(corev1ac.ExecAction().WithCommand(p.Exec...))
	}
	ac.InitialDelaySeconds = p.InitialDelaySeconds
	ac.PeriodSeconds = p.PeriodSeconds
	ac.TimeoutSeconds = p.TimeoutSeconds
	ac.FailureThreshold = p.FailureThreshold
	return ac
}
