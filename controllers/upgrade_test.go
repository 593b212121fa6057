// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/library"
	"toolgate.dev/toolgate/controllers/writes"
	"toolgate.dev/toolgate/internal/render"
)

var _ = Describe("A new release of Toolgate", func() {
	const before, after = "toolgate.dev/toolgate:one", "toolgate.dev/toolgate:two"
	var (
		w     *world
		names []string
	)
	deployment := func(name string) *appsv1.Deployment {
		GinkgoHelper()
		d := &appsv1.Deployment{}
		Expect(kubectl.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, d)).To(Succeed())
		return d
	}
	// rolledOut is what the deployment controller says when all pods of the newest template are available, or none is.
	rolledOut := func(available int32, conditions []appsv1.DeploymentCondition, names ...string) {
		GinkgoHelper()
		for _, name := range names {
			d := deployment(name)
			d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: available, AvailableReplicas: available, Conditions: conditions}
			Expect(kubectl.Status().Update(w.ctx, d)).To(Succeed())
		}
		w.settle()
	}
	// upgraded are the servers whose pods are of the new release.
	upgraded := func() []string {
		GinkgoHelper()
		var out []string
		for _, name := range names {
			for _, c := range deployment(name).Spec.Template.Spec.InitContainers {
				if c.Name == render.ContainerDispatcher && c.Image == after {
					out = append(out, name)
				}
			}
		}
		return out
	}
	generations := func() map[string]int64 {
		GinkgoHelper()
		out := map[string]int64{}
		for _, name := range names {
			out[name] = deployment(name).Generation
		}
		return out
	}
	is := func(name string) string {
		GinkgoHelper()
		return condition(w.getServer(name).Status.Conditions, "Upgraded")
	}

	BeforeEach(func() {
		w = newWorld()
		w.release, w.maxUpgrading = before, 2
		w.restart()
		names = nil
		for i := range 6 {
			names = append(names, fmt.Sprintf("server-%d", i))
			w.create(w.server(names[i]))
		}
		w.settle()
		rolledOut(1, nil, names...)
		for _, name := range names {
			Expect(is(name)).To(Equal("True/UpToDate"))
		}
		w.release = after
	})

	It("restarts pods a wave at a time, and no others", func() {
		first := generations()
		w.restart()
		w.settle()
		Expect(upgraded()).To(Equal(names[:2]))
		second := generations()
		for i, name := range names {
			Expect(second[name] > first[name]).To(Equal(i < 2), name)
		}
		Expect(is(names[0])).To(Equal("False/Progressing"))
		Expect(is(names[5])).To(Equal("False/UpgradeWaiting"))

		By("waiting for the whole wave, also when the manager starts anew, and writing nothing meanwhile")
		rolledOut(1, nil, names[0])
		Expect(upgraded()).To(Equal(names[:2]))
		count := w.writes.count()
		w.restart()
		w.settle()
		Expect(w.writes.since(count)).To(BeEmpty())
		Expect(upgraded()).To(Equal(names[:2]))

		By("letting everything but the pods through while a server waits")
		change(w, w.getServer(names[4]), func(s *mcpv1alpha1.MCPServer) {
			s.Spec.TimeoutSeconds, s.Spec.Replicas = new(int32(44)), new(int32(2))
		})
		w.settle()
		Expect(*deployment(names[4]).Spec.Replicas).To(Equal(int32(2)))
		Expect(upgraded()).To(Equal(names[:2]))
		change(w, w.getServer(names[4]), func(s *mcpv1alpha1.MCPServer) { s.Spec.Replicas = new(int32(1)) })
		w.settle()
		rolledOut(1, nil, names[4])

		By("rolling a person's own change at once, with the new release")
		change(w, w.getServer(names[5]), func(s *mcpv1alpha1.MCPServer) { s.Spec.Container.Args = []string{"--more"} })
		w.settle()
		Expect(upgraded()).To(Equal([]string{names[0], names[1], names[5]}))
		Expect(is(names[5])).To(Equal("True/UpToDate"))

		By("going on when the wave has arrived, to the end")
		rolledOut(1, nil, names[1], names[5])
		Expect(upgraded()).To(Equal([]string{names[0], names[1], names[2], names[3], names[5]}))
		rolledOut(1, nil, names[2], names[3])
		Expect(upgraded()).To(Equal(names))
		rolledOut(1, nil, names[4])
		for _, name := range names {
			Expect(is(name)).To(Equal("True/UpToDate"), name)
			Expect(deployment(name).Annotations).NotTo(HaveKey(render.AnnotationUpgrade), name)
		}
		count = w.writes.count()
		w.restart()
		w.settle()
		Expect(w.writes.since(count)).To(BeEmpty())

		By("blaming no release for what fails after the end")
		rolledOut(0, nil, names[1])
		Expect(is(names[1])).To(Equal("True/UpToDate"))
	})

	It("goes on watching who has arrived until all have", func() {
		w.restart()
		w.settle()
		rolledOut(1, nil, names[:2]...)
		Expect(upgraded()).To(Equal(names[:4]))
		rolledOut(0, nil, names[0])
		rolledOut(1, nil, names[2:4]...)
		Expect(upgraded()).To(Equal(names[:4]), "one of the first wave fails after all")
		Expect(is(names[0])).To(HavePrefix("False/"))
		rolledOut(1, nil, names[0])
		Expect(upgraded()).To(Equal(names))
	})

	It("stops when a server of a wave does not become available, and says so", func() {
		w.restart()
		w.settle()
		w.told()
		late := []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded", Message: "it takes too long"}}
		rolledOut(1, nil, names[0])
		rolledOut(0, late, names[1])
		Expect(upgraded()).To(Equal(names[:2]))
		Expect(is(names[1])).To(Equal("False/UpgradeFailed"))
		Expect(message(w.getServer(names[1]).Status.Conditions, "Upgraded")).To(And(
			ContainSubstring("no other server is upgraded until it is"), ContainSubstring("it takes too long")))
		Expect(w.told()).To(ContainElement(HavePrefix("Warning UpgradeFailed")))
		w.restart()
		w.settle()
		Expect(upgraded()).To(Equal(names[:2]))

		By("going on when it was mended")
		change(w, w.getServer(names[1]), func(s *mcpv1alpha1.MCPServer) { s.Spec.Container.Image = "example.com/files:2" })
		w.settle()
		Expect(upgraded()).To(Equal(names[:4]))
	})

	It("stops when the API server does not take what the release makes of a server, and says so", func() {
		w.release = "" // no pod is without an image
		w.restart()
		for range 4 { // what is refused is tried again in each
			w.pass()
		}
		Expect(is(names[0])).To(Equal("False/UpgradeFailed"))
		Expect(message(w.getServer(names[0]).Status.Conditions, "Upgraded")).To(And(
			ContainSubstring("no other server is upgraded until they can"), ContainSubstring("image")))
		Expect(is(names[2])).To(Equal("False/UpgradeWaiting"))

		By("going on with a release that it takes")
		w.release = after
		w.restart()
		w.settle()
		Expect(upgraded()).To(Equal(names[:2]))
	})

	It("stops when the API server has no answer to what the release makes of a server for long, and says so", func() {
		w.restart()
		own := w.Server.Apply
		w.Server.Apply = &writes.Applier{Live: own.Live, Client: interceptor.NewClient(&watching{own.Client}, interceptor.Funcs{
			Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
				return apierrors.NewInternalError(errors.New("failed calling webhook"))
			},
		})}
		pass := func() {
			for range 2 { // the first says who waits, in the second some have their turn
				for _, name := range names {
					_, err := reconcile.AsReconciler(w.client, w.Server).Reconcile(w.ctx, w.request(name))
					Expect(err).To(Or(Succeed(), MatchError(apierrors.IsInternalError, "IsInternalError")))
				}
				w.seen()
			}
		}
		pass()
		Expect(is(names[0])).To(Equal("False/UpgradeWaiting"))
		w.clock.Step(library.Silence)
		pass()
		Expect(is(names[0])).To(Equal("False/UpgradeFailed"))
		Expect(message(w.getServer(names[0]).Status.Conditions, "Upgraded")).To(And(
			ContainSubstring("no other server is upgraded until they can"), ContainSubstring("failed calling webhook")))
		Expect(is(names[2])).To(Equal("False/UpgradeWaiting"))

		By("going on when it answers")
		w.Server.Apply = own
		w.settle()
		Expect(upgraded()).To(Equal(names[:2]))
	})

	It("stops when the registry document of a server whose turn has come is gone and can't be made, and says so", func() {
		w.restart()
		w.pass() // they wait, and the first two are chosen
		document := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: render.RegistryName(names[0])}}
		theirs := document.DeepCopy()
		Expect(kubectl.Delete(w.ctx, document)).To(Succeed())
		w.create(theirs)
		w.settle()
		Expect(upgraded()).To(Equal(names[1:2]))
		Expect(is(names[0])).To(Equal("False/UpgradeFailed"))
		Expect(message(w.getServer(names[0]).Status.Conditions, "Upgraded")).To(ContainSubstring("ConfigMap " + document.Name))
		rolledOut(1, nil, names[1])
		Expect(is(names[2])).To(Equal("False/UpgradeWaiting"))
		Expect(upgraded()).To(Equal(names[1:2]))

		By("going on when it can be made")
		Expect(kubectl.Delete(w.ctx, theirs)).To(Succeed())
		w.settle()
		Expect(upgraded()).To(Equal(names[:2]))
		rolledOut(1, nil, names[0])
		Expect(upgraded()).To(Equal(names[:4]))
	})

	It("does not wait for a server that was not available before", func() {
		rolledOut(0, nil, names[0])
		w.restart()
		w.settle()
		rolledOut(1, nil, names[1])
		Expect(upgraded()).To(Equal(names[:4]))
	})

	It("does not wait for a server whose Deployment somebody has paused, says so, and waits for it when it is let go on", func() {
		pause := func(paused bool) {
			GinkgoHelper()
			d := deployment(names[0])
			d.Spec.Paused = paused
			Expect(kubectl.Update(w.ctx, d)).To(Succeed())
			d.Status.ObservedGeneration, d.Status.UpdatedReplicas = d.Generation, 0
			Expect(kubectl.Status().Update(w.ctx, d)).To(Succeed())
			w.settle()
		}
		d := deployment(names[0])
		d.Spec.Paused = true
		Expect(kubectl.Update(w.ctx, d)).To(Succeed())
		rolledOut(1, nil, names[0])
		w.restart()
		w.settle()
		Expect(upgraded()).To(Equal(names[:2]))
		pause(true)
		Expect(is(names[0])).To(Equal("False/DeploymentPaused"))
		Expect(message(w.getServer(names[0]).Status.Conditions, "Upgraded")).To(ContainSubstring("kubectl rollout resume deployment/" + names[0]))
		rolledOut(1, nil, names[1])
		Expect(upgraded()).To(Equal(names[:4]))

		pause(false)
		Expect(is(names[0])).To(Equal("False/Progressing"))
		rolledOut(1, nil, names[2], names[3])
		Expect(upgraded()).To(Equal(names[:4]))
		rolledOut(1, nil, names[0])
		Expect(is(names[0])).To(Equal("True/UpToDate"))
		Expect(upgraded()).To(Equal(names))
	})

	It("heals at once what somebody has changed in a template that waits", func() {
		w.restart()
		w.settle()
		d := deployment(names[3])
		d.Spec.Template.Spec.Containers[0].Image = "example.com/other:1"
		Expect(kubectl.Update(w.ctx, d)).To(Succeed())
		w.settle()
		Expect(deployment(names[3]).Spec.Template.Spec.Containers[0].Image).To(Equal("example.com/files:1"))
		Expect(upgraded()).To(Equal([]string{names[0], names[1], names[3]}))
	})

	It("is not held up by a server that goes, or whose spec can't be carried out", func() {
		Expect(kubectl.Delete(w.ctx, w.getServer(names[0]))).To(Succeed())
		names = names[1:]
		w.create(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "taken"},
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
		w.create(w.server("taken"))
		w.restart()
		w.settle()
		Expect(upgraded()).To(Equal(names[:2]))
	})

	It("says of a server whose pods are held back that they may be another release's, and goes on with the others", func() {
		policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: names[0]}}
		Expect(kubectl.Delete(w.ctx, policy)).To(Succeed())
		theirs := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: names[0]},
			Spec: networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}}}
		w.create(theirs)
		w.release = before
		w.restart()
		w.settle()
		Expect(condition(w.getServer(names[0]).Status.Conditions, "Accepted")).To(Equal("False/NameConflict"))
		Expect(is(names[0])).To(Equal("True/UpToDate"), "they are those of the release that runs")

		By("bringing another release")
		w.release = after
		w.restart()
		w.settle()
		Expect(upgraded()).To(Equal(names[1:3]))
		Expect(is(names[0])).To(Equal("Unknown/NameConflict"))
		Expect(message(w.getServer(names[0]).Status.Conditions, "Upgraded")).To(ContainSubstring("NetworkPolicy " + names[0]))

		By("giving it its turn when they are no longer")
		rolledOut(1, nil, names[1], names[2])
		Expect(upgraded()).To(Equal(names[1:5]))
		Expect(kubectl.Delete(w.ctx, theirs)).To(Succeed())
		w.settle()
		Expect(is(names[0])).To(Equal("False/UpgradeWaiting"))
		rolledOut(1, nil, names[3], names[4])
		rolledOut(1, nil, names[0], names[5])
		Expect(upgraded()).To(Equal(names))
		Expect(is(names[0])).To(Equal("True/UpToDate"))
	})

	It("does not say of a server that it is upgraded by a release that could not be carried out when it was", func() {
		w.restart()
		w.settle()
		Expect(upgraded()).To(Equal(names[:2]))
		policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: names[0]}}
		Expect(kubectl.Delete(w.ctx, policy)).To(Succeed())
		w.create(policy.DeepCopy())
		w.release = "toolgate.dev/toolgate:three"
		w.restart()
		w.settle()
		Expect(is(names[0])).To(Equal("False/Progressing"), "its pods of the release before are awaited")
		rolledOut(1, nil, names[0])
		Expect(is(names[0])).To(Equal("Unknown/NameConflict"))
	})

	It("is not held up by a server that is available, whatever its children are refused for since", func() {
		w.restart()
		w.settle()
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: names[0]}}
		Expect(kubectl.Delete(w.ctx, service)).To(Succeed())
		w.create(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: names[0]},
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
		w.settle()
		Expect(condition(w.getServer(names[0]).Status.Conditions, "Accepted")).To(Equal("False/NameConflict"))
		Expect(upgraded()).To(Equal(names[:2]))

		By("waiting for it also when the manager starts anew")
		rolledOut(1, nil, names[1])
		w.restart()
		w.settle()
		Expect(upgraded()).To(Equal(names[:2]))

		By("going on when it is available")
		rolledOut(1, nil, names[0])
		Expect(upgraded()).To(Equal(names[:4]))
	})
})
