//go:build e2e

// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// The autoscaler is the cluster's own; what pods use is told by this process, as a metrics server tells it. Memory is what it goes
// by, because CPU of young pods counts for nothing.
var _ = Describe("An autoscaler", Ordered, Serial, func() {
	var used atomic.Int64
	BeforeAll(func(ctx SpecContext) {
		if auditLog() == "" {
			Skip("needs a cluster that reaches this process")
		}
		serveMetrics(ctx, newNamespace(ctx), &used)
	})

	It("scales an MCPServer up and down by its scale subresource", func(ctx SpecContext) {
		used.Store(100 << 20)
		server := create(ctx, everything(newNamespace(ctx), "scaled"))
		expectReady(ctx, server)
		Expect(kube.Create(ctx, autoscaler(server, mcpv1alpha1.GroupVersion.String(), "MCPServer"))).To(Succeed())
		used.Store(300 << 20)
		expectReplicas(ctx, server, 3)
		expectReady(ctx, server)
		used.Store(10 << 20)
		expectReplicas(ctx, server, 1)
		expectReady(ctx, server)
	}, SpecTimeout(8*time.Minute))

	It("takes a Deployment over as it is, and nobody takes its pods back", func(ctx SpecContext) {
		used.Store(100 << 20)
		server := everything(newNamespace(ctx), "handed")
		server.Spec.Replicas = new(int32(2))
		create(ctx, server)
		expectReady(ctx, server)
		fewest := watchReplicas(ctx, server)
		change(ctx, server, func(s *mcpv1alpha1.MCPServer) { s.Spec.Scaling, s.Spec.Replicas = mcpv1alpha1.ScalingExternal, nil })
		Expect(kube.Create(ctx, autoscaler(server, appsv1.SchemeGroupVersion.String(), "Deployment"))).To(Succeed())
		used.Store(150 << 20)
		expectReplicas(ctx, server, 3)
		expectReady(ctx, server)

		By("leaving the number alone when something else of the server changes")
		change(ctx, server, func(s *mcpv1alpha1.MCPServer) {
			s.Spec.Pod.Labels = map[string]mcpv1alpha1.LabelValue{"example.com/round": "2"}
		})
		Eventually(func(g Gomega) {
			d := &appsv1.Deployment{}
			g.Expect(kube.Get(ctx, client.ObjectKeyFromObject(server), d)).To(Succeed())
			g.Expect(d.Spec.Template.Labels).To(HaveKey("example.com/round"))
		}).Should(Succeed())
		expectReplicas(ctx, server, 3)
		expectReady(ctx, server)
		Expect(fewest()).To(BeEquivalentTo(2), "the fewest replicas that were ever asked for")
	}, SpecTimeout(8*time.Minute))
})

// autoscaler wants 100 Mi in each pod.
func autoscaler(server *mcpv1alpha1.MCPServer, version, kind string) *autoscalingv2.HorizontalPodAutoscaler {
	target := resource.MustParse("100Mi")
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: server.Namespace, Name: server.Name},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: version, Kind: kind, Name: server.Name},
			MinReplicas:    new(int32(1)),
			MaxReplicas:    3,
			Metrics: []autoscalingv2.MetricSpec{{
				Type: autoscalingv2.ResourceMetricSourceType,
				Resource: &autoscalingv2.ResourceMetricSource{
					Name:   corev1.ResourceMemory,
					Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: &target},
				},
			}},
			Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{
				ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32(0))},
			},
		},
	}
}

// expectReplicas waits until as many pods are asked for, and serve.
func expectReplicas(ctx context.Context, server *mcpv1alpha1.MCPServer, want int32) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		d := &appsv1.Deployment{}
		g.Expect(kube.Get(ctx, client.ObjectKeyFromObject(server), d)).To(Succeed())
		g.Expect(d.Spec.Replicas).To(HaveValue(Equal(want)))
		g.Expect(d.Status.Replicas).To(Equal(want))
		g.Expect(d.Status.AvailableReplicas).To(Equal(want))
	}).Should(Succeed())
}

// watchReplicas follows every version of a Deployment; the function that it gives tells the fewest replicas of all so far.
func watchReplicas(ctx context.Context, server *mcpv1alpha1.MCPServer) (fewest func() int32) {
	GinkgoHelper()
	first, err := typed.AppsV1().Deployments(server.Namespace).Get(ctx, server.Name, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	versions, err := typed.AppsV1().Deployments(server.Namespace).Watch(ctx, metav1.ListOptions{
		FieldSelector: "metadata.name=" + server.Name, ResourceVersion: first.ResourceVersion,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(versions.Stop)
	least := *first.Spec.Replicas
	return func() int32 {
		for {
			select {
			case event := <-versions.ResultChan():
				d, ok := event.Object.(*appsv1.Deployment)
				Expect(ok).To(BeTrue(), "the watch ended: %v", event)
				least = min(least, *d.Spec.Replicas)
			default:
				return least
			}
		}
	}
}
