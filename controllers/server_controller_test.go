// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/testutil/fakecluster"
)

var _ = Describe("An MCPServer", func() {
	var w *world
	BeforeEach(func() { w = newWorld() })

	It("gets its children, and its status tells the truth at each moment", func() {
		w.create(w.server("files"))
		w.settle()
		s := w.getServer("files")
		Expect(condition(s.Status.Conditions, "Accepted")).To(Equal("True/Accepted"))
		Expect(condition(s.Status.Conditions, "Available")).To(Equal("False/Progressing"))
		Expect(condition(s.Status.Conditions, "Ready")).To(Equal("False/Progressing"))
		Expect(s.Status.URL).To(Equal("http://files." + w.namespace + ".svc/mcp"))

		pod := w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly), fakecluster.Definition("delete_file", ""))
		w.settleEnforced(pod)
		s = w.getServer("files")
		Expect(condition(s.Status.Conditions, "Ready")).To(Equal("True/Ready"), message(s.Status.Conditions, "Ready"))
		Expect(condition(s.Status.Conditions, "Healthy")).To(Equal("True/Healthy"))
		Expect(condition(s.Status.Conditions, "Enforced")).To(Equal("True/Enforced"))
		Expect(condition(s.Status.Conditions, "Protected")).To(Equal("True/Socket"))
		Expect(*s.Status.ToolsCount).To(BeEquivalentTo(2))
		Expect(*s.Status.BlockedToolsCount).To(BeEquivalentTo(1))
		Expect(condition(w.getTool("files.read-file").Status.Conditions, "Callable")).To(Equal("True/Callable"))
		Expect(condition(w.getTool("files.delete-file").Status.Conditions, "Callable")).To(Equal("False/Untrusted"))

		w.podStatus(pod, false)
		w.settle()
		s = w.getServer("files")
		Expect(condition(s.Status.Conditions, "Available")).To(HavePrefix("False/"))
		Expect(condition(s.Status.Conditions, "Ready")).To(HavePrefix("False/"))
		Expect(condition(w.getTool("files.read-file").Status.Conditions, "Callable")).To(Equal("False/ServerNotReady"))
	})

	It("has no pods started once more by a manager whose view of it is late when it is gone", func() {
		w.create(w.server("files"))
		w.settle()
		late, deployment := w.getServer("files"), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "files"}}
		// What the cluster does: the server goes, and its Deployment with it.
		Expect(kubectl.Delete(w.ctx, w.getServer("files"))).To(Succeed())
		Expect(kubectl.Delete(w.ctx, deployment)).To(Succeed())
		Eventually(func() error {
			return w.client.Get(w.ctx, client.ObjectKeyFromObject(deployment), &appsv1.Deployment{})
		}).Should(Satisfy(apierrors.IsNotFound))
		_, err := w.Server.Reconcile(w.ctx, late)
		Expect(client.IgnoreNotFound(err)).To(Succeed(), "its status can't be written any more")
		Expect(kubectl.Get(w.ctx, client.ObjectKeyFromObject(deployment), &appsv1.Deployment{})).To(Satisfy(apierrors.IsNotFound))
	})

	It("writes nothing at rest, nor after the same spec, a restart, or what others add to its children (ToolHive 4012 and 6344, mcp-lifecycle-operator 208 and 209)", func() {
		w.create(w.server("files", everyField))
		w.settle()
		pod := w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly))
		w.settleEnforced(pod)

		rest := w.writes.count()
		w.pass()
		Expect(w.writes.since(rest)).To(BeEmpty())

		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Spec = w.server("files", everyField).Spec })
		w.restart()
		w.seen()
		w.pass()
		Expect(w.writes.since(rest)).To(BeEmpty(), "before any dispatcher has answered a new manager")
		w.settle()
		Expect(w.writes.since(rest)).To(BeEmpty())

		var d appsv1.Deployment
		d.Namespace, d.Name = w.namespace, "files"
		change(w, &d, func(d *appsv1.Deployment) {
			metav1.SetMetaDataAnnotation(&d.ObjectMeta, "example.com/theirs", "1")
			d.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] = "now"
			d.Spec.RevisionHistoryLimit = new(int32(3))
		})
		w.settle()
		Expect(w.writes.since(rest)).To(BeEmpty())
		Expect(kubectl.Get(w.ctx, client.ObjectKeyFromObject(&d), &d)).To(Succeed())
		Expect(d.Annotations).To(HaveKey("example.com/theirs"))
	})

	It("restores each child that is deleted or changed", func() {
		w.create(w.server("files"))
		w.settle()
		pod := w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly))
		w.settleEnforced(pod)
		before := w.decoded("files").Sequence
		named := metav1.ObjectMeta{Namespace: w.namespace, Name: "files"}
		for _, o := range []client.Object{
			&corev1.Service{ObjectMeta: named},
			&corev1.ServiceAccount{ObjectMeta: named},
			&networkingv1.NetworkPolicy{ObjectMeta: named},
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: render.RegistryName("files")}},
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: render.IndexName}},
		} {
			Expect(kubectl.Delete(w.ctx, o)).To(Succeed())
			w.settle()
			Expect(kubectl.Get(w.ctx, client.ObjectKeyFromObject(o), o)).To(Succeed(), "%T", o)
		}
		Expect(w.decoded("files").Sequence).To(BeNumerically(">=", before), "a dispatcher refuses a sequence below the one it has seen")

		change(w, &corev1.Service{ObjectMeta: named}, func(s *corev1.Service) { s.Spec.Selector = map[string]string{"app": "other"} })
		w.settle()
		var service corev1.Service
		Expect(kubectl.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: "files"}, &service)).To(Succeed())
		Expect(service.Spec.Selector).To(HaveKeyWithValue(render.LabelServer, "files"))
	})

	It("restores a deleted Deployment, and says that nothing serves meanwhile (kmcp K1, ToolHive 6343)", func() {
		w.create(w.server("files"))
		w.settle()
		w.settleEnforced(w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly)))
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "files"}}
		Expect(kubectl.Delete(w.ctx, d)).To(Succeed())
		w.settle()
		Expect(kubectl.Get(w.ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
		Expect(condition(w.getServer("files").Status.Conditions, "Ready")).To(Equal("False/Progressing"))
	})

	It("refuses an object of its name that is somebody else's, and takes up when it goes (mcp-lifecycle-operator 91 and 252)", func() {
		theirs := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "files", Labels: map[string]string{"app": "theirs"}},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 9}}},
		}
		w.create(theirs)
		w.create(w.server("files"))
		w.settle()
		s := w.getServer("files")
		Expect(condition(s.Status.Conditions, "Accepted")).To(Equal("False/NameConflict"))
		Expect(message(s.Status.Conditions, "Ready")).To(ContainSubstring("Service files"))
		Expect(kubectl.Get(w.ctx, client.ObjectKeyFromObject(theirs), theirs)).To(Succeed())
		Expect(theirs.Spec.Ports[0].Port).To(BeEquivalentTo(9))
		Expect(theirs.ManagedFields).NotTo(ContainElement(HaveField("Manager", render.FieldOwner)))

		Expect(kubectl.Delete(w.ctx, theirs)).To(Succeed())
		w.settle()
		Expect(condition(w.getServer("files").Status.Conditions, "Accepted")).To(Equal("True/Accepted"))
	})

	It("refuses to write a document over somebody else's ConfigMap, and starts nothing without it", func() {
		theirs := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: render.RegistryName("files")},
			Data:       map[string]string{"registry.json": "theirs"},
		}
		w.create(theirs)
		w.create(w.server("files"))
		w.settle()
		s := w.getServer("files")
		Expect(condition(s.Status.Conditions, "Ready")).To(Equal("False/NameConflict"))
		Expect(message(s.Status.Conditions, "Ready")).To(ContainSubstring("ConfigMap files.registry"))
		Expect(kubectl.Get(w.ctx, client.ObjectKeyFromObject(theirs), theirs)).To(Succeed())
		Expect(theirs.Data).To(Equal(map[string]string{"registry.json": "theirs"}))
		err := kubectl.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: "files"}, &appsv1.Deployment{})
		Expect(apierrors.IsNotFound(err)).To(BeTrue(), "there should be no Deployment: %v", err)
	})

	It("writes a higher sequence than any pod has seen, also when the ConfigMap starts over", func() {
		w.create(w.server("files"))
		w.settle()
		pod := w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly))
		w.settleEnforced(pod)
		w.dispatchers.Say(string(pod.UID), func(s *registry.State) {
			s.Registry = registry.RegistryState{Digest: "sha256:later", Sequence: 41}
		})
		w.settle()
		Expect(w.decoded("files").Sequence).To(BeEquivalentTo(42))
		w.settleEnforced(pod)
		Expect(w.decoded("files").Sequence).To(BeEquivalentTo(42))
	})

	It("takes back its own account when the spec names another", func() {
		w.create(w.server("files"))
		w.settle()
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "files"}}
		there := func() error {
			account = &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "files"}}
			return kubectl.Get(w.ctx, client.ObjectKeyFromObject(account), account)
		}
		name := func(account string) {
			change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Spec.Pod.ServiceAccountName = account })
			w.settle()
		}
		// updated is how many pods the deployment controller has made of the newest template, of as many as there are.
		updated := func(pods int32) {
			d := w.deployment("files")
			d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: pods, ReadyReplicas: 1, AvailableReplicas: 1}
			Expect(kubectl.Status().Update(w.ctx, d)).To(Succeed())
			w.settle()
		}
		updated(1)
		name("othr")
		Expect(there()).To(Succeed(), "nobody has seen the new template yet")
		updated(0)
		Expect(there()).To(Succeed(), "pods that serve have this account, and may have to be made again")
		name("")
		updated(1)
		Expect(there()).To(Succeed())
		name("theirs")
		updated(1)
		Expect(apierrors.IsNotFound(there())).To(BeTrue())
		name("")
		updated(1)
		name("files")
		updated(1)
		Expect(there()).To(Succeed(), "the spec names it")
		Expect(kubectl.Delete(w.ctx, account.DeepCopy())).To(Succeed())
		w.settle()
		Expect(there()).To(Succeed(), "whoever names the server's own gets it, whatever was before")
		name("theirs")
		updated(1)
		Expect(apierrors.IsNotFound(there())).To(BeTrue())
		Expect(kubectl.Create(w.ctx, account)).To(Succeed())
		for _, which := range []string{"theirs", "files"} {
			name(which)
			updated(1)
			Expect(there()).To(Succeed())
			Expect(account.OwnerReferences).To(BeEmpty(), "an account of a person stays theirs")
			Expect(condition(w.getServer("files").Status.Conditions, "Accepted")).To(Equal("True/Accepted"))
		}
	})

	It("lets pods find each other while there are any: one that drains has sessions, and another takes its place", func() {
		w.create(w.server("files", func(s *mcpv1alpha1.MCPServer) { s.Spec.State = mcpv1alpha1.StateDisabled }))
		w.settle()
		peers := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "files-peers"}}
		there := func() error { return kubectl.Get(w.ctx, client.ObjectKeyFromObject(peers), peers) }
		scale := func(n int32) {
			change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Spec.Replicas = &n })
			w.settle()
		}
		state := func(state mcpv1alpha1.State) {
			change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Spec.State = state })
			w.settle()
		}
		Expect(apierrors.IsNotFound(there())).To(BeTrue())
		state(mcpv1alpha1.StateEnabled)
		Expect(there()).To(Succeed())
		Expect(peers.Spec.ClusterIP).To(Equal(corev1.ClusterIPNone))
		Expect(peers.Spec.PublishNotReadyAddresses).To(BeTrue(), "a pod that drains still holds its sessions")
		uid := peers.UID
		scale(2)
		Expect(there()).To(Succeed())
		Expect(peers.UID).To(Equal(uid))
		scale(0)
		Expect(apierrors.IsNotFound(there())).To(BeTrue())
		scale(1)
		Expect(there()).To(Succeed())
		state(mcpv1alpha1.StateDisabled)
		Expect(apierrors.IsNotFound(there())).To(BeTrue())

		By("leaving alone what only has the name")
		Expect(kubectl.Create(w.ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "files-peers"},
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})).To(Succeed())
		w.settle()
		Expect(there()).To(Succeed())
		state(mcpv1alpha1.StateEnabled)
		Expect(condition(w.getServer("files").Status.Conditions, "Accepted")).To(Equal("False/NameConflict"))
	})

	It("says when trust ends, without anybody touching anything", func() {
		w.create(w.server("files", func(s *mcpv1alpha1.MCPServer) {
			s.Spec.Trust = mcpv1alpha1.Trust{State: mcpv1alpha1.Trusted, ExpiresAt: &metav1.Time{Time: w.clock.Now().Add(time.Hour)}}
		}))
		w.settle()
		w.settleEnforced(w.runPod("files", fakecluster.Definition("delete_file", "")))
		Expect(condition(w.getTool("files.delete-file").Status.Conditions, "Callable")).To(Equal("True/Callable"))
		result, err := w.Discovery.Reconcile(w.ctx, w.request("files"))
		Expect(err).NotTo(HaveOccurred())
		Expect(result.RequeueAfter).To(BeNumerically("~", time.Hour, time.Minute))
		Expect(w.getServer("files").Status.Trust.State).To(Equal(mcpv1alpha1.TrustHolds))
		w.clock.Step(time.Hour)
		w.settle()
		Expect(condition(w.getTool("files.delete-file").Status.Conditions, "Callable")).To(Equal("False/TrustExpired"))
		Expect(w.getServer("files").Status.Trust.State).To(Equal(mcpv1alpha1.TrustHasExpired))
	})

	It("says what a pod waits for whose volumes are not there", func() {
		w.create(w.server("files", everyField))
		w.settle()
		pod := w.runPod("files")
		w.dispatchers.Say(string(pod.UID), nil)
		w.podStatus(pod, false, func(s *corev1.PodStatus) {
			s.Conditions = append(s.Conditions, corev1.PodCondition{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionFalse})
		})
		w.settle()
		Expect(message(w.getServer("files").Status.Conditions, "Available")).To(ContainSubstring("ConfigMap config"))
	})

	It("keeps other servers going when one can't be carried out", func() {
		w.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "bad"}})
		w.create(w.server("bad"))
		w.create(w.server("good"))
		w.settle()
		w.settleEnforced(w.runPod("good", fakecluster.Definition("read_file", fakecluster.ReadOnly)))
		Expect(condition(w.getServer("bad").Status.Conditions, "Ready")).To(Equal("False/NameConflict"))
		Expect(condition(w.getServer("good").Status.Conditions, "Ready")).To(Equal("True/Ready"))
	})

	It("is out of service while disabled or scaled to zero", func() {
		w.create(w.server("files"))
		w.settle()
		pod := w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly))
		w.settleEnforced(pod)
		Expect(w.index()).To(ContainElement("files"))

		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Spec.State = mcpv1alpha1.StateDisabled })
		w.settle()
		s := w.getServer("files")
		Expect(condition(s.Status.Conditions, "Ready")).To(Equal("False/Disabled"))
		Expect(condition(w.getTool("files.read-file").Status.Conditions, "Callable")).To(Equal("False/Disabled"))
		Expect(w.index()).To(BeEmpty())
		for _, rev := range w.decoded("files").Revisions {
			Expect(rev.Tools).To(HaveEach(HaveField("Withheld", "Disabled")))
		}
		var d appsv1.Deployment
		Expect(kubectl.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: "files"}, &d)).To(Succeed())
		Expect(*d.Spec.Replicas).To(BeZero())

		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) {
			s.Spec.State = mcpv1alpha1.StateEnabled
			s.Spec.Replicas = new(int32(0))
		})
		w.settle()
		Expect(condition(w.getServer("files").Status.Conditions, "Ready")).To(Equal("False/ScaledToZero"))
	})

	DescribeTable("tells what the kubelet says of its pods",
		func(status corev1.ContainerStatus, want, words string) {
			w.create(w.server("files"))
			w.settle()
			pod := w.runPod("files")
			w.dispatchers.Say(string(pod.UID), nil)
			w.podStatus(pod, false, func(s *corev1.PodStatus) {
				status.Name = render.ContainerServer
				s.ContainerStatuses = []corev1.ContainerStatus{status}
			})
			w.settle()
			s := w.getServer("files")
			Expect(condition(s.Status.Conditions, "Ready")).To(Equal("False/" + want))
			Expect(message(s.Status.Conditions, "Ready")).To(ContainSubstring(words))
			Expect(w.told()).To(ContainElement(And(HavePrefix("Warning "+want+" "), ContainSubstring(words))), "what kubectl describe shows")

			By("recovering without anybody touching the server")
			w.podStatus(pod, true, func(s *corev1.PodStatus) { s.ContainerStatuses = nil })
			w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly))
			w.settle()
			Expect(condition(w.getServer("files").Status.Conditions, "Available")).To(Equal("True/Available"))
			Expect(condition(w.getServer("files").Status.Conditions, "Accepted")).To(Equal("True/Accepted"))
		},
		Entry("an image that can't be pulled", waiting("ImagePullBackOff", `Back-off pulling image "x"`), "ImagePullFailed", "Back-off"),
		Entry("a ConfigMap that is not there", waiting("CreateContainerConfigError", `configmap "settings" not found`), "ReferenceNotFound", `configmap "settings" not found`),
		Entry("a crash loop", corev1.ContainerStatus{
			RestartCount:         7,
			State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3}},
		}, "ServerExited", "exited with code 3, 7 times"),
		Entry("a container that can't be made", waiting("CreateContainerError", "no such file"), "ContainerFailed", "no such file"),
	)
})

func waiting(reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
}
