// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/render"
)

var _ = Describe("MCPTools whose server is deleted", func() {
	const object = "files.read-file"
	var w *world
	there := func() error {
		return kubectl.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: object}, &mcpv1alpha1.MCPTool{})
	}
	// orphan deletes the server as with --cascade=orphan: the garbage collector takes it out of what it owned.
	orphan := func() {
		GinkgoHelper()
		change(w, w.getTool(object), func(t *mcpv1alpha1.MCPTool) { t.OwnerReferences = nil })
		Expect(kubectl.Delete(w.ctx, w.getServer("files"))).To(Succeed())
		w.settle()
	}

	BeforeEach(func() {
		w = newWorld()
		w.listing("", readFile)
	})

	It("are collected where nothing owns them any more", func() {
		orphan()
		Expect(there()).To(MatchError(apierrors.IsNotFound, "IsNotFound"))
	})

	It("stay where a person has a word in them", func() {
		change(w, w.getTool(object), func(t *mcpv1alpha1.MCPTool) { t.Spec.State = mcpv1alpha1.StateDisabled })
		w.settle()
		orphan()
		Expect(condition(w.getTool(object).Status.Conditions, "Registered")).To(Equal("False/Gone"))
	})

	It("stay for the garbage collector where the server owns them", func() {
		Expect(kubectl.Delete(w.ctx, w.getServer("files"))).To(Succeed())
		w.settle()
		Expect(there()).To(Succeed())
	})

	It("are made anew, with what the new server lists first, where one of its name comes before they are collected", func() {
		first := w.getTool(object)
		Expect(kubectl.Delete(w.ctx, w.getServer("files"))).To(Succeed())
		named := metav1.ObjectMeta{Namespace: w.namespace, Name: "files"}
		for _, child := range []client.Object{
			&appsv1.Deployment{ObjectMeta: named}, &corev1.Service{ObjectMeta: named}, &corev1.ServiceAccount{ObjectMeta: named}, &networkingv1.NetworkPolicy{ObjectMeta: named},
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: render.RegistryName("files")}},
		} {
			Expect(kubectl.Delete(w.ctx, child)).To(Succeed())
		}
		Expect(kubectl.DeleteAllOf(w.ctx, &appsv1.ReplicaSet{}, client.InNamespace(w.namespace))).To(Succeed())
		w.create(w.server("files"))
		w.settle()
		Expect(there()).To(MatchError(apierrors.IsNotFound, "IsNotFound"))
		next := w.runPod("files", readFileMode)
		w.settleEnforced(next)
		again := w.getTool(object)
		Expect(again.UID).NotTo(Equal(first.UID))
		Expect(condition(again.Status.Conditions, "Registered")).To(Equal("True/Registered"))
		Expect(again.Status.Observed.Digest).NotTo(Equal(first.Status.Observed.Digest))
	})

	It("keep what a person said for the next server of that name", func() {
		change(w, w.getTool(object), func(t *mcpv1alpha1.MCPTool) { t.Spec.State = mcpv1alpha1.StateDisabled })
		w.settle()
		first := w.getTool(object)
		Expect(kubectl.Delete(w.ctx, w.getServer("files"))).To(Succeed())
		w.create(w.server("files"))
		w.settle()
		Expect(w.getTool(object).UID).To(Equal(first.UID))
	})
})
