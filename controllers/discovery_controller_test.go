// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/library"
	"toolgate.dev/toolgate/controllers/writes"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/testutil/fakecluster"
)

var _ = Describe("Discovery", func() {
	var w *world
	BeforeEach(func() { w = newWorld() })

	// listing makes a server with one pod that lists definitions.
	listing := func(definitions ...string) *corev1.Pod {
		GinkgoHelper()
		w.create(w.server("files"))
		w.settle()
		pod := w.runPod("files", definitions...)
		w.settleEnforced(pod)
		return pod
	}
	lists := func(pod *corev1.Pod, definitions ...string) {
		GinkgoHelper()
		w.dispatchers.Say(string(pod.UID), func(s *registry.State) { s.Catalogue = fakecluster.CatalogueOf(definitions...) })
		w.settleEnforced(pod)
	}
	registered := func(name string) string {
		GinkgoHelper()
		return condition(w.getTool(name).Status.Conditions, "Registered")
	}
	// inDocument is a tool as the dispatchers of the server's current revision see it.
	inDocument := func(tool string) registry.Tool {
		GinkgoHelper()
		revision, err := render.Revision(w.getServer("files"))
		Expect(err).NotTo(HaveOccurred())
		for _, t := range w.decoded("files").Revisions[revision].Tools {
			if t.Name == tool {
				return t
			}
		}
		Fail("tool " + tool + " is not in the document")
		return registry.Tool{}
	}

	It("admits the first catalogue of a revision, and records it before it pins", func() {
		w.create(w.server("files"))
		w.settle()
		pod := w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly))
		w.seen()
		w.reconcileServer("files")
		w.polled()
		By("doing nothing while the catalogue is not recorded")
		_, err := w.Discovery.Reconcile(w.ctx, w.request("files"))
		Expect(err).NotTo(HaveOccurred())
		var tools mcpv1alpha1.MCPToolList
		Expect(kubectl.List(w.ctx, &tools, client.InNamespace(w.namespace))).To(Succeed())
		Expect(tools.Items).To(BeEmpty())

		w.settleEnforced(pod)
		s := w.getServer("files")
		Expect(s.Status.Revisions).To(HaveLen(1))
		Expect(s.Status.Revisions[0].FirstCatalogueDigest).To(Equal(fakecluster.CatalogueOf(fakecluster.Definition("read_file", fakecluster.ReadOnly)).Digest))
		t := w.getTool("files.read-file")
		Expect(registered("files.read-file")).To(Equal("True/Registered"))
		Expect(t.Status.Pins).To(ConsistOf(mcpv1alpha1.RevisionPin{Revision: s.Status.Revisions[0].Name, Digest: t.Status.Observed.Digest}))
		Expect(string(t.Status.Observed.InputSchema.Raw)).To(MatchJSON(`{"type":"object","properties":{"path":{"type":"string"}}}`))
		Expect(inDocument("read_file").Digest).To(Equal(t.Status.Observed.Digest))
		Expect(metav1.GetControllerOf(t).UID).To(Equal(s.UID))
	})

	It("withholds what changes or appears later in the same revision, until a person pins it", func() {
		pod := listing(fakecluster.Definition("read_file", fakecluster.ReadOnly))
		admitted := w.getTool("files.read-file").Status.Observed.Digest
		lists(pod, fakecluster.Definition("read_file", `,"description":"and more"`), fakecluster.Definition("new_tool", fakecluster.ReadOnly))
		Expect(registered("files.read-file")).To(Equal("False/DefinitionChanged"))
		Expect(registered("files.new-tool")).To(Equal("False/DefinitionChanged"))
		Expect(inDocument("read_file").Digest).To(Equal(admitted), "a replica that still lists it goes on serving it")
		Expect(inDocument("new_tool").Digest).To(BeEmpty())
		Expect(inDocument("new_tool").Withheld).To(Equal("DefinitionChanged"))
		Expect(w.getServer("files").Status.Revisions).To(HaveLen(1))
		Expect(condition(w.getServer("files").Status.Conditions, "Discovered")).To(Equal("True/ToolsWithheld"))

		now := w.getTool("files.read-file").Status.Observed.Digest
		change(w, w.getTool("files.read-file"), func(t *mcpv1alpha1.MCPTool) { t.Spec.Pin = &mcpv1alpha1.Pin{Digest: now} })
		w.settleEnforced(pod)
		Expect(registered("files.read-file")).To(Equal("True/Registered"))
		Expect(inDocument("read_file").Digest).To(Equal(now))
	})

	It("leaves managed-by to whoever manages an MCPTool", func() {
		helms := func(edit func(*unstructured.Unstructured)) {
			GinkgoHelper()
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(mcpv1alpha1.GroupVersion.WithKind("MCPTool"))
			u.SetNamespace(w.namespace)
			u.SetName("files.read-file")
			edit(u)
			Expect(kubectl.Apply(w.ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("helm"), client.ForceOwnership)).To(Succeed())
		}
		managedBy := func() string { return w.getTool("files.read-file").Labels[render.LabelManagedBy] }
		helms(func(u *unstructured.Unstructured) {
			u.SetLabels(map[string]string{render.LabelManagedBy: "Helm"})
			u.Object["spec"] = map[string]any{"serverRef": map[string]any{"name": "files"}, "toolName": "read_file", "state": "Enabled"}
		})
		pod := listing(fakecluster.Definition("read_file", fakecluster.ReadOnly))
		Expect(managedBy()).To(Equal("Helm"))
		Expect(w.getTool("files.read-file").Labels).To(HaveKeyWithValue(render.LabelServer, "files"))
		rest := w.writes.count()
		w.settleEnforced(pod)
		Expect(w.writes.since(rest)).To(BeEmpty())

		By("taking the tool over when nobody has a word in it any more, and giving it back")
		helms(func(*unstructured.Unstructured) {})
		w.settleEnforced(pod)
		Expect(managedBy()).To(Equal(render.ManagedBy))
		helms(func(u *unstructured.Unstructured) { u.Object["spec"] = map[string]any{"state": "Enabled"} })
		w.settleEnforced(pod)
		Expect(managedBy()).To(BeEmpty())
		Expect(metav1.GetControllerOf(w.getTool("files.read-file"))).To(BeNil())
	})

	It("admits each revision by itself, and keeps old pods under their own pins", func() {
		old := listing(fakecluster.Definition("read_file", fakecluster.ReadOnly))
		oldDigest := w.getTool("files.read-file").Status.Observed.Digest
		oldRevision := w.getServer("files").Status.Revisions[0].Name
		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Spec.Container.Image = "example.com/files:2" })
		w.settleEnforced(old)
		Expect(registered("files.read-file")).To(Equal("True/Registered"), "judged by what still serves")

		next := w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly+`,"title":"two"`))
		w.settleEnforced(old, next)
		doc := w.decoded("files")
		Expect(doc.Revisions).To(HaveLen(2))
		Expect(doc.Revisions[oldRevision].Tools[0].Digest).To(Equal(oldDigest))
		Expect(inDocument("read_file").Digest).NotTo(Equal(oldDigest))
		Expect(registered("files.read-file")).To(Equal("True/Registered"))

		By("forgetting the old revision's tools when its last pod has gone, and remembering what it listed first")
		Expect(kubectl.Delete(w.ctx, old, client.GracePeriodSeconds(0))).To(Succeed())
		w.settleEnforced(next)
		Expect(w.decoded("files").Revisions).To(HaveLen(1))
		Expect(w.getServer("files").Status.Revisions).To(HaveLen(2))
	})

	It("keeps pins over a restart of the manager while a server has changed", func() {
		pod := listing(fakecluster.Definition("read_file", fakecluster.ReadOnly))
		pins := w.getTool("files.read-file").Status.Pins
		w.restart()
		lists(pod, fakecluster.Definition("read_file", `,"description":"changed while the manager was away"`))
		Expect(registered("files.read-file")).To(Equal("False/DefinitionChanged"))
		Expect(w.getTool("files.read-file").Status.Pins).To(Equal(pins))
	})

	It("says of each tool that can't be checked why", func() {
		pod := listing(
			fakecluster.Definition("good", fakecluster.ReadOnly),
			`{"name":"bare"}`,
			`{"name":"broken","inputSchema":{"type":"object","properties":{"a":{"type":7}}}}`,
			`{"name":7,"inputSchema":{"type":"object"}}`,
			fakecluster.Definition("odd name", fakecluster.ReadOnly),
			fakecluster.Definition("Twin", fakecluster.ReadOnly), fakecluster.Definition("twin", fakecluster.ReadOnly),
			fakecluster.Definition("twice", fakecluster.ReadOnly), fakecluster.Definition("twice", fakecluster.ReadOnly+`,"title":"other"`),
		)
		w.settleEnforced(pod)
		reasons := map[string]string{}
		var tools mcpv1alpha1.MCPToolList
		Expect(kubectl.List(w.ctx, &tools, client.InNamespace(w.namespace))).To(Succeed())
		for _, t := range tools.Items {
			reasons[t.Spec.ToolName] = condition(t.Status.Conditions, "Registered")
		}
		Expect(reasons).To(Equal(map[string]string{
			"good":     "True/Registered",
			"bare":     "False/NoInputSchema",
			"broken":   "False/InvalidSchema",
			"odd name": "False/NameNotDeclared",
			"Twin":     "False/DuplicateName",
			"twin":     "False/DuplicateName",
			"twice":    "False/DuplicateName",
		}))
		for _, name := range []string{"bare", "broken", "odd name", "Twin", "twin", "twice"} {
			Expect(inDocument(name).Withheld).NotTo(BeEmpty(), name)
		}
		Expect(condition(w.getServer("files").Status.Conditions, "Discovered")).To(Equal("True/ToolsWithheld"))
		Expect(message(w.getServer("files").Status.Conditions, "Discovered")).To(ContainSubstring("a tool whose name can't be read (InvalidSchema)"))

		By("letting a person declare one of two that differ in case")
		for _, t := range tools.Items {
			if t.Spec.ToolName == "twin" || t.Spec.ToolName == "odd name" {
				change(w, &t, func(t *mcpv1alpha1.MCPTool) { t.Spec.TimeoutSeconds = new(int32(5)) })
			}
		}
		w.settleEnforced(pod)
		Expect(registered("files.twin")).To(Equal("True/Registered"))
		Expect(inDocument("Twin").Withheld).To(Equal("DuplicateName"))
		Expect(inDocument("odd name").Withheld).To(BeEmpty())
	})

	It("owns an object only while no person has a word in it", func() {
		pod := listing(fakecluster.Definition("read_file", fakecluster.ReadOnly))
		Expect(metav1.GetControllerOf(w.getTool("files.read-file"))).NotTo(BeNil())
		change(w, w.getTool("files.read-file"), func(t *mcpv1alpha1.MCPTool) { t.Spec.State = mcpv1alpha1.StateDisabled })
		w.settleEnforced(pod)
		Expect(metav1.GetControllerOf(w.getTool("files.read-file"))).To(BeNil())
		Expect(registered("files.read-file")).To(Equal("False/Disabled"))
		Expect(inDocument("read_file").Withheld).To(Equal("Disabled"))

		By("outliving the server, and saying so")
		Expect(kubectl.Delete(w.ctx, w.getServer("files"))).To(Succeed())
		w.settle()
		Expect(registered("files.read-file")).To(Equal("False/Gone"))
		Expect(w.getTool("files.read-file").Spec.State).To(Equal(mcpv1alpha1.StateDisabled))
	})

	It("calls a tool gone that is no longer listed, and drops it with the last revision that had it", func() {
		pod := listing(fakecluster.Definition("read_file", fakecluster.ReadOnly), fakecluster.Definition("old_tool", fakecluster.ReadOnly))
		lists(pod, fakecluster.Definition("read_file", fakecluster.ReadOnly))
		Expect(registered("files.old-tool")).To(Equal("False/Gone"))

		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Spec.Container.Image = "example.com/files:2" })
		w.settleEnforced(pod)
		next := w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly))
		w.settleEnforced(pod, next)
		Expect(kubectl.Delete(w.ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
		w.settleEnforced(next)
		var t mcpv1alpha1.MCPTool
		Expect(client.IgnoreNotFound(kubectl.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: "files.old-tool"}, &t))).To(Succeed())
		Expect(t.Name).To(BeEmpty(), "it should have been deleted")
	})

	It("tells of a tool that can't have an MCPTool, and of all others as if it were not there", func() {
		long := strings.Repeat("x", 1025) // spec.toolName takes 1024
		pod := listing(fakecluster.Definition("read_file", fakecluster.ReadOnly), fakecluster.Definition(long, fakecluster.ReadOnly))
		Expect(registered("files.read-file")).To(Equal("True/Registered"))
		status := w.getServer("files").Status
		Expect(condition(status.Conditions, "Discovered")).To(Equal("True/ToolsWithheld"))
		Expect(message(status.Conditions, "Discovered")).To(And(ContainSubstring("1 of 2"), ContainSubstring("ApplyFailed"), ContainSubstring("1024")))
		lists(pod, fakecluster.Definition("read_file", ""), fakecluster.Definition(long, fakecluster.ReadOnly))
		Expect(registered("files.read-file")).To(Equal("False/DefinitionChanged"))
		lists(pod, fakecluster.Definition("read_file", fakecluster.ReadOnly))
		Expect(registered("files.read-file")).To(Equal("True/Registered"))
		Expect(condition(w.getServer("files").Status.Conditions, "Discovered")).To(Equal("True/Discovered"))
	})

	It("says why a tool has no MCPTool where attempts to make it have had no answer for long", func() {
		own := w.Discovery.Apply
		w.Discovery.Apply = &writes.Applier{Live: own.Live, Client: interceptor.NewClient(&watching{own.Client}, interceptor.Funcs{
			Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
				return apierrors.NewInternalError(errors.New("failed calling webhook"))
			},
		})}
		w.create(w.server("files"))
		w.settle()
		pod := w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly))
		pass := func() string {
			for range 2 { // the first records the catalogue
				w.seen()
				w.polled()
				_, err := w.Discovery.Reconcile(w.ctx, w.request("files"))
				Expect(err).To(Or(Succeed(), MatchError(apierrors.IsInternalError, "IsInternalError")))
				_, err = reconcile.AsReconciler(w.client, w.Server).Reconcile(w.ctx, w.request("files"))
				Expect(err).NotTo(HaveOccurred())
			}
			return condition(w.getServer("files").Status.Conditions, "Discovered")
		}
		pass()
		Expect(pass()).To(Equal("False/Progressing"))
		w.clock.Step(library.Silence)
		Expect(pass()).To(Equal("True/ToolsWithheld"))
		Expect(message(w.getServer("files").Status.Conditions, "Discovered")).To(ContainSubstring("failed calling webhook"))

		w.Discovery.Apply = own
		w.clock.Step(time.Minute)
		w.settleEnforced(pod)
		Expect(condition(w.getServer("files").Status.Conditions, "Discovered")).To(Equal("True/Discovered"))
	})

	It("goes on where somebody takes a pod's revision off", func() {
		pod := listing(fakecluster.Definition("read_file", fakecluster.ReadOnly))
		change(w, pod, func(p *corev1.Pod) { delete(p.Labels, render.LabelRevision) })
		w.settle()
		change(w, w.getTool("files.read-file"), func(t *mcpv1alpha1.MCPTool) { t.Spec.State = mcpv1alpha1.StateDisabled })
		w.settle()
		Expect(registered("files.read-file")).To(Equal("False/Disabled"))
	})

	It("tells of a declared tool that the server does not list", func() {
		w.create(w.tool("files", "later", "files.later"))
		pod := listing(fakecluster.Definition("read_file", fakecluster.ReadOnly))
		Expect(registered("files.later")).To(Equal("False/NotListed"))
		lists(pod, fakecluster.Definition("read_file", fakecluster.ReadOnly), fakecluster.Definition("later", fakecluster.ReadOnly))
		Expect(registered("files.later")).To(Equal("False/DefinitionChanged"))
	})

	It("waits for people where pinning is Manual, and for nobody where it is Off", func() {
		w.create(w.server("files", func(s *mcpv1alpha1.MCPServer) { s.Spec.Discovery.Pinning = mcpv1alpha1.PinningManual }))
		w.settle()
		pod := w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly))
		w.settleEnforced(pod)
		Expect(registered("files.read-file")).To(Equal("False/NotPinned"))
		Expect(inDocument("read_file").Withheld).To(Equal("NotPinned"))
		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Spec.Discovery.Pinning = mcpv1alpha1.PinningOff })
		w.settleEnforced(pod)
		Expect(registered("files.read-file")).To(Equal("True/Registered"))
		Expect(inDocument("read_file").Withheld).To(BeEmpty())
	})

	It("counts no pod that only wears the label", func() {
		pod := listing(fakecluster.Definition("read_file", fakecluster.ReadOnly))
		imposter := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "imposter", Labels: pod.Labels},
			Spec:       pod.Spec,
		}
		w.create(imposter)
		imposter.Status.PodIP = "10.0.1.1"
		w.podStatus(imposter, true)
		w.settle()
		Expect(*w.getServer("files").Status.ReadyReplicas).To(BeEquivalentTo(1))
	})

	DescribeTable("tells what a dispatcher says of a server that fails",
		func(state registry.UpstreamState, want, words string) {
			w.create(w.server("files"))
			w.settle()
			pod := w.runPod("files")
			w.podStatus(pod, false)
			w.dispatchers.Say(string(pod.UID), func(s *registry.State) {
				s.Catalogue, s.Ready = nil, false
				s.Upstream = state
				s.Upstream.Phase = registry.UpstreamFailed
				s.Health = registry.HealthState{State: "Unknown"}
			})
			w.settle()
			s := w.getServer("files")
			for _, kind := range []string{"Available", "Discovered", "Healthy", "Ready"} {
				Expect(condition(s.Status.Conditions, kind)).To(Equal("False/"+want), kind)
			}
			Expect(message(s.Status.Conditions, "Ready")).To(ContainSubstring(words))
		},
		Entry("exits at once", registry.UpstreamState{Reason: registry.FailExited, Message: "exit status 1", Stderr: []string{"a", "Cannot find module x"}}, "ServerExited", "Cannot find module x"),
		Entry("speaks no MCP", registry.UpstreamState{Reason: registry.FailNotMCP, Message: "the answer is HTML"}, "NotMCP", "HTML"),
		Entry("hangs", registry.UpstreamState{Reason: registry.FailTimeout, Message: "no answer to initialize in 10 s"}, "ServerTimeout", "no answer"),
		Entry("never starts", registry.UpstreamState{Reason: registry.FailStart, Message: "files: no such file"}, "ServerStartFailed", "no such file"),
	)

	It("tells of a server that lists nothing", func() {
		listing()
		Expect(condition(w.getServer("files").Status.Conditions, "Discovered")).To(Equal("True/CatalogueEmpty"))
	})
})

// tool builds an MCPTool as a person writes it.
func (w *world) tool(server, name, object string) *mcpv1alpha1.MCPTool {
	return &mcpv1alpha1.MCPTool{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: object},
		Spec:       mcpv1alpha1.MCPToolSpec{ServerRef: mcpv1alpha1.ServerRef{Name: server}, ToolName: name},
	}
}
