// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/applied"
	"toolgate.dev/toolgate/internal/render"
)

var _ = Describe("A child", func() {
	var w *world
	BeforeEach(func() { w = newWorld() })

	It("is the same from the cache and from the API server, and is marked as ours", func() {
		s := w.server("files")
		s.Spec.Replicas = new(int32(3))
		w.create(s)
		w.settle()
		named := metav1.ObjectMeta{Namespace: w.namespace, Name: "files"}
		for _, o := range []client.Object{
			&appsv1.Deployment{ObjectMeta: named},
			&corev1.Service{ObjectMeta: named},
			&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: render.PeersName("files")}},
			&corev1.ServiceAccount{ObjectMeta: named},
			&networkingv1.NetworkPolicy{ObjectMeta: named},
			&policyv1.PodDisruptionBudget{ObjectMeta: named},
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: render.RegistryName("files")}},
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: render.IndexName}},
		} {
			live := o.DeepCopyObject().(client.Object)
			Expect(kubectl.Get(w.ctx, client.ObjectKeyFromObject(o), live)).To(Succeed(), "%T", o)
			applied.Reduce(live)
			Expect(w.client.Get(w.ctx, client.ObjectKeyFromObject(o), o)).To(Succeed(), "%T", o)
			live.GetObjectKind().SetGroupVersionKind(o.GetObjectKind().GroupVersionKind()) // which a cache adds
			Expect(o).To(Equal(live))
			Expect(applied.Of(o)).NotTo(Equal(applied.Mark{}), "%T", o)
		}
	})
})

var _ = Describe("The index", func() {
	var w *world
	var cm *corev1.ConfigMap
	BeforeEach(func() {
		w = newWorld()
		cm = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: render.IndexName}}
	})

	It("comes back where somebody took off its labels and then took out its content", func() {
		w.create(w.server("files"))
		w.settle()
		change(w, cm, func(cm *corev1.ConfigMap) { cm.Labels = nil })
		change(w, cm, func(cm *corev1.ConfigMap) { cm.Data = nil })
		w.settle()
		Expect(w.index()).To(ConsistOf("files"))
	})

	It("comes back where somebody has put something else in it and taken off its labels", func() {
		w.create(w.server("files"))
		w.settle()
		change(w, cm, func(cm *corev1.ConfigMap) { cm.Data = map[string]string{"registry.json": "{}", render.IndexKey: "{}"} })
		change(w, cm, func(cm *corev1.ConfigMap) { cm.Labels = nil })
		w.settle()
		Expect(w.index()).To(ConsistOf("files"))
		Expect(kubectl.Get(w.ctx, client.ObjectKeyFromObject(cm), cm)).To(Succeed())
		Expect(cm.Data).To(HaveLen(1))
	})

	It("stays where the API server has servers that the manager has not heard of yet, and goes with the last one", func() {
		s := w.server("files")
		w.create(s)
		w.settle()
		own := w.Index.Gather.Client
		w.Index.Gather.Client = interceptor.NewClient(&watching{w.client}, interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				if _, ok := list.(*mcpv1alpha1.MCPServerList); ok {
					return nil // as before a server was made again
				}
				return c.List(ctx, list, opts...)
			},
		})
		_, err := w.Index.Reconcile(w.ctx, w.request(render.IndexName))
		Expect(err).NotTo(HaveOccurred())
		Expect(w.index()).To(ConsistOf("files"))
		w.Index.Gather.Client = own
		Expect(kubectl.Delete(w.ctx, s)).To(Succeed())
		w.settle()
		Expect(apierrors.IsNotFound(kubectl.Get(w.ctx, client.ObjectKeyFromObject(cm), cm))).To(BeTrue())
	})

	It("leaves what has its name and something in it, and what is empty where no server asks for it", func() {
		w.create(cm)
		w.settle()
		Expect(kubectl.Get(w.ctx, client.ObjectKeyFromObject(cm), cm)).To(Succeed())
		change(w, cm, func(cm *corev1.ConfigMap) { cm.BinaryData = map[string][]byte{"theirs": {1}} })
		w.create(w.server("files"))
		w.settle()
		Expect(kubectl.Get(w.ctx, client.ObjectKeyFromObject(cm), cm)).To(Succeed())
		Expect(cm.Labels).To(BeEmpty())
		Expect(cm.Data).To(BeEmpty())
		Expect(cm.BinaryData).To(HaveLen(1))
	})
})

// watching is a client as interceptors want one.
type watching struct{ client.Client }

func (*watching) Watch(context.Context, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
	panic("reconcilers watch nothing")
}
