// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/writes"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/testutil/fakecluster"
)

func withSecret(s *mcpv1alpha1.MCPServer) {
	s.Spec.Container.Env = []mcpv1alpha1.EnvVar{{Name: "TOKEN", SecretKeyRef: &mcpv1alpha1.KeyRef{Name: "web", Key: "token"}}}
}

var _ = Describe("What an MCPServer refers to", func() {
	var w *world
	BeforeEach(func() { w = newWorld() })

	It("tells of nothing that has changed once it is not followed any more, while old pods linger", func() {
		w.create(w.server("files", withSecret))
		w.settle()
		old := w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly))
		w.settleEnforced(old)
		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Spec.RestartOn = mcpv1alpha1.RestartOnNever })
		w.settleEnforced(old)
		w.told()
		w.dispatchers.Say(string(old.UID), func(s *registry.State) {
			s.References = registry.ReferencesState{Changed: []string{"secret.web"}, Digest: "0123"}
		})
		rest := w.writes.count()
		w.settle()
		Expect(w.told()).NotTo(ContainElement(ContainSubstring("ReferencesChanged")))
		Expect(w.writes.since(rest)).To(BeEmpty())
	})

	It("restarts the pods once when its content changes (mcp-lifecycle-operator 140), and our own registry never does", func() {
		w.create(w.server("files", withSecret))
		w.settle()
		old := w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly))
		w.settleEnforced(old)
		before := w.deployment("files")

		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Spec.Trust.State = mcpv1alpha1.Trusted })
		w.settleEnforced(old)
		Expect(w.deployment("files").Generation).To(Equal(before.Generation), "a new registry document restarts nothing")

		w.dispatchers.Say(string(old.UID), func(s *registry.State) {
			s.References = registry.ReferencesState{Changed: []string{"secret.web"}, Digest: "0123"}
		})
		w.settle()
		after := w.deployment("files")
		Expect(after.Generation).To(Equal(before.Generation + 1))
		Expect(after.Spec.Template.Annotations).To(HaveKeyWithValue(render.AnnotationReferences, "0123"))
		Expect(w.told()).To(ContainElement(And(HavePrefix("Normal ReferencesChanged"), ContainSubstring("secret.web"))))
		Expect(after.Spec.Template.Labels).To(Equal(before.Spec.Template.Labels), "it is no other revision: tools that differ are drift")

		fresh := w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly))
		change(w, fresh, func(p *corev1.Pod) { p.Annotations = after.Spec.Template.Annotations })
		w.dispatchers.Say(string(old.UID), func(s *registry.State) { s.References.Digest = "4567" })
		w.settleEnforced(old, fresh)
		Expect(w.deployment("files").Generation).To(Equal(after.Generation), "the pods of before are on their way out and are not asked")
		w.restart()
		rest := w.writes.count()
		w.settle()
		Expect(w.writes.since(rest)).To(BeEmpty())
		Expect(w.told()).NotTo(ContainElement(ContainSubstring("ReferencesChanged")), "it is told once")

		w.dispatchers.Say(string(fresh.UID), func(s *registry.State) {
			s.References = registry.ReferencesState{Changed: []string{"secret.web"}, Digest: "89ab"}
		})
		w.settle()
		Expect(w.deployment("files").Spec.Template.Annotations).To(HaveKeyWithValue(render.AnnotationReferences, "89ab"))

		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Spec.RestartOn = mcpv1alpha1.RestartOnNever })
		w.settle()
		pod := w.deployment("files").Spec.Template
		Expect(pod.Annotations).NotTo(HaveKey(render.AnnotationReferences))
		Expect(pod.Spec.Volumes).NotTo(ContainElement(And(HaveField("Secret", Not(BeNil())), HaveField("Secret.SecretName", "web"))), "the dispatcher no longer sees the Secret")
	})

	It("is told of behind the status, and also where that can't be written", func() {
		w.create(w.server("files", withSecret))
		w.settle()
		pod := w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly))
		w.settleEnforced(pod)
		w.dispatchers.Say(string(pod.UID), func(s *registry.State) {
			s.References = registry.ReferencesState{Changed: []string{"secret.web"}, Digest: "0123"}
		})
		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Spec.Trust.State = mcpv1alpha1.Trusted })
		w.seen()
		w.polled()
		w.told()

		changes, writing := ContainElement(HavePrefix("Normal ReferencesChanged")), 0
		w.Server.Status = &writes.StatusWriter{Events: w.events, Client: interceptor.NewClient(&watching{w.client}, interceptor.Funcs{
			SubResourceUpdate: func(_ context.Context, _ client.Client, _ string, o client.Object, _ ...client.SubResourceUpdateOption) error {
				writing++
				Expect(w.told()).NotTo(changes)
				return apierrors.NewConflict(mcpv1alpha1.GroupVersion.WithResource("mcpservers").GroupResource(), o.GetName(), nil)
			},
		})}
		for _, told := range []gomegatypes.GomegaMatcher{changes, Not(changes)} {
			_, err := reconcile.AsReconciler(w.client, w.Server).Reconcile(w.ctx, w.request("files"))
			Expect(err).To(MatchError(apierrors.IsConflict, "IsConflict"))
			Expect(w.told()).To(told)
		}
		Expect(writing).To(Equal(2))
	})

	It("tells of a domain model that is missing or malformed, and of nothing once it is right", func() {
		w.create(w.server("files", func(s *mcpv1alpha1.MCPServer) {
			s.Spec.DomainModel = &mcpv1alpha1.DomainModel{ConfigMapKeyRef: mcpv1alpha1.KeyRef{Name: "web", Key: "model"}, Format: mcpv1alpha1.ModelTurtle}
		}))
		w.settle()
		pod := w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly))
		generation := w.deployment("files").Generation
		for _, tc := range []struct {
			found registry.DomainModelState
			want  string
			says  string
		}{
			{registry.DomainModelState{Missing: true}, "False/ReferenceNotFound", "key model of ConfigMap web"},
			{registry.DomainModelState{Digest: "a", Error: "the domain model is not Turtle: line 3: a string is not closed"}, "False/DomainModelInvalid", "line 3"},
			{registry.DomainModelState{Digest: "b"}, "True/Accepted", ""},
		} {
			w.dispatchers.Say(string(pod.UID), func(s *registry.State) { s.DomainModel = tc.found })
			w.settleEnforced(pod)
			s := w.getServer("files")
			Expect(condition(s.Status.Conditions, "Accepted")).To(Equal(tc.want))
			Expect(message(s.Status.Conditions, "Accepted")).To(ContainSubstring(tc.says))
		}
		Expect(condition(w.getServer("files").Status.Conditions, "Ready")).To(Equal("True/Ready"))
		Expect(w.deployment("files").Generation).To(Equal(generation), "nothing of it restarts pods")
	})

	It("is named while it is missing, and the server recovers without a touch of its spec (mcp-lifecycle-operator 92)", func() {
		w.create(w.server("files", withSecret))
		w.settle()
		pod := w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly))
		w.podStatus(pod, false, func(s *corev1.PodStatus) {
			s.ContainerStatuses = []corev1.ContainerStatus{{Name: render.ContainerServer, State: corev1.ContainerState{
				Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: `secret "web" not found`},
			}}}
		})
		w.settle()
		s := w.getServer("files")
		Expect(condition(s.Status.Conditions, "Accepted")).To(Equal("False/ReferenceNotFound"))
		Expect(message(s.Status.Conditions, "Ready")).To(ContainSubstring(`secret "web" not found`))

		w.podStatus(pod, true, func(s *corev1.PodStatus) { s.ContainerStatuses = nil })
		w.settleEnforced(pod)
		Expect(condition(w.getServer("files").Status.Conditions, "Ready")).To(Equal("True/Ready"))
	})
})
