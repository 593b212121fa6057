// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package fakecluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/registry/shard"
	"toolgate.dev/toolgate/internal/render"
)

// podsOf maps a registry document to the pods that mount it.
func (c *Cluster) podsOf(ctx context.Context, o client.Object) []reconcile.Request {
	server := o.GetLabels()[render.LabelServer]
	if server == "" {
		return nil
	}
	pods, err := c.podsIn(ctx, o.GetNamespace(), server)
	if err != nil {
		return nil
	}
	out := make([]reconcile.Request, 0, len(pods))
	for i := range pods {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&pods[i])})
	}
	return out
}

// kubelet runs a pod: its containers run at once, the newest document is mounted at once, and it is ready when that document
// knows its revision.
func (c *Cluster) kubelet(ctx context.Context, pod *corev1.Pod) error {
	server := pod.Labels[render.LabelServer]
	if server == "" || !pod.DeletionTimestamp.IsZero() {
		return nil
	}
	if mounted, err := c.mountKey(ctx, pod); err != nil || !mounted {
		return err
	}
	mounted := registry.RegistryState{}
	ready := false
	files, err := c.volume(ctx, pod.Namespace, server)
	if err != nil {
		return fmt.Errorf("reading the document of %s: %w", server, err)
	}
	if first, err := shard.Root(files.Load); err == nil {
		doc, err := shard.Decode(first, files.Load)
		if err != nil {
			mounted.Error = err.Error()
		} else {
			mounted.Digest, mounted.Sequence = registry.Digest(first), doc.Sequence
			_, ready = doc.Revisions[pod.Labels[render.LabelRevision]]
		}
	}
	c.Dispatchers.Say(string(pod.UID), func(s *registry.State) {
		s.Supports, s.Dispatcher = registry.Supported(), "v0"
		s.PodUID, s.Revision = string(pod.UID), pod.Labels[render.LabelRevision]
		s.Registry, s.Ready = mounted, ready
		if s.Catalogue == nil {
			s.Upstream = registry.UpstreamState{
				Phase: registry.UpstreamConnected, ServerName: "files", ServerVersion: "1.0", ProtocolVersion: "2025-11-25",
			}
			s.Catalogue = CatalogueOf(c.options.Catalogue(pod)...)
			s.Health = registry.HealthState{State: "Healthy", ResponseTimeMs: 3}
		}
	})
	return c.podStatus(ctx, pod, ready)
}

// volume is what the registry volume of a server's pods shows: the root, and shards where there are any.
func (c *Cluster) volume(ctx context.Context, namespace, server string) (shard.Files, error) {
	files := shard.Files{}
	var root corev1.ConfigMap
	err := c.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: render.RegistryName(server)}, &root)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	for name, data := range root.Data {
		files[name] = []byte(data)
	}
	if _, cut := files[shard.RootFile]; !cut {
		return files, nil
	}
	for _, name := range shard.Names() {
		var cm corev1.ConfigMap
		err := c.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: render.ShardName(server, name)}, &cm)
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		if data, ok := cm.BinaryData[name]; ok {
			files[name] = data
		}
	}
	return files, nil
}

func (c *Cluster) podStatus(ctx context.Context, pod *corev1.Pod, ready bool) error {
	want := *pod.Status.DeepCopy()
	want.Phase, want.PodIP = corev1.PodRunning, "127.0.0.1"
	want.PodIPs = []corev1.PodIP{{IP: want.PodIP}}
	want.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status(ready)}}
	want.InitContainerStatuses = running(pod.Spec.InitContainers)
	want.ContainerStatuses = running(pod.Spec.Containers)
	if equality.Semantic.DeepEqual(pod.Status, want) {
		return nil
	}
	pod.Status = want
	if err := c.client.Status().Update(ctx, pod); err != nil {
		return fmt.Errorf("writing the status of pod %s: %w", pod.Name, err)
	}
	return nil
}

func running(containers []corev1.Container) []corev1.ContainerStatus {
	out := make([]corev1.ContainerStatus, 0, len(containers))
	for i := range containers {
		started := true
		out = append(out, corev1.ContainerStatus{
			Name: containers[i].Name, Image: containers[i].Image, ImageID: containers[i].Image, Ready: true, Started: &started,
			ContainerID: "fake://" + containers[i].Name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Unix(1, 0)}},
		})
	}
	return out
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
