// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers"
	"toolgate.dev/toolgate/controllers/process"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/workload"
	"toolgate.dev/toolgate/internal/testutil/fakecluster"
)

// quiet is how long nothing may be written at rest. It is longer than everything that a controller puts off.
const quiet = 3 * time.Second

// runManager runs a whole manager, driven by watches, and gives what stops it.
func runManager(w *world) (stop func()) {
	GinkgoHelper()
	return runManagerAs(w, config, "")
}

// runManagerAs is runManager with a client's configuration. In a namespace for its Lease, it waits to lead.
func runManagerAs(w *world, config *rest.Config, leases string) (stop func()) {
	GinkgoHelper()
	counted := rest.CopyConfig(config)
	counted.Wrap(w.writes.wrap)
	ctx, cancel := context.WithCancel(w.ctx)
	mgr, err := process.New(ctx, counted, process.Options{
		Controllers: controllers.Options{
			Platform:           workload.Platform{Image: "toolgate.dev/toolgate:test"},
			PodURL:             w.dispatchers.URLOf,
			Keys:               w.keys,
			SkipNameValidation: true,
		},
		Namespaces: []string{w.namespace}, LeaseNamespace: leases, MetricsAddress: "0",
	})
	Expect(err).NotTo(HaveOccurred())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	return func() {
		cancel()
		Eventually(done).Should(Receive(BeNil()))
	}
}

var _ = Describe("A manager, driven by watches", func() {
	var (
		w    *world
		stop func()
	)
	BeforeEach(func() {
		w = newWorld()
		stop = runManager(w)
		DeferCleanup(func() { stop() })
	})

	deployed := func(name string) {
		GinkgoHelper()
		Eventually(func() error {
			return kubectl.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, &appsv1.Deployment{})
		}).Should(Succeed())
	}
	// follow makes a dispatcher enforce whatever is written until the server is as wanted.
	becomes := func(name, kind, want string, pods ...*corev1.Pod) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			for _, pod := range pods {
				w.enforce(pod)
			}
			s := w.getServer(name)
			g.Expect(condition(s.Status.Conditions, kind)).To(Equal(want), message(s.Status.Conditions, kind))
		}).Should(Succeed())
	}

	It("takes a server from nothing to ready, and back up whatever is taken away", func() {
		w.create(w.server("files"))
		deployed("files")
		pod := w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly), fakecluster.Definition("write_file", ""))
		becomes("files", "Ready", "True/Ready", pod)
		Eventually(func() string { return condition(w.getTool("files.write-file").Status.Conditions, "Callable") }).Should(Equal("False/Untrusted"))
		Eventually(w.index).Should(ConsistOf("files"))

		for _, o := range []client.Object{
			&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "files"}},
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: render.RegistryName("files")}},
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: render.IndexName}},
			w.getTool("files.read-file"),
		} {
			uid := o.GetUID()
			if uid == "" {
				Expect(kubectl.Get(w.ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
				uid = o.GetUID()
			}
			Expect(kubectl.Delete(w.ctx, o)).To(Succeed())
			Eventually(func(g Gomega) {
				g.Expect(kubectl.Get(w.ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
				g.Expect(o.GetUID()).NotTo(Equal(uid))
			}).Should(Succeed(), "%T %s", o, o.GetName())
		}
		becomes("files", "Ready", "True/Ready", pod)

		By("seeing a pod fail")
		w.podStatus(pod, false, func(s *corev1.PodStatus) {
			failing := waiting("CrashLoopBackOff", "")
			failing.Name = render.ContainerServer
			s.ContainerStatuses = []corev1.ContainerStatus{failing}
		})
		becomes("files", "Ready", "False/ServerExited")
	})

	It("brings trust and rules to the document, and touches pods that do not have it", func() {
		w.create(w.server("files"))
		deployed("files")
		pod := w.runPod("files", fakecluster.Definition("delete_file", ""))
		becomes("files", "Ready", "True/Ready", pod)
		change(w, w.getServer("files"), func(s *mcpv1alpha1.MCPServer) { s.Spec.Trust.State = mcpv1alpha1.Trusted })
		Eventually(func() bool { return w.decoded("files").Policy.Trust.Trusted }).Should(BeTrue())
		Eventually(func(g Gomega) {
			g.Expect(kubectl.Get(w.ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
			g.Expect(pod.Annotations[render.AnnotationRegistryDigest]).To(HavePrefix(registry.Digest(w.document("files"))))
		}).Should(Succeed())
		becomes("files", "Enforced", "True/Enforced", pod)
		Eventually(func() string { return condition(w.getTool("files.delete-file").Status.Conditions, "Callable") }).Should(Equal("True/Callable"))
	})

	It("says again what is so where somebody else has written a status", func() {
		rs := &mcpv1alpha1.RuleSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "safe"},
			Spec:       mcpv1alpha1.RuleSetSpec{Type: mcpv1alpha1.RuleSetPolicy, Rules: []mcpv1alpha1.Rule{{Name: "no-root", Action: mcpv1alpha1.ActionReject, Message: "no", When: "false"}}},
		}
		w.create(rs)
		w.create(w.server("files"))
		deployed("files")
		pod := w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly))
		becomes("files", "Ready", "True/Ready", pod)
		told := func(o client.Object) []metav1.Condition {
			GinkgoHelper()
			Expect(kubectl.Get(w.ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
			switch o := o.(type) {
			case *mcpv1alpha1.MCPServer:
				return o.Status.Conditions
			case *mcpv1alpha1.MCPTool:
				return o.Status.Conditions
			default:
				return o.(*mcpv1alpha1.RuleSet).Status.Conditions
			}
		}
		for o, kind := range map[client.Object]string{w.getServer("files"): "Ready", w.getTool("files.read-file"): "Callable", rs: "Accepted"} {
			Eventually(func() string { return condition(told(o), kind) }).Should(HavePrefix("True/"), "%T", o)
			was := condition(told(o), kind)
			for how, patch := range map[string]string{
				"emptied": `[{"op":"remove","path":"/status"}]`,
				"told":    `[{"op":"replace","path":"/status/conditions","value":[{"type":"` + kind + `","status":"False","reason":"Lie","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}]`,
			} {
				Expect(kubectl.Status().Patch(w.ctx, o, client.RawPatch(types.JSONPatchType, []byte(patch)), client.FieldOwner("somebody"))).To(Succeed(), "%T %s", o, how)
				Eventually(func() string { return condition(told(o), kind) }).Should(Equal(was), "%T %s", o, how)
			}
		}
	})

	It("writes nothing at rest with many servers, and nothing when it starts anew", func() {
		const servers = 20
		var pods []*corev1.Pod
		for i := range servers {
			w.create(w.server(fmt.Sprintf("server-%02d", i)))
		}
		for i := range servers {
			name := fmt.Sprintf("server-%02d", i)
			deployed(name)
			pods = append(pods, w.runPod(name, fakecluster.Definition("read_file", fakecluster.ReadOnly), fakecluster.Definition("write_file", "")))
		}
		for i := range servers {
			becomes(fmt.Sprintf("server-%02d", i), "Ready", "True/Ready", pods[i])
		}
		atRest := func() {
			GinkgoHelper()
			var before int
			Eventually(func() bool {
				last := before
				before = w.writes.count()
				return last == before
			}).WithPolling(quiet).WithTimeout(2 * soon).Should(BeTrue())
		}
		atRest()
		before := w.writes.count()
		Consistently(func() []string { return w.writes.since(before) }).WithTimeout(quiet).WithPolling(quiet / 10).Should(BeEmpty())
		stop()
		stop = runManager(w)
		Consistently(func() []string { return w.writes.since(before) }).WithTimeout(2 * quiet).WithPolling(quiet / 10).Should(BeEmpty())
	})
})
