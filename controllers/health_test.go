// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/testutil/fakecluster"
)

// eventsSoFar are the events since it was last asked, a line each.
func (w *world) eventsSoFar() string { return strings.Join(w.told(), "\n") }

var _ = Describe("The health of an MCPServer", func() {
	var w *world
	BeforeEach(func() { w = newWorld() })

	ready := func(name string) *corev1.Pod {
		GinkgoHelper()
		w.create(w.server(name))
		w.settle()
		pod := w.runPod(name, fakecluster.Definition("read_file", fakecluster.ReadOnly))
		w.settleEnforced(pod)
		Expect(condition(w.getServer(name).Status.Conditions, "Ready")).To(Equal("True/Ready"))
		w.eventsSoFar()
		return pod
	}

	It("is not what it once was: a server that crashes without a change of its spec is not Ready (mcp-lifecycle-operator M1, kmcp 67)", func() {
		pod := ready("files")
		crash := corev1.ContainerStateTerminated{ExitCode: 3, Message: "no such table: users"}
		w.podStatus(pod, false, func(s *corev1.PodStatus) {
			s.ContainerStatuses = []corev1.ContainerStatus{{
				Name: render.ContainerServer, RestartCount: 4, LastTerminationState: corev1.ContainerState{Terminated: &crash},
				State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
			}}
		})
		w.settle()
		s := w.getServer("files")
		Expect(condition(s.Status.Conditions, "Ready")).To(Equal("False/ServerExited"))
		Expect(message(s.Status.Conditions, "Ready")).To(And(ContainSubstring("exited with code 3"), ContainSubstring("no such table"), ContainSubstring("4 times")))
		Expect(w.eventsSoFar()).To(And(ContainSubstring("Warning ServerExited"), ContainSubstring("no such table")))

		w.podStatus(pod, true, func(s *corev1.PodStatus) { s.ContainerStatuses = nil })
		w.settleEnforced(pod)
		Expect(condition(w.getServer("files").Status.Conditions, "Ready")).To(Equal("True/Ready"))
		Expect(w.eventsSoFar()).To(ContainSubstring("Normal Ready"))
	})

	It("waits for a server as long as it takes to start (mcp-lifecycle-operator M3 and 166)", func() {
		w.create(w.server("files"))
		w.settle()
		pod := w.runPod("files")
		w.podStatus(pod, false)
		failing := func(s *registry.State) {
			s.Ready, s.Catalogue = false, nil
			s.Upstream = registry.UpstreamState{Phase: registry.UpstreamFailed, Reason: registry.FailTimeout, Message: "no answer within 5m0s", Stderr: []string{"loading model"}}
			s.Health = registry.HealthState{State: "Unknown"}
		}
		w.dispatchers.Say(string(pod.UID), failing)
		for range 3 {
			w.settle()
			s := w.getServer("files")
			Expect(condition(s.Status.Conditions, "Ready")).To(Equal("False/ServerTimeout"))
			Expect(message(s.Status.Conditions, "Ready")).To(ContainSubstring("loading model"))
			w.clock.Step(20 * time.Minute)
			w.restart()
		}
		w.podStatus(pod, true)
		w.dispatchers.Say(string(pod.UID), func(s *registry.State) {
			s.Ready, s.Catalogue = true, fakecluster.CatalogueOf(fakecluster.Definition("read_file", fakecluster.ReadOnly))
			s.Upstream, s.Health = registry.UpstreamState{Phase: registry.UpstreamConnected}, registry.HealthState{State: "Healthy"}
		})
		w.settleEnforced(pod)
		Expect(condition(w.getServer("files").Status.Conditions, "Ready")).To(Equal("True/Ready"))
	})

	It("is told of a server that hangs behind a live dispatcher (ToolHive T3 and 3179), once and not with each probe", func() {
		pod := ready("files")
		w.dispatchers.Say(string(pod.UID), func(s *registry.State) {
			s.Health = registry.HealthState{State: "Unhealthy", ConsecutiveFailures: 3, Message: "ping: no answer within 5s"}
			s.Upstream.Reason = registry.FailTimeout
		})
		w.settle()
		s := w.getServer("files")
		Expect(condition(s.Status.Conditions, "Healthy")).To(Equal("False/ServerTimeout"))
		Expect(condition(s.Status.Conditions, "Ready")).To(HavePrefix("False/"))
		Expect(s.Status.Health.State).To(Equal(mcpv1alpha1.Unhealthy))
		Expect(s.Status.Health.ConsecutiveFailures).To(BeEquivalentTo(3))
		Expect(s.Status.Health.Message).To(ContainSubstring("no answer within 5s"))
		Expect(w.eventsSoFar()).To(ContainSubstring("no answer within 5s"))
		rest := w.writes.count()
		w.dispatchers.Say(string(pod.UID), func(s *registry.State) { s.Health.ConsecutiveFailures = 4 })
		w.settle()
		Expect(w.writes.since(rest)).To(BeEmpty())
	})

	It("says in plain words what keeps pods from running (mcp-lifecycle-operator 45 and 153), and events follow it", func() {
		pod := ready("files")
		for _, tc := range []struct {
			waiting corev1.ContainerStateWaiting
			ended   *corev1.ContainerStateTerminated
			reason  string
			says    string
		}{
			{waiting: corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "manifest unknown"}, reason: "ImagePullFailed", says: "manifest unknown"},
			{waiting: corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: `configmap "a" not found`}, reason: "ReferenceNotFound", says: `configmap "a"`},
			{waiting: corev1.ContainerStateWaiting{Reason: "RunContainerError", Message: "exec: no such file"}, reason: "ContainerFailed", says: "no such file"},
			{
				waiting: corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}, ended: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137},
				reason: "ServerExited", says: "raise spec.container.resources.limits.memory",
			},
		} {
			w.podStatus(pod, false, func(s *corev1.PodStatus) {
				s.ContainerStatuses = []corev1.ContainerStatus{{
					Name: render.ContainerServer, State: corev1.ContainerState{Waiting: &tc.waiting}, LastTerminationState: corev1.ContainerState{Terminated: tc.ended},
				}}
			})
			w.settle()
			s := w.getServer("files")
			Expect(condition(s.Status.Conditions, "Ready")).To(Equal("False/" + tc.reason))
			Expect(message(s.Status.Conditions, "Ready")).To(ContainSubstring(tc.says))
			Expect(w.eventsSoFar()).To(And(ContainSubstring(tc.reason), ContainSubstring(tc.says)))
		}
		w.podStatus(pod, false, func(s *corev1.PodStatus) {
			s.ContainerStatuses = nil
			s.Conditions = append(s.Conditions, corev1.PodCondition{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes: insufficient memory",
			})
		})
		w.settle()
		Expect(condition(w.getServer("files").Status.Conditions, "Ready")).To(Equal("False/Unschedulable"))
		Expect(w.eventsSoFar()).To(ContainSubstring("insufficient memory"))
	})

	It("tells of a pod that the kubelet has evicted, once, until another one serves", func() {
		pod := ready("files")
		w.podStatus(pod, false, func(s *corev1.PodStatus) {
			s.Phase, s.Reason, s.Message = corev1.PodFailed, "Evicted", "Usage of EmptyDir volume \"tmp\" exceeds the limit \"1Gi\"."
		})
		w.settle()
		s := w.getServer("files")
		Expect(condition(s.Status.Conditions, "Ready")).To(Equal("False/PodFailed"))
		Expect(message(s.Status.Conditions, "Ready")).To(Equal("0 of 1 pods serve; pod " + pod.Name + " failed: Evicted: Usage of EmptyDir volume \"tmp\" exceeds the limit \"1Gi\"."))
		Expect(w.eventsSoFar()).To(ContainSubstring("Warning PodFailed 0 of 1 pods serve; pod " + pod.Name + " failed: Evicted"))
		rest := w.writes.count()
		w.settle()
		Expect(w.writes.since(rest)).To(BeEmpty())

		next := w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly))
		w.settleEnforced(next)
		Expect(condition(w.getServer("files").Status.Conditions, "Ready")).To(Equal("True/Ready"))
	})

	It("tells of no pod that is deleted and whose containers have ended meanwhile", func() {
		pod := ready("files")
		held := pod.DeepCopy()
		held.Finalizers = []string{"example.com/held"}
		Expect(kubectl.Patch(w.ctx, held, client.MergeFrom(pod))).To(Succeed())
		Expect(kubectl.Delete(w.ctx, held)).To(Succeed())
		DeferCleanup(func() {
			gone := held.DeepCopy()
			gone.Finalizers = nil
			Expect(kubectl.Patch(w.ctx, gone, client.MergeFrom(held))).To(Succeed())
		})
		w.podStatus(pod, false, func(s *corev1.PodStatus) { s.Phase = corev1.PodFailed })
		w.settle()
		Expect(condition(w.getServer("files").Status.Conditions, "Available")).To(Equal("False/Progressing"))
		Expect(w.eventsSoFar()).NotTo(ContainSubstring("PodFailed"))
	})

	It("has a name at every length that a Service can have", func() {
		name := strings.Repeat("a", 63)
		w.create(w.server(name, external, everyName))
		w.settle()
		Expect(condition(w.getServer(name).Status.Conditions, "Accepted")).To(Equal("True/Accepted"))
		pod := w.runPod(name, fakecluster.Definition(strings.Repeat("t", 128), fakecluster.ReadOnly))
		w.settleEnforced(pod)
		Expect(condition(w.getServer(name).Status.Conditions, "Ready")).To(Equal("True/Ready"), message(w.getServer(name).Status.Conditions, "Ready"))
		Expect(w.children(name)).To(And(ContainSubstring(render.PeersName(name)), ContainSubstring(`"*v1.PodDisruptionBudget": true`)))
	})
})

// everyName refers to objects with names as long as Kubernetes has them.
func everyName(s *mcpv1alpha1.MCPServer) {
	long := strings.Repeat("b", 253)
	s.Spec.Container.EnvFrom = []mcpv1alpha1.EnvFrom{{SecretRef: long}, {ConfigMapRef: long}}
	s.Spec.DomainModel = &mcpv1alpha1.DomainModel{ConfigMapKeyRef: mcpv1alpha1.KeyRef{Name: long, Key: strings.Repeat("k", 253)}, Format: mcpv1alpha1.ModelJSON}
}
