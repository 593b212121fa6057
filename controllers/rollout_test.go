// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/testutil/fakecluster"
)

var _ = Describe("A rollout within one revision", func() {
	var (
		w   *world
		old *corev1.Pod
	)
	// deployment is changed, and says what the deployment controller would.
	deployment := func(edit func(*appsv1.Deployment)) {
		GinkgoHelper()
		var d appsv1.Deployment
		key := client.ObjectKey{Namespace: w.namespace, Name: "files"}
		Expect(kubectl.Get(w.ctx, key, &d)).To(Succeed())
		edit(&d)
		status := d.Status
		Expect(kubectl.Update(w.ctx, &d)).To(Succeed())
		d.Status, d.Status.ObservedGeneration = status, d.Generation
		Expect(kubectl.Status().Update(w.ctx, &d)).To(Succeed())
	}
	is := func(kind string) string {
		GinkgoHelper()
		return condition(w.getServer("files").Status.Conditions, kind)
	}
	asksForMuch := func() {
		GinkgoHelper()
		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) {
			s.Spec.Container.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000")}
		})
		w.settle()
	}

	BeforeEach(func() {
		w = newWorld()
		w.create(w.server("files"))
		w.settle()
		old = w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly))
		deployment(func(d *appsv1.Deployment) {
			d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.ReadyReplicas, d.Status.AvailableReplicas = 1, 1, 1, 1
		})
		w.settleEnforced(old)
		Expect(is("Ready")).To(Equal("True/Ready"))
		w.told()
	})

	It("says that it is stuck while pods of before go on serving, and lets their tools be called", func() {
		asksForMuch()
		deployment(func(d *appsv1.Deployment) { d.Status.Replicas, d.Status.UpdatedReplicas = 1, 0 })
		w.settle()
		Expect(is("Ready")).To(Equal("True/Ready"), "it is on its way")
		Expect(w.told()).To(BeEmpty())

		stuck := w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly))
		w.dispatchers.Say(string(stuck.UID), nil)
		w.podStatus(stuck, false, func(s *corev1.PodStatus) {
			s.PodIP = ""
			s.Conditions = append(s.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "Insufficient cpu"})
		})
		deployment(func(d *appsv1.Deployment) { d.Status.Replicas, d.Status.UpdatedReplicas = 2, 1 })
		w.settle()
		Expect(is("Available")).To(Equal("False/Unschedulable"))
		Expect(is("Ready")).To(Equal("False/Unschedulable"))
		Expect(message(w.getServer("files").Status.Conditions, "Ready")).To(And(ContainSubstring("1 of 1 pods serve"), ContainSubstring("Insufficient cpu")))
		Expect(w.told()).To(ContainElement(And(HavePrefix("Warning Unschedulable "), ContainSubstring("Insufficient cpu"))))
		Expect(condition(w.getTool("files.read-file").Status.Conditions, "Callable")).To(Equal("True/Callable"))

		By("being at its end")
		w.podStatus(stuck, true)
		w.dispatchers.Say(string(stuck.UID), nil)
		Expect(kubectl.Delete(w.ctx, stuck, client.GracePeriodSeconds(0))).To(Succeed())
		deployment(func(d *appsv1.Deployment) { d.Status.Replicas, d.Status.UpdatedReplicas = 1, 1 })
		w.settle()
		Expect(is("Ready")).To(Equal("True/Ready"))
	})

	It("names what the volumes of its new pods need, once they have waited for long, and goes on naming it", func() {
		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) {
			s.Spec.Pod.Volumes = []mcpv1alpha1.Volume{{Name: "secrets", Secret: "absent"}}
			s.Spec.Container.VolumeMounts = []mcpv1alpha1.VolumeMount{{Name: "secrets", MountPath: "/secrets"}}
		})
		w.settle()
		w.waitingPod("files")
		deployment(func(d *appsv1.Deployment) { d.Status.Replicas, d.Status.UpdatedReplicas = 2, 1 })
		w.settle()
		Expect(is("Available")).To(Equal("True/Available"), "it has just begun")
		w.told()
		w.clock.Step(decide.SetUpGrace)
		w.settle()
		named := And(ContainSubstring("1 of 1 pods serve"), ContainSubstring("Secret absent"))
		Expect(is("Ready")).To(Equal("False/PodNotSetUp"))
		Expect(message(w.getServer("files").Status.Conditions, "Ready")).To(named)
		Expect(message(w.getServer("files").Status.Conditions, "Discovered")).To(ContainSubstring("Secret absent"))
		Expect(w.told()).To(ContainElement(And(HavePrefix("Warning PodNotSetUp "), named)))

		deployment(func(d *appsv1.Deployment) {
			d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded", Message: "too long"}}
		})
		w.settle()
		Expect(message(w.getServer("files").Status.Conditions, "Ready")).To(named)
		Expect(w.told()).To(BeEmpty())
	})

	It("says that somebody has paused it, and how to let it go on", func() {
		deployment(func(d *appsv1.Deployment) { d.Spec.Paused = true })
		w.settle()
		Expect(is("Ready")).To(Equal("True/Ready"), "nothing is kept back")
		asksForMuch()
		deployment(func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 0 })
		w.settle()
		Expect(is("Ready")).To(Equal("False/DeploymentPaused"))
		Expect(message(w.getServer("files").Status.Conditions, "Ready")).To(ContainSubstring("kubectl rollout resume deployment/files"))
		Expect(w.told()).To(ContainElement(HavePrefix("Warning DeploymentPaused ")))

		deployment(func(d *appsv1.Deployment) { d.Spec.Paused = false })
		w.settle()
		Expect(is("Ready")).To(Equal("True/Ready"))
	})

	It("has tools whose calls need trust blocked where its dispatchers trust no longer, because the manager does not reach them", func() {
		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Spec.Trust.State = mcpv1alpha1.Trusted })
		w.dispatchers.Say(string(old.UID), func(s *registry.State) {
			s.Catalogue = fakecluster.CatalogueOf(fakecluster.Definition("delete_file", ""))
		})
		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Spec.Discovery.Pinning = mcpv1alpha1.PinningOff })
		w.settleEnforced(old)
		callable := func() string { return condition(w.getTool("files.delete-file").Status.Conditions, "Callable") }
		Expect(callable()).To(Equal("True/Callable"))
		w.dispatchers.Say(string(old.UID), nil)
		w.settle()
		Expect(callable()).To(Equal("True/Callable"))
		result, err := w.Discovery.Reconcile(w.ctx, w.request("files"))
		Expect(err).NotTo(HaveOccurred())
		Expect(result.RequeueAfter).To(BeNumerically("~", 600*time.Second, 300*time.Second))
		w.clock.Step(result.RequeueAfter)
		w.settle()
		Expect(callable()).To(Equal("False/TrustStale"))
	})
})
