// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/keyring"
	"toolgate.dev/toolgate/controllers/waves"
	"toolgate.dev/toolgate/controllers/writes"
	"toolgate.dev/toolgate/internal/registry/statekey"
	"toolgate.dev/toolgate/internal/render"
)

var _ = Describe("A server of which a child is refused", func() {
	var w *world
	BeforeEach(func() { w = newWorld() })

	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: w.namespace, Name: name} }
	service := func(name string) func() client.Object {
		return func() client.Object {
			return &corev1.Service{ObjectMeta: named(name), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
		}
	}
	budget := func() client.Object { return &policyv1.PodDisruptionBudget{ObjectMeta: named("files")} }
	policy := func() client.Object {
		return &networkingv1.NetworkPolicy{ObjectMeta: named("files"), Spec: networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}}}
	}
	account := func() client.Object { return &corev1.ServiceAccount{ObjectMeta: named("files")} }
	document := func() client.Object { return &corev1.ConfigMap{ObjectMeta: named(render.RegistryName("files"))} }

	// takes makes an object of somebody else in the place of ours.
	takes := func(theirs client.Object) {
		GinkgoHelper()
		ours := theirs.DeepCopyObject().(client.Object)
		Expect(client.IgnoreNotFound(kubectl.Delete(w.ctx, ours))).To(Succeed())
		w.create(theirs)
	}
	edit := func(asked func(*mcpv1alpha1.MCPServerSpec)) {
		GinkgoHelper()
		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { asked(&s.Spec) })
		w.settle()
	}
	accepted := func() string { return condition(w.getServer("files").Status.Conditions, "Accepted") }
	image := func() string { return w.deployment("files").Spec.Template.Spec.Containers[0].Image }
	networks := func() *networkingv1.NetworkPolicySpec {
		GinkgoHelper()
		p := &networkingv1.NetworkPolicy{}
		Expect(kubectl.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: "files"}, p)).To(Succeed())
		return &p.Spec
	}

	DescribeTable("is restricted as its spec says, and runs on, where its pods do without that child",
		func(theirs func() client.Object, kind string) {
			w.create(w.server("files", func(s *mcpv1alpha1.MCPServer) {
				s.Spec.Replicas, s.Spec.Network.Egress = new(int32(2)), mcpv1alpha1.EgressOpen
			}))
			w.settle()
			Expect(networks().PolicyTypes).NotTo(ContainElement(networkingv1.PolicyTypeEgress))
			takes(theirs())
			edit(func(spec *mcpv1alpha1.MCPServerSpec) {
				spec.Network.Egress = mcpv1alpha1.EgressDNSOnly
				spec.Network.IngressFrom = []mcpv1alpha1.NetworkPeer{{CIDR: "192.0.2.0/24"}}
				spec.Container.Image, spec.Replicas = "example.com/files:2", new(int32(3))
			})
			Expect(accepted()).To(Equal("False/NameConflict"))
			Expect(message(w.getServer("files").Status.Conditions, "Accepted")).To(ContainSubstring(kind))
			Expect(networks().PolicyTypes).To(ContainElement(networkingv1.PolicyTypeEgress))
			Expect(networks().Ingress[0].From[0].IPBlock.CIDR).To(Equal("192.0.2.0/24"))
			Expect(image()).To(Equal("example.com/files:2"))
			Expect(w.replicasOf("files")).To(BeEquivalentTo(3))

			edit(func(spec *mcpv1alpha1.MCPServerSpec) { spec.State = mcpv1alpha1.StateDisabled })
			Expect(w.replicasOf("files")).To(BeZero())
		},
		Entry("its Service", service("files"), "Service files"),
		Entry("the Service of its replicas", service("files-peers"), "Service files-peers"),
		Entry("its PodDisruptionBudget", budget, "PodDisruptionBudget files"),
	)

	DescribeTable("gets no new pods, and loses those that it is not to have, where pods don't do without that child",
		func(theirs func() client.Object, kind string) {
			w.create(w.server("files", func(s *mcpv1alpha1.MCPServer) { s.Spec.Replicas = new(int32(2)) }))
			w.settle()
			takes(theirs())
			edit(func(spec *mcpv1alpha1.MCPServerSpec) {
				spec.Container.Image, spec.Replicas = "example.com/files:2", new(int32(3))
			})
			Expect(accepted()).To(Equal("False/NameConflict"))
			Expect(message(w.getServer("files").Status.Conditions, "Accepted")).To(ContainSubstring(kind))
			Expect(image()).To(Equal("example.com/files:1"))
			Expect(w.replicasOf("files")).To(BeEquivalentTo(2))

			By("scaling down and nothing else")
			edit(func(spec *mcpv1alpha1.MCPServerSpec) { spec.State = mcpv1alpha1.StateDisabled })
			Expect(w.replicasOf("files")).To(BeZero())
			Expect(image()).To(Equal("example.com/files:1"))

			By("taking up all of it when it goes")
			Expect(kubectl.Delete(w.ctx, theirs())).To(Succeed())
			edit(func(spec *mcpv1alpha1.MCPServerSpec) { spec.State = mcpv1alpha1.StateEnabled })
			Expect(accepted()).To(Equal("True/Accepted"))
			Expect(image()).To(Equal("example.com/files:2"))
			Expect(w.replicasOf("files")).To(BeEquivalentTo(3))
		},
		Entry("its NetworkPolicy", policy, "NetworkPolicy files"),
		Entry("its ServiceAccount", account, "ServiceAccount files"),
		Entry("its registry document", document, "ConfigMap files.registry"),
	)

	It("names all that is refused, what restricts first", func() {
		w.create(service("files")())
		w.create(policy())
		w.create(document())
		w.create(w.server("files"))
		w.settle()
		Expect(accepted()).To(Equal("False/NameConflict"))
		Expect(message(w.getServer("files").Status.Conditions, "Accepted")).To(MatchRegexp("NetworkPolicy files .*; Service files .*; ConfigMap files.registry "))
	})

	It("is scaled down where its Secret is refused", func() {
		w.create(w.server("files"))
		w.settle()
		w.Server.Keys = keyring.NewKeeper(interceptor.NewClient(&watching{w.client}, interceptor.Funcs{
			Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, o.GetName(), nil)
			},
		}), keyring.New([statekey.Size]byte{2}))
		edit(func(spec *mcpv1alpha1.MCPServerSpec) { spec.State = mcpv1alpha1.StateDisabled })
		Expect(accepted()).To(Equal("False/ApplyFailed"))
		Expect(w.replicasOf("files")).To(BeZero())
	})

	It("is scaled down where its own pods are refused", func() {
		w.create(w.server("files"))
		w.settle()
		w.release = "" // no pod is without an image
		w.restart()
		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) {
			s.Spec.State, s.Spec.Container.Image = mcpv1alpha1.StateDisabled, "example.com/files:2"
		})
		w.seen()
		w.pass() // what is refused is tried again in each
		Expect(accepted()).To(Equal("False/ApplyFailed"))
		Expect(*w.deployment("files").Spec.Replicas).To(BeZero())
		Expect(image()).To(Equal("example.com/files:1"))
	})

	It("is scaled down where its spec can't be rendered", func() {
		w.create(w.server("files"))
		w.settle()
		s := &mcpv1alpha1.MCPServer{}
		Expect(w.client.Get(w.ctx, w.request("files").NamespacedName, s)).To(Succeed())
		s.Spec.State, s.Spec.Container.Command = mcpv1alpha1.StateDisabled, nil // as one from before there was a rule
		_, err := w.Server.Reconcile(w.ctx, s)
		Expect(err).NotTo(HaveOccurred())
		Expect(accepted()).To(Equal("False/InvalidSpec"))
		Expect(*w.deployment("files").Spec.Replicas).To(BeZero())
	})

	// unanswered is an Applier of whose writes some end without an answer, each time with other words.
	unanswered := func(fails func(runtime.ApplyConfiguration) bool) *writes.Applier {
		own, n := w.Server.Apply, 0
		return &writes.Applier{Live: own.Live, Client: interceptor.NewClient(&watching{own.Client}, interceptor.Funcs{
			Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
				if fails(o) {
					n++
					return apierrors.NewInternalError(fmt.Errorf("failed calling webhook %d", n))
				}
				return c.Apply(ctx, o, opts...)
			},
		})}
	}
	// fails looks at a server of which something gets no answer.
	fails := func(r reconcile.Reconciler) {
		GinkgoHelper()
		_, err := r.Reconcile(w.ctx, w.request("files"))
		Expect(err).To(MatchError(apierrors.IsInternalError, "IsInternalError"))
	}

	DescribeTable("says so, once, where an attempt has had no answer for ten seconds, until one has",
		func(fail func(runtime.ApplyConfiguration) bool, own func() reconcile.Reconciler, text string) {
			healthy := w.Server.Apply
			failing := unanswered(fail)
			w.Server.Apply, w.Registry.Apply = failing, failing
			w.create(w.server("files"))
			w.seen()
			if own == nil {
				own = func() reconcile.Reconciler { return reconcile.AsReconciler(w.client, w.Server) }
				_, err := reconcile.AsReconciler(w.client, w.Registry).Reconcile(w.ctx, w.request("files"))
				Expect(err).NotTo(HaveOccurred())
			}
			server := func() {
				GinkgoHelper()
				w.seen()
				_, _ = reconcile.AsReconciler(w.client, w.Server).Reconcile(w.ctx, w.request("files"))
				w.seen()
			}
			fails(own())
			server()
			w.clock.Step(9 * time.Second)
			fails(own())
			server()
			Expect(accepted()).To(Equal("True/Accepted"))

			w.clock.Step(time.Second)
			fails(own())
			server()
			Expect(accepted()).To(Equal("False/ApplyFailed"))
			Expect(message(w.getServer("files").Status.Conditions, "Accepted")).To(MatchRegexp(text))
			Expect(condition(w.getServer("files").Status.Conditions, "Ready")).To(Equal("False/ApplyFailed"))
			rest := w.writes.count()
			for range 3 {
				w.clock.Step(time.Minute)
				fails(own())
				server()
			}
			Expect(w.writes.since(rest)).To(BeEmpty(), "it says something else of itself each time")

			w.Server.Apply, w.Registry.Apply = healthy, healthy
			w.settle()
			Expect(accepted()).To(Equal("True/Accepted"))
		},
		Entry("its Service", func(o runtime.ApplyConfiguration) bool {
			_, is := o.(*corev1ac.ServiceApplyConfiguration)
			return is
		}, nil, "applying Service files: .*failed calling webhook"),
		Entry("its Deployment", func(o runtime.ApplyConfiguration) bool {
			_, is := o.(*appsv1ac.DeploymentApplyConfiguration)
			return is
		}, nil, "applying Deployment files: .*failed calling webhook"),
		Entry("its registry document", func(o runtime.ApplyConfiguration) bool {
			_, is := o.(*corev1ac.ConfigMapApplyConfiguration)
			return is
		}, func() reconcile.Reconciler { return reconcile.AsReconciler(w.client, w.Registry) }, "applying ConfigMap files.registry: .*failed calling webhook"),
	)

	It("is told of no more where all is taken, whatever becomes of telling whose turn it is", func() {
		w.create(service("files")())
		w.create(w.server("files"))
		w.settle()
		Expect(accepted()).To(Equal("False/NameConflict"))
		Expect(kubectl.Delete(w.ctx, service("files")())).To(Succeed())
		Expect(kubectl.Delete(w.ctx, document())).To(Succeed()) // so that the Deployment waits
		w.restart()
		w.seen()
		failed := errors.New("the list of servers can't be read")
		w.Server.Waves.Servers = func(context.Context) ([]types.NamespacedName, error) { return nil, failed }
		Expect(w.Server.Waves.Report(w.ctx, types.NamespacedName{Namespace: w.namespace, Name: "other"}, waves.Waiting)).To(MatchError(failed))
		_, err := reconcile.AsReconciler(w.client, w.Server).Reconcile(w.ctx, w.request("files"))
		Expect(err).To(MatchError(failed))
		Expect(accepted()).To(Equal("True/Accepted"))
	})

	It("says so although its children take all the time that there is for them", func() {
		w.create(w.server("files"))
		w.settle()
		Expect(kubectl.Delete(w.ctx, service("files")())).To(Succeed())
		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Spec.Container.Image = "example.com/files:2" })
		w.seen()
		own := w.Server.Apply
		w.Server.Apply = &writes.Applier{Live: own.Live, Client: interceptor.NewClient(&watching{own.Client}, interceptor.Funcs{
			Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
				if _, is := o.(*corev1ac.ServiceApplyConfiguration); is {
					<-ctx.Done()
					return ctx.Err()
				}
				return c.Apply(ctx, o, opts...)
			},
		})}
		pass, cancel := context.WithTimeout(w.ctx, 8*time.Second)
		defer cancel()
		_, err := reconcile.AsReconciler(w.client, w.Server).Reconcile(pass, w.request("files"))
		Expect(err).To(MatchError(context.DeadlineExceeded))
		s := w.getServer("files")
		Expect(s.Status.ObservedGeneration).To(Equal(s.Generation))
	})

	It("is restricted and scaled down also where the API server does not answer for another child, which is tried again", func() {
		w.create(w.server("files", func(s *mcpv1alpha1.MCPServer) { s.Spec.Network.Egress = mcpv1alpha1.EgressOpen }))
		w.settle()
		own := w.Server.Apply
		w.Server.Apply = &writes.Applier{Live: own.Live, Client: interceptor.NewClient(&watching{own.Client}, interceptor.Funcs{
			Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
				switch o := o.(type) {
				case *corev1ac.ServiceApplyConfiguration, *corev1ac.ServiceAccountApplyConfiguration:
					return apierrors.NewInternalError(context.DeadlineExceeded)
				default:
					return c.Apply(ctx, o, opts...)
				}
			},
		})}
		for _, o := range []client.Object{account(), service("files")()} {
			Expect(kubectl.Delete(w.ctx, o)).To(Succeed())
		}
		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) {
			s.Spec.State, s.Spec.Network.Egress = mcpv1alpha1.StateDisabled, mcpv1alpha1.EgressDNSOnly
		})
		w.seen()
		_, err := reconcile.AsReconciler(w.client, w.Server).Reconcile(w.ctx, w.request("files"))
		Expect(err).To(MatchError(apierrors.IsInternalError, "IsInternalError"))
		Expect(networks().PolicyTypes).To(ContainElement(networkingv1.PolicyTypeEgress))
		Expect(ptr.Deref(w.deployment("files").Spec.Replicas, 1)).To(BeZero())
		w.Server.Apply = own
		w.settle()
		Expect(condition(w.getServer("files").Status.Conditions, "Ready")).To(Equal("False/Disabled"))
	})
})
