// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render"
)

// scale writes the scale subresource, as kubectl scale and autoscalers do.
func (w *world) scale(o client.Object, replicas int32) {
	GinkgoHelper()
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	Expect(client.WithFieldOwner(kubectl, "autoscaler").SubResource("scale").Update(w.ctx, o, client.WithSubResourceBody(scale))).To(Succeed())
}

func (w *world) deployment(name string) *appsv1.Deployment {
	GinkgoHelper()
	d := &appsv1.Deployment{}
	Expect(kubectl.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, d)).To(Succeed())
	return d
}

// replicasOf settles and gives what the Deployment asks for.
func (w *world) replicasOf(name string) int32 {
	GinkgoHelper()
	w.settle()
	return *w.deployment(name).Spec.Replicas
}

func external(s *mcpv1alpha1.MCPServer) { s.Spec.Scaling = mcpv1alpha1.ScalingExternal }

var _ = Describe("The replicas of an MCPServer", func() {
	var w *world
	BeforeEach(func() { w = newWorld() })

	It("follow the scale subresource, which tells autoscalers pods and selector (ToolHive 3329: kubectl scale reverted to 1)", func() {
		w.create(w.server("files"))
		w.settle()
		w.scale(w.getServer("files"), 3)
		Expect(w.replicasOf("files")).To(BeEquivalentTo(3))
		d := w.deployment("files")
		d.Status.Replicas = 3
		Expect(kubectl.Status().Update(w.ctx, d)).To(Succeed())
		w.settle()

		scale := &autoscalingv1.Scale{}
		Expect(kubectl.SubResource("scale").Get(w.ctx, w.getServer("files"), scale)).To(Succeed())
		Expect(scale.Spec.Replicas).To(BeEquivalentTo(3))
		Expect(scale.Status.Replicas).To(BeEquivalentTo(3))
		selector, err := metav1.ParseToLabelSelector(scale.Status.Selector)
		Expect(err).NotTo(HaveOccurred())
		Expect(selector.MatchLabels).To(Equal(d.Spec.Selector.MatchLabels))

		w.scale(w.getServer("files"), 0)
		Expect(w.replicasOf("files")).To(BeZero())
		Expect(condition(w.getServer("files").Status.Conditions, "Ready")).To(Equal("False/ScaledToZero"))
	})

	It("stay an autoscaler's, are never reset on the way to it, and become spec.replicas on the way back", func() {
		w.create(w.server("files", func(s *mcpv1alpha1.MCPServer) { s.Spec.Replicas = new(int32(4)) }))
		Expect(w.replicasOf("files")).To(BeEquivalentTo(4))

		change(w, w.getServer("files"), external)
		w.seen()
		generation := w.deployment("files").Generation
		Expect(w.replicasOf("files")).To(BeEquivalentTo(4), "going over changes nothing")
		Expect(w.deployment("files").Generation).To(Equal(generation), "not even for a moment")

		w.scale(w.deployment("files"), 7)
		Expect(w.replicasOf("files")).To(BeEquivalentTo(7))
		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) {
			s.Spec.Container.Image, s.Spec.Replicas = "example.com/files:2", new(int32(1))
		})
		Expect(w.replicasOf("files")).To(BeEquivalentTo(7), "a rollout and spec.replicas leave it alone")
		Expect(w.deployment("files").Spec.Template.Spec.Containers[0].Image).To(Equal("example.com/files:2"))
		rest := w.writes.count()
		w.restart()
		w.settle()
		Expect(w.writes.since(rest)).To(BeEmpty())

		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) {
			s.Spec.Scaling, s.Spec.Replicas = mcpv1alpha1.ScalingInternal, new(int32(6))
		})
		w.seen()
		generation = w.deployment("files").Generation
		Expect(w.replicasOf("files")).To(BeEquivalentTo(6))
		Expect(w.deployment("files").Generation).To(Equal(generation+1), "in one step, by way of no other number")
	})

	It("stay an autoscaler's, with the pods as they are, when somebody takes the labels off the Deployment", func() {
		w.create(w.server("files", external))
		w.settle()
		w.scale(w.deployment("files"), 20)
		template := w.deployment("files").Spec.Template
		Expect(w.replicasOf("files")).To(BeEquivalentTo(20))
		document := w.decoded("files")

		change(w, w.deployment("files"), func(d *appsv1.Deployment) { d.Labels = nil })
		Expect(w.replicasOf("files")).To(BeEquivalentTo(20))
		Expect(w.deployment("files").Labels).To(HaveKeyWithValue(render.LabelManagedBy, render.ManagedBy))
		Expect(w.deployment("files").Spec.Template).To(Equal(template))
		Expect(w.decoded("files")).To(Equal(document), "it is one for as many replicas as before")
	})

	It("begin with what the spec says when they are an autoscaler's, also after a time out of service", func() {
		w.create(w.server("files", external, func(s *mcpv1alpha1.MCPServer) { s.Spec.Replicas = new(int32(3)) }))
		Expect(w.replicasOf("files")).To(BeEquivalentTo(3))
		w.scale(w.deployment("files"), 5)
		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Spec.State = mcpv1alpha1.StateDisabled })
		Expect(w.replicasOf("files")).To(BeZero())
		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Spec.State = mcpv1alpha1.StateEnabled })
		Expect(w.replicasOf("files")).To(BeEquivalentTo(3))
		w.scale(w.deployment("files"), 2)
		Expect(w.replicasOf("files")).To(BeEquivalentTo(2))
		Expect(w.decoded("files").Policy.Limits.RequestsPerMinute).To(Equal(50), "each of two replicas enforces its share")

		w.scale(w.deployment("files"), 0)
		Expect(w.replicasOf("files")).To(BeZero())
		Expect(condition(w.getServer("files").Status.Conditions, "Ready")).To(Equal("False/ScaledToZero"))
		Expect(message(w.getServer("files").Status.Conditions, "Ready")).To(ContainSubstring("External"))
	})

	It("are kept from being evicted all at once, where there are several", func() {
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "files"}}
		there := func() error { w.settle(); return kubectl.Get(w.ctx, client.ObjectKeyFromObject(budget), budget) }
		w.create(w.server("files"))
		Expect(apierrors.IsNotFound(there())).To(BeTrue())
		w.scale(w.getServer("files"), 2)
		Expect(there()).To(Succeed())
		Expect(budget.Spec.Selector.MatchLabels).To(Equal(w.deployment("files").Spec.Selector.MatchLabels))
		change(w, budget, func(b *policyv1.PodDisruptionBudget) { b.Spec.MaxUnavailable.StrVal = "100%" })
		Expect(there()).To(Succeed())
		Expect(budget.Spec.MaxUnavailable.StrVal).To(Equal("25%"))
		w.scale(w.getServer("files"), 1)
		Expect(apierrors.IsNotFound(there())).To(BeTrue())
		change(w, w.getServer("files"), external)
		Expect(there()).To(Succeed())
	})
})
