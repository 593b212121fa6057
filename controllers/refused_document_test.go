// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/writes"
	"toolgate.dev/toolgate/internal/testutil/fakecluster"
)

var _ = Describe("A document that is not the one that was asked for", func() {
	var w *world
	var pod *corev1.Pod
	BeforeEach(func() {
		w = newWorld()
		w.create(w.server("files"))
		w.settle()
		pod = w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly), fakecluster.Definition("list_files", fakecluster.ReadOnly))
		w.settleEnforced(pod)
		Expect(condition(w.getServer("files").Status.Conditions, "Ready")).To(Equal("True/Ready"))
	})
	tool := func(name string) string {
		GinkgoHelper()
		return condition(w.getTool(name).Status.Conditions, "Callable")
	}

	It("since a field says what only another release knows, is told of and stays in force", func() {
		change(w, w.getTool("files.list-files"), func(t *mcpv1alpha1.MCPTool) { t.Spec.State = mcpv1alpha1.StateDisabled })
		w.settleEnforced(pod)
		before := w.document("files")
		loosen(func(spec *apiextensionsv1.JSONSchemaProps) {
			field := spec.Properties["validation"].Properties["arguments"]
			field.Enum = append(field.Enum, apiextensionsv1.JSON{Raw: []byte(`"Later"`)})
			spec.Properties["validation"].Properties["arguments"] = field
		})
		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Spec.Validation.Arguments = "Later" })
		change(w, w.getTool("files.list-files"), func(t *mcpv1alpha1.MCPTool) { t.Spec.State = mcpv1alpha1.StateEnabled })
		w.settle()
		s := w.getServer("files")
		for _, kind := range []string{"Accepted", "Enforced", "Ready"} {
			Expect(condition(s.Status.Conditions, kind)).To(Equal("False/InvalidSpec"), kind)
			Expect(message(s.Status.Conditions, kind)).To(And(ContainSubstring(`"Later" is not one of Enforce, Warn, Off`), ContainSubstring("stays in force")), kind)
		}
		Expect(s.Status.ObservedGeneration).To(Equal(s.Generation))
		Expect(condition(s.Status.Conditions, "Available")).To(Equal("True/Available"))
		Expect(w.document("files")).To(Equal(before))
		Expect(tool("files.read-file")).To(Equal("True/Callable"), "the last document lets it through")
		Expect(tool("files.list-files")).To(Equal("False/InvalidSpec"), "the last document withholds it")

		change(w, s, func(s *mcpv1alpha1.MCPServer) { s.Spec.Validation.Arguments = mcpv1alpha1.ValidationWarn })
		w.settleEnforced(pod)
		Expect(condition(w.getServer("files").Status.Conditions, "Ready")).To(Equal("True/Ready"))
		Expect(tool("files.list-files")).To(Equal("True/Callable"))
	})

	It("since the spec is not valid, is told of and stays in force", func() {
		loosen(func(spec *apiextensionsv1.JSONSchemaProps) { spec.XValidations = nil })
		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Spec.Container.Command = nil })
		w.settle()
		before := w.document("files")
		for _, edit := range []func(*mcpv1alpha1.MCPServer){
			func(s *mcpv1alpha1.MCPServer) { s.Spec.Trust.State = mcpv1alpha1.Trusted },
			func(s *mcpv1alpha1.MCPServer) { s.Spec.Trust.State = mcpv1alpha1.Untrusted },
		} {
			change(w, w.getServer("files"), edit)
			w.settle()
			s := w.getServer("files")
			for _, kind := range []string{"Accepted", "Enforced", "Ready"} {
				Expect(condition(s.Status.Conditions, kind)).To(Equal("False/InvalidSpec"), kind)
				Expect(message(s.Status.Conditions, kind)).To(ContainSubstring("spec.container.command is empty"), kind)
			}
			Expect(w.document("files")).To(Equal(before))
			Expect(tool("files.read-file")).To(Equal("True/Callable"))
		}

		By("taking the pods away all the same when it is disabled, and nothing else of the Deployment")
		deployment := func() *appsv1.Deployment {
			GinkgoHelper()
			var d appsv1.Deployment
			Expect(kubectl.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: "files"}, &d)).To(Succeed())
			return &d
		}
		was := deployment()
		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Spec.State = mcpv1alpha1.StateDisabled })
		w.settle()
		is := deployment()
		Expect(is.Spec.Replicas).To(HaveValue(BeZero()))
		Expect(is.Spec.Template).To(Equal(was.Spec.Template))
		Expect(is.Annotations).To(Equal(was.Annotations))
		Expect(is.Labels).To(Equal(was.Labels))
		Expect(is.OwnerReferences).To(Equal(was.OwnerReferences))
		Expect(condition(w.getServer("files").Status.Conditions, "Available")).To(Equal("False/Disabled"))

		By("being as before when it is valid")
		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) {
			s.Spec.Container.Command, s.Spec.State = []string{"files"}, mcpv1alpha1.StateEnabled
		})
		w.settleEnforced(pod)
		Expect(condition(w.getServer("files").Status.Conditions, "Ready")).To(Equal("True/Ready"))
		Expect(deployment().Spec.Replicas).To(HaveValue(BeEquivalentTo(1)))
		Expect(deployment().Spec.Template).To(Equal(was.Spec.Template))
	})

	It("since the API server refuses it, is told of also while it does not answer", func() {
		whole := w.Registry.Apply
		answering := func(err error) {
			w.Registry.Apply = &writes.Applier{Client: deafClient{whole.Client, err}, Live: whole.Live}
		}
		answering(apierrors.NewForbidden(corev1.Resource("configmaps"), "files.registry", errors.New("exceeded quota")))
		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Spec.TimeoutSeconds = new(int32(41)) })
		w.settle()
		accepted := func() string { return condition(w.getServer("files").Status.Conditions, "Accepted") }
		Expect(accepted()).To(Equal("False/ApplyFailed"))
		Expect(condition(w.getServer("files").Status.Conditions, "Enforced")).To(Equal("False/ApplyFailed"))

		answering(apierrors.NewServerTimeout(corev1.Resource("configmaps"), "patch", 1))
		count := w.writes.count()
		_, err := reconcile.AsReconciler(w.client, w.Registry).Reconcile(w.ctx, w.request("files"))
		Expect(apierrors.IsServerTimeout(err)).To(BeTrue())
		_, err = reconcile.AsReconciler(w.client, w.Server).Reconcile(w.ctx, w.request("files"))
		Expect(err).NotTo(HaveOccurred())
		Expect(accepted()).To(Equal("False/ApplyFailed"))
		Expect(w.writes.since(count)).To(BeEmpty())

		w.Registry.Apply = whole
		w.settleEnforced(pod)
		Expect(condition(w.getServer("files").Status.Conditions, "Ready")).To(Equal("True/Ready"))
	})

	It("lets through what it lets through, whatever is asked for meanwhile and whichever manager is asked", func() {
		full := apierrors.NewForbidden(corev1.Resource("configmaps"), "files.registry", errors.New("exceeded quota"))
		refuse := func() {
			w.Registry.Apply = &writes.Applier{Client: deafClient{w.Registry.Apply.Client, full}, Live: w.Registry.Apply.Live}
		}
		discover := func() {
			GinkgoHelper()
			w.seen()
			_, err := w.Discovery.Reconcile(w.ctx, w.request("files"))
			Expect(err).NotTo(HaveOccurred())
			w.seen()
		}
		change(w, w.getTool("files.list-files"), func(t *mcpv1alpha1.MCPTool) { t.Spec.State = mcpv1alpha1.StateDisabled })
		w.settleEnforced(pod)
		refuse()
		change(w, w.getTool("files.list-files"), func(t *mcpv1alpha1.MCPTool) { t.Spec.State = mcpv1alpha1.StateEnabled })

		By("taking back what was said of a tool before the attempt")
		discover()
		Expect(tool("files.list-files")).To(Equal("True/Callable"))
		w.settle()
		Expect(tool("files.list-files")).To(Equal("False/ApplyFailed"))
		Expect(tool("files.read-file")).To(Equal("True/Callable"))

		By("saying of a tool that ought to be withheld that it is not")
		change(w, w.getTool("files.read-file"), func(t *mcpv1alpha1.MCPTool) { t.Spec.State = mcpv1alpha1.StateDisabled })
		w.settle()
		Expect(condition(w.getTool("files.read-file").Status.Conditions, "Ready")).To(Equal("False/Disabled"))
		Expect(tool("files.read-file")).To(Equal("True/ApplyFailed"))
		Expect(message(w.getTool("files.read-file").Status.Conditions, "Callable")).To(HavePrefix("what withholds it (Disabled) is in no document of MCPServer files yet: "))

		By("writing nothing of either when another manager takes over")
		count := w.writes.count()
		w.restart()
		refuse()
		discover()
		w.settle()
		Expect(w.writes.since(count)).To(BeEmpty())

		By("being as asked for once it can be written")
		w.restart()
		discover()
		Expect(w.writes.since(count)).To(BeEmpty())
		w.settleEnforced(pod)
		Expect(tool("files.list-files")).To(Equal("True/Callable"))
		Expect(tool("files.read-file")).To(Equal("False/Disabled"))
	})

	It("since it does not fit, and the one that denies everything can't be written, stays in force", func() {
		whole := w.Registry.Apply
		full := apierrors.NewForbidden(corev1.Resource("configmaps"), "files.registry", errors.New("exceeded quota"))
		w.Registry.Apply = &writes.Applier{Client: deafClient{whole.Client, full}, Live: whole.Live}
		before := w.document("files")
		w.create(hugeRuleSet(w.namespace))
		w.settle()
		Expect(w.document("files")).To(Equal(before))
		for _, kind := range []string{"Accepted", "Enforced"} {
			Expect(condition(w.getServer("files").Status.Conditions, kind)).To(Equal("False/ApplyFailed"), kind)
		}
		Expect(tool("files.read-file")).To(Equal("True/Callable"), "the last document lets it through")

		w.Registry.Apply = whole
		w.settleEnforced(pod)
		Expect(condition(w.getServer("files").Status.Conditions, "Enforced")).To(Equal("False/RegistryTooLarge"))
		Expect(tool("files.read-file")).To(Equal("False/RegistryTooLarge"))
	})
})

// deafClient answers every apply with an error.
type deafClient struct {
	client.Client
	err error
}

func (c deafClient) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return c.err
}

// loosen lets specs of servers in that today's CRD refuses, as one of a later release does, or one that was older than a rule. It
// is undone after the spec.
func loosen(edit func(spec *apiextensionsv1.JSONSchemaProps)) {
	GinkgoHelper()
	crds := runtime.NewScheme()
	Expect(apiextensionsv1.AddToScheme(crds)).To(Succeed())
	c, err := client.New(config, client.Options{Scheme: crds})
	Expect(err).NotTo(HaveOccurred())
	replace := func(edit func(*apiextensionsv1.JSONSchemaProps)) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			var crd apiextensionsv1.CustomResourceDefinition
			g.Expect(c.Get(context.Background(), client.ObjectKey{Name: "mcpservers.mcp.toolgate.dev"}, &crd)).To(Succeed())
			schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
			spec := schema.Properties["spec"]
			edit(&spec)
			schema.Properties["spec"] = spec
			g.Expect(c.Update(context.Background(), &crd)).To(Succeed())
		}).Should(Succeed())
	}
	var before apiextensionsv1.JSONSchemaProps
	replace(func(spec *apiextensionsv1.JSONSchemaProps) {
		spec.DeepCopyInto(&before)
		edit(spec)
	})
	DeferCleanup(replace, func(spec *apiextensionsv1.JSONSchemaProps) { *spec = before })
}
