//go:build e2e

// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// everything is the reference server over stdio.
func everything(namespace, name string) *mcpv1alpha1.MCPServer {
	return &mcpv1alpha1.MCPServer{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: mcpv1alpha1.MCPServerSpec{
			Transport: mcpv1alpha1.Transport{Type: mcpv1alpha1.TransportStdio},
			Container: &mcpv1alpha1.Container{Image: everythingImage, Command: []string{"mcp-server-everything"}},
			// One caller makes every call of these tests.
			Limits: mcpv1alpha1.Limits{RequestsPerMinute: new(int32(0)), MaxConcurrent: new(int32(100)), MaxSessions: new(int32(100))},
		},
	}
}

// filesystem serves /data, an emptyDir, over stdio.
func filesystem(namespace, name string) *mcpv1alpha1.MCPServer {
	server := everything(namespace, name)
	server.Spec.Container = &mcpv1alpha1.Container{
		Image: filesystemImage, Command: []string{"mcp-server-filesystem", "/data"},
		VolumeMounts: []mcpv1alpha1.VolumeMount{{Name: "data", MountPath: "/data"}},
	}
	server.Spec.Pod.Volumes = []mcpv1alpha1.Volume{{Name: "data", EmptyDir: &mcpv1alpha1.EmptyDirVolume{}}}
	return server
}

func create(ctx context.Context, server *mcpv1alpha1.MCPServer) *mcpv1alpha1.MCPServer {
	Expect(kube.Create(ctx, server)).To(Succeed())
	return server
}

// change reads the object anew and patches it, so that a status written meanwhile is no conflict.
func change[T client.Object](ctx context.Context, object T, mutate func(T)) {
	Expect(kube.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	before := object.DeepCopyObject().(T)
	mutate(object)
	Expect(kube.Patch(ctx, object, client.MergeFrom(before))).To(Succeed())
}

func condition(conditions []metav1.Condition, name string) metav1.Condition {
	if c := meta.FindStatusCondition(conditions, name); c != nil {
		return *c
	}
	return metav1.Condition{Type: name}
}

// expectCondition waits until the server's condition says so for its present generation.
func expectCondition(ctx context.Context, server *mcpv1alpha1.MCPServer, name string, status metav1.ConditionStatus) {
	Eventually(func(g Gomega) {
		g.Expect(kube.Get(ctx, client.ObjectKeyFromObject(server), server)).To(Succeed())
		c := condition(server.Status.Conditions, name)
		g.Expect(c.Status).To(Equal(status), "%s is %s: %s", name, c.Reason, c.Message)
		g.Expect(c.ObservedGeneration).To(Equal(server.Generation))
	}).Should(Succeed())
}

// expectReady waits until the server serves, and every replica decides by what the objects say now.
func expectReady(ctx context.Context, server *mcpv1alpha1.MCPServer) {
	expectCondition(ctx, server, mcpv1alpha1.ConditionReady, metav1.ConditionTrue)
	expectCondition(ctx, server, mcpv1alpha1.ConditionEnforced, metav1.ConditionTrue)
}

func tools(ctx context.Context, g Gomega, server *mcpv1alpha1.MCPServer) []mcpv1alpha1.MCPTool {
	var list mcpv1alpha1.MCPToolList
	g.Expect(kube.List(ctx, &list, client.InNamespace(server.Namespace))).To(Succeed())
	var mine []mcpv1alpha1.MCPTool
	for _, tool := range list.Items {
		if tool.Spec.ServerRef.Name == server.Name {
			mine = append(mine, tool)
		}
	}
	return mine
}

func pods(ctx context.Context, g Gomega, server *mcpv1alpha1.MCPServer) []corev1.Pod {
	var list corev1.PodList
	selector, err := metav1.ParseToLabelSelector(server.Status.Selector)
	g.Expect(err).NotTo(HaveOccurred())
	s, err := metav1.LabelSelectorAsSelector(selector)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kube.List(ctx, &list, client.InNamespace(server.Namespace), client.MatchingLabelsSelector{Selector: s})).To(Succeed())
	return list.Items
}

// warnings are what the events of a namespace's servers and tools complain of.
func warnings(ctx context.Context, namespace string) []string {
	var list corev1.EventList
	Expect(kube.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
	var out []string
	for _, e := range list.Items {
		if e.Type == corev1.EventTypeWarning && e.InvolvedObject.GroupVersionKind().Group == mcpv1alpha1.GroupVersion.Group {
			out = append(out, e.InvolvedObject.Name+": "+e.Reason+": "+e.Message)
		}
	}
	return out
}
