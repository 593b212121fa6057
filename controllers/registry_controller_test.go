// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/registry/shard"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/testutil/fakecluster"
)

var _ = Describe("The registry document", func() {
	var w *world
	BeforeEach(func() { w = newWorld() })

	It("is there before the pods, and denies everything", func() {
		w.create(w.server("files"))
		w.seen()
		_, err := reconcile.AsReconciler(w.client, w.Server).Reconcile(w.ctx, w.request("files"))
		Expect(err).NotTo(HaveOccurred())
		var d metav1.PartialObjectMetadata
		d.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Service"))
		Expect(kubectl.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: "files"}, &d)).To(Succeed())
		Expect(w.writes.since(0)).NotTo(ContainElement(ContainSubstring("/deployments/")))
		w.settle()
		Expect(w.writes.since(0)).To(ContainElement(ContainSubstring("/deployments/")))
		doc := w.decoded("files")
		Expect(doc.Revisions).To(HaveLen(1))
		for _, rev := range doc.Revisions {
			Expect(rev.Tools).To(BeEmpty())
		}
	})

	It("is rid of what somebody puts beside it, which dispatchers would read before it", func() {
		w.create(w.server("files"))
		w.settle()
		key := client.ObjectKey{Namespace: w.namespace, Name: render.RegistryName("files")}
		cm := &corev1.ConfigMap{}
		Expect(kubectl.Get(w.ctx, key, cm)).To(Succeed())
		cm.Data[shard.RootFile] = cm.Data[registry.FileName]
		cm.BinaryData = map[string][]byte{shard.File(0): []byte("theirs")}
		Expect(kubectl.Update(w.ctx, cm)).To(Succeed())
		w.settle()
		Expect(kubectl.Get(w.ctx, key, cm)).To(Succeed())
		Expect(cm.BinaryData).To(BeEmpty())
		Expect(cm.Data).NotTo(HaveKey(shard.RootFile))
		before := w.writes.count()
		w.settle()
		Expect(w.writes.since(before)).To(BeEmpty())
	})

	It("rises by one with each change of its content, and by none without", func() {
		w.create(w.server("files"))
		w.settle()
		for i := range 3 {
			before := w.decoded("files").Sequence
			change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Spec.TimeoutSeconds = new(int32(40 + i)) })
			w.settle()
			Expect(w.decoded("files").Sequence).To(Equal(before + 1))
		}
		before := w.decoded("files").Sequence
		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Spec.Trust.Reason = "asked for" })
		w.settle()
		Expect(w.decoded("files").Sequence).To(Equal(before))
	})

	It("is urged into a pod at once and over ten seconds, and then left to the kubelet", func() {
		w.create(w.server("files"))
		w.settle()
		pod := w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly))
		w.settleEnforced(pod)
		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Spec.Trust.State = mcpv1alpha1.Trusted })
		w.seen()
		urged := func() (annotation string, wait time.Duration) {
			GinkgoHelper()
			result, err := reconcile.AsReconciler(w.client, w.Registry).Reconcile(w.ctx, w.request("files"))
			Expect(err).NotTo(HaveOccurred())
			Expect(kubectl.Get(w.ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
			return pod.Annotations[render.AnnotationRegistryDigest], result.RequeueAfter
		}
		var step time.Duration
		for i, wait := range []time.Duration{150 * time.Millisecond, 250 * time.Millisecond, 600 * time.Millisecond, 2 * time.Second, 7 * time.Second, 0} {
			w.clock.Step(step)
			annotation, again := urged()
			Expect(annotation).To(Equal(fmt.Sprintf("%s.%d", registry.Digest(w.document("files")), i+1)))
			Expect(again).To(Equal(wait))
			step = wait
		}
		w.clock.Step(time.Hour)
		before := w.writes.count()
		urged()
		Expect(w.writes.since(before)).To(BeEmpty())
	})
})
