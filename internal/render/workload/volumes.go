// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/registry/shard"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/shape"
)

// readable is the mode of projected files. They belong to root and the dispatcher is another user, without an fsGroup.
const readable = 0o444

// Limits of what is added to each pod. The kubelet evicts a pod that passes one: without them, a server could fill the disk of
// its node and have its neighbours evicted.
const (
	maxScratch = "1Gi"  // of home and of /tmp, each
	maxBin     = "64Mi" // one binary, of 25 MB at most (hack/verify-dispatcher.sh)
	maxRun     = "8Mi"  // sockets
	maxState   = "8Mi"  // digests of what the server was started with
)

func volumes(s *mcpv1alpha1.MCPServer) []*corev1ac.VolumeApplyConfiguration {
	out := []*corev1ac.VolumeApplyConfiguration{registryVolume(s)}
	if m := s.Spec.DomainModel; m != nil {
		out = append(out, modelVolume(m))
	}
	if s.Spec.Remote != nil {
		return append(out, remoteVolumes(s.Spec.Remote)...)
	}
	if render.Transport(s) == mcpv1alpha1.TransportStdio {
		out = append(out, emptyDir(volumeBin, maxBin), emptyDir(volumeRun, maxRun))
	}
	out = append(out, emptyDir(volumeHome, maxScratch), emptyDir(volumeTmp, maxScratch))
	out = append(out, referenceVolumes(s)...)
	for _, v := range s.Spec.Pod.Volumes {
		out = append(out, shape.Volume(v))
	}
	return out
}

// registryVolume has the same sources whatever the document is cut into, so that no pod is ever restarted for its size. The first
// is not optional: a dispatcher that started without a document would refuse every call, and a pod that waits for it says
// what it waits for. All of its keys come as they are, because two sources of one ConfigMap could be of two generations.
func registryVolume(s *mcpv1alpha1.MCPServer) *corev1ac.VolumeApplyConfiguration {
	sources := corev1ac.ProjectedVolumeSource().
		WithDefaultMode(readable).
		WithSources(corev1ac.VolumeProjection().WithConfigMap(corev1ac.ConfigMapProjection().
			WithName(render.RegistryName(s.Name)).
			WithOptional(false)))
	for _, file := range shard.Names() {
		sources.WithSources(corev1ac.VolumeProjection().WithConfigMap(corev1ac.ConfigMapProjection().
			WithName(render.ShardName(s.Name, file)).
			WithItems(corev1ac.KeyToPath().WithKey(file).WithPath(file)).
			WithOptional(true)))
	}
	return corev1ac.Volume().WithName(volumeRegistry).WithProjected(sources)
}

func dispatcherMounts(s *mcpv1alpha1.MCPServer) []*corev1ac.VolumeMountApplyConfiguration {
	mount := func(name, path string) *corev1ac.VolumeMountApplyConfiguration {
		return corev1ac.VolumeMount().WithName(name).WithMountPath(path).WithReadOnly(true)
	}
	out := []*corev1ac.VolumeMountApplyConfiguration{mount(volumeRegistry, registryDir)}
	if s.Spec.DomainModel != nil {
		out = append(out, modelMount(render.ModelDir))
	}
	switch {
	case s.Spec.Remote == nil && render.Transport(s) == mcpv1alpha1.TransportStdio:
		// Connecting to a socket needs no writable mount.
		out = append(out, mount(volumeRun, runDir))
	case s.Spec.Remote != nil:
		if len(s.Spec.Remote.HeadersFrom) > 0 {
			out = append(out, mount(volumeHeaders, render.HeadersDir))
		}
		if s.Spec.Remote.CABundleFrom != nil {
			out = append(out, mount(volumeCA, render.CADir))
		}
	}
	return append(out, referenceMounts(s)...)
}

// remoteVolumes hold what the dispatcher alone may see of the credentials: one file for each header.
func remoteVolumes(r *mcpv1alpha1.Remote) []*corev1ac.VolumeApplyConfiguration {
	var out []*corev1ac.VolumeApplyConfiguration
	if len(r.HeadersFrom) > 0 {
		projected := corev1ac.ProjectedVolumeSource().WithDefaultMode(readable)
		for i, h := range r.HeadersFrom {
			projected.WithSources(corev1ac.VolumeProjection().WithSecret(corev1ac.SecretProjection().
				WithName(h.SecretKeyRef.Name).
				WithItems(corev1ac.KeyToPath().WithKey(h.SecretKeyRef.Key).WithPath(strconv.Itoa(i)))))
		}
		out = append(out, corev1ac.Volume().WithName(volumeHeaders).WithProjected(projected))
	}
	if ref := r.CABundleFrom; ref != nil {
		out = append(out, corev1ac.Volume().WithName(volumeCA).WithConfigMap(corev1ac.ConfigMapVolumeSource().
			WithName(ref.Name).
			WithDefaultMode(readable).
			WithItems(corev1ac.KeyToPath().WithKey(ref.Key).WithPath(render.CAFileName))))
	}
	return out
}

func emptyDir(name, size string) *corev1ac.VolumeApplyConfiguration {
	return corev1ac.Volume().WithName(name).WithEmptyDir(corev1ac.EmptyDirVolumeSource().WithSizeLimit(resource.MustParse(size)))
}
