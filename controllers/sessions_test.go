// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/testutil/fakecluster"
)

var _ = Describe("What sessions list and discovery does not", func() {
	var w *world
	var pod *corev1.Pod
	BeforeEach(func() { w = newWorld() })

	// inSessions has clients' sessions of the pod list definitions beside its catalogue.
	inSessions := func(definitions ...string) {
		GinkgoHelper()
		w.dispatchers.Say(string(pod.UID), func(s *registry.State) {
			s.Sessions.Tools = fakecluster.CatalogueOf(definitions...).Tools
		})
		w.settleEnforced(pod)
	}
	digestOf := func(definition string) string { return fakecluster.CatalogueOf(definition).Tools[0].Digest }
	discovered := func() (reason, words string) {
		GinkgoHelper()
		list := w.getServer("files").Status.Conditions
		return condition(list, "Discovered"), message(list, "Discovered")
	}
	further := fakecluster.Definition("remove", fakecluster.ReadOnly)

	It("is told of the tool and of the server, once, and not any more when it is gone", func() {
		pod = w.listing("", readFile)
		w.told()
		inSessions(readFileMode)
		t := w.getTool("files.read-file")
		Expect(w.registered("files.read-file")).To(Equal("True/Registered"))
		Expect(*t.Status.Observed).To(And(HaveField("Variants", BeEquivalentTo(2)), HaveField("SessionVariants", BeEquivalentTo(1)), HaveField("Digest", digestOf(readFile))))
		Expect(message(t.Status.Conditions, "Registered")).To(ContainSubstring("sessions list another definition of it, " + digestOf(readFileMode)))
		Expect(w.served("read_file").Digest).To(Equal(digestOf(readFile)))
		reason, words := discovered()
		Expect(reason).To(Equal("True/ToolsWithheld"))
		Expect(words).To(Equal("1 tool; sessions list otherwise than discovery: read_file"))
		Expect(w.told()).To(ContainElement(And(HavePrefix("Warning DefinitionChanged"), ContainSubstring("sessions list another definition of it"))))

		By("writing nothing at rest, nor at a restart of the manager")
		rest := w.writes.count()
		w.settleEnforced(pod)
		w.restart()
		w.settleEnforced(pod)
		Expect(w.writes.since(rest)).To(BeEmpty())
		Expect(w.told()).To(BeEmpty())

		inSessions()
		Expect(*w.getTool("files.read-file").Status.Observed).To(And(HaveField("Variants", BeEquivalentTo(1)), HaveField("SessionVariants", BeEquivalentTo(0))))
		Expect(message(w.getTool("files.read-file").Status.Conditions, "Registered")).To(BeEmpty())
		reason, _ = discovered()
		Expect(reason).To(Equal("True/Discovered"))
	})

	It("gets an MCPTool that is withheld until a person admits it, and goes with what lists it", func() {
		pod = w.listing("", readFile)
		inSessions(further)
		t := w.getTool("files.remove")
		Expect(w.registered("files.remove")).To(Equal("False/NotListed"))
		Expect(message(t.Status.Conditions, "Registered")).To(Equal(
			"sessions list it and discovery does not, so that nothing admits it by itself; to admit it, set spec.pin.digest to " + digestOf(further)))
		Expect(t.Status.Pins).To(BeEmpty())
		Expect(w.served("remove")).To(And(HaveField("Digest", BeEmpty()), HaveField("Withheld", "DefinitionChanged")))
		Expect(w.getServer("files").Status.ToolsCount).To(HaveValue(BeEquivalentTo(1)))

		By("forgetting it")
		inSessions()
		Expect(apierrors.IsNotFound(kubectl.Get(w.ctx, client.ObjectKeyFromObject(t), t))).To(BeTrue())

		By("admitting it")
		inSessions(further)
		change(w, w.getTool("files.remove"), func(t *mcpv1alpha1.MCPTool) { t.Spec.Pin = &mcpv1alpha1.Pin{Digest: digestOf(further)} })
		w.settleEnforced(pod)
		Expect(w.registered("files.remove")).To(Equal("True/Registered"))
		Expect(w.served("remove")).To(And(HaveField("Digest", digestOf(further)), HaveField("Withheld", BeEmpty())))
	})

	It("takes no tool of a like name from anybody", func() {
		pod = w.listing("", readFile)
		inSessions(takes("Read_File", `"path":{"type":"string"}`, `"path"`))
		Expect(w.registered("files.read-file")).To(Equal("True/Registered"))
		Expect(w.served("read_file").Withheld).To(BeEmpty())
		Expect(w.served("Read_File").Digest).To(BeEmpty())
		Expect(w.served("Read_File").Withheld).To(Equal("DefinitionChanged"))
	})

	It("is served by nobody before there is an MCPTool of it, with pinning Off", func() {
		pod = w.listing(mcpv1alpha1.PinningOff, readFile)
		inSessions(further)
		revision, err := render.Revision(w.getServer("files"))
		Expect(err).NotTo(HaveOccurred())
		Expect(w.decoded("files").Revisions[revision].Tools).To(ConsistOf(HaveField("Name", "read_file")))
		_, words := discovered()
		Expect(words).To(ContainSubstring("remove (which nothing serves before there is an MCPTool of it)"))
	})
})
