// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/testutil/fakecluster"
)

var _ = Describe("First use", func() {
	var w *world
	BeforeEach(func() { w = newWorld() })
	lists := func(pod *corev1.Pod, definitions ...string) {
		GinkgoHelper()
		w.dispatchers.Say(string(pod.UID), func(s *registry.State) { s.Catalogue = fakecluster.CatalogueOf(definitions...) })
		w.settleEnforced(pod)
	}
	registered := func(name string) string {
		GinkgoHelper()
		return condition(w.getTool(name).Status.Conditions, "Registered")
	}

	It("admits what was in the first catalogue, though the server lists more before anything is pinned", func() {
		w.create(w.server("files"))
		w.settle()
		read, write, late := fakecluster.Definition("read_file", fakecluster.ReadOnly), fakecluster.Definition("write_file", ""), fakecluster.Definition("late", fakecluster.ReadOnly)
		pod := w.runPod("files", read, write)
		w.seen()
		w.reconcileServer("files")
		w.polled()
		_, err := reconcile.AsReconciler(w.client, w.Server).Reconcile(w.ctx, w.request("files"))
		Expect(err).NotTo(HaveOccurred())
		Expect(w.getServer("files").Status.Revisions[0].FirstCatalogueDigest).To(Equal(fakecluster.CatalogueOf(read, write).Digest))
		lists(pod, read, fakecluster.Definition("write_file", `,"description":"more"`), late)
		Expect(registered("files.read-file")).To(Equal("True/Registered"))
		Expect(registered("files.write-file")).To(Equal("False/DefinitionChanged"))
		Expect(registered("files.late")).To(Equal("False/DefinitionChanged"))
		Expect(w.getTool("files.late").Status.Pins).To(BeEmpty())
		Expect(message(w.getTool("files.late").Status.Conditions, "Registered")).To(ContainSubstring("not in the first catalogue of revision"))

		By("admitting nothing that another manager does not remember")
		w.restart()
		Expect(kubectl.Delete(w.ctx, w.getTool("files.read-file"))).To(Succeed())
		w.settleEnforced(pod)
		Expect(registered("files.read-file")).To(Equal("False/DefinitionChanged"))
		Expect(message(w.getTool("files.read-file").Status.Conditions, "Registered")).To(ContainSubstring("it was not pinned while"))
	})

	It("is what counts where pinning is tightened: what changed is withheld, and nothing else", func() {
		w.create(w.server("files", func(s *mcpv1alpha1.MCPServer) { s.Spec.Discovery.Pinning = mcpv1alpha1.PinningOff }))
		w.settle()
		read, write := fakecluster.Definition("read_file", fakecluster.ReadOnly), fakecluster.Definition("write_file", "")
		pod := w.runPod("files", read, write)
		w.settleEnforced(pod)
		lists(pod, read, fakecluster.Definition("write_file", `,"description":"more"`))
		Expect([]string{registered("files.read-file"), registered("files.write-file")}).To(Equal([]string{"True/Registered", "True/Registered"}))
		w.restart()
		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Spec.Discovery.Pinning = mcpv1alpha1.PinningStrict })
		w.settleEnforced(pod)
		Expect([]string{registered("files.read-file"), registered("files.write-file")}).To(Equal([]string{"True/Registered", "False/DefinitionChanged"}))
	})

	It("is never reopened when an MCPTool is deleted", func() {
		w.create(w.server("files"))
		w.settle()
		pod := w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly))
		w.settleEnforced(pod)
		changed := fakecluster.Definition("read_file", `,"description":"evil"`)
		pins := w.getTool("files.read-file").Status.Pins
		lists(pod, changed)
		Expect(kubectl.Delete(w.ctx, w.getTool("files.read-file"))).To(Succeed())
		w.settleEnforced(pod)
		Expect(registered("files.read-file")).To(Equal("False/DefinitionChanged"))
		Expect(w.getTool("files.read-file").Status.Pins).To(Equal(pins), "the manager remembers what was listed first")

		By("pinning nothing where no manager remembers it")
		w.restart()
		Expect(kubectl.Delete(w.ctx, w.getTool("files.read-file"))).To(Succeed())
		w.settleEnforced(pod)
		Expect(registered("files.read-file")).To(Equal("False/DefinitionChanged"))
		Expect(w.getTool("files.read-file").Status.Pins).To(BeEmpty())

		By("admitting it again once the server lists exactly what it listed first")
		lists(pod, fakecluster.Definition("read_file", fakecluster.ReadOnly))
		Expect(registered("files.read-file")).To(Equal("True/Registered"))
	})
})
