// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/testutil/fakecluster"
)

// managerNamespace is where config/ puts the manager.
const managerNamespace = "toolgate-system"

// refusals collects the requests that a manager had no right to.
type refusals struct {
	mu   sync.Mutex
	seen []string
}

func (r *refusals) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		if err == nil && (resp.StatusCode == http.StatusForbidden || resp.StatusCode == http.StatusUnauthorized) {
			r.mu.Lock()
			r.seen = append(r.seen, req.Method+" "+req.URL.Path)
			r.mu.Unlock()
		}
		return resp, err
	})
}

func (r *refusals) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.seen...)
}

// applyRights creates the roles and bindings of a manifest of config/. Those without a namespace go into the given one.
func applyRights(w *world, namespace string, path ...string) {
	GinkgoHelper()
	data, err := os.ReadFile(filepath.Join(append([]string{"..", "config"}, path...)...))
	Expect(err).NotTo(HaveOccurred())
	for _, document := range bytes.Split(data, []byte("---\n")) {
		u := &unstructured.Unstructured{}
		Expect(yaml.Unmarshal(document, &u.Object)).To(Succeed())
		if len(u.Object) == 0 {
			continue
		}
		if u.GetNamespace() == "" {
			u.SetNamespace(namespace)
		}
		Expect(client.IgnoreAlreadyExists(kubectl.Create(w.ctx, u))).To(Succeed())
	}
}

var _ = Describe("A manager for one namespace, with the Roles of config/namespaced and no other right", func() {
	It("runs a server, is refused nothing, and leaves other namespaces alone", func() {
		w, other := newWorld(), newWorld()
		Expect(client.IgnoreAlreadyExists(kubectl.Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: managerNamespace}}))).To(Succeed())
		applyRights(w, w.namespace, "namespaced", "watched", "role.yaml")
		applyRights(w, w.namespace, "namespaced", "watched", "role_binding.yaml")
		applyRights(w, w.namespace, "rbac", "leader_election.yaml")
		other.create(other.server("elsewhere"))

		refused := &refusals{}
		entitled := rest.CopyConfig(config)
		entitled.Impersonate = rest.ImpersonationConfig{
			UserName: "system:serviceaccount:" + managerNamespace + ":toolgate-manager",
			Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + managerNamespace, "system:authenticated"},
		}
		entitled.Wrap(refused.wrap)
		stop := runManagerAs(w, entitled, managerNamespace)
		DeferCleanup(func() { stop() })

		w.create(w.server("files"))
		Eventually(func() error {
			return kubectl.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: "files"}, &appsv1.Deployment{})
		}).Should(Succeed())
		pod := w.runPod("files", fakecluster.Definition("read_file", fakecluster.ReadOnly), fakecluster.Definition("write_file", ""))
		w.create(&mcpv1alpha1.RuleSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "rules"},
			Spec:       mcpv1alpha1.RuleSetSpec{Type: mcpv1alpha1.RuleSetSafety, Rules: []mcpv1alpha1.Rule{{Name: "never", Action: mcpv1alpha1.ActionReject, When: "false"}}},
		})
		Eventually(func(g Gomega) {
			w.enforce(pod)
			g.Expect(condition(w.getServer("files").Status.Conditions, "Ready")).To(Equal("True/Ready"))
			rules := &mcpv1alpha1.RuleSet{}
			g.Expect(kubectl.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: "rules"}, rules)).To(Succeed())
			g.Expect(condition(rules.Status.Conditions, "Ready")).To(HavePrefix("True/"))
			g.Expect(w.index()).To(ConsistOf("files"))
			var told eventsv1.EventList
			g.Expect(kubectl.List(w.ctx, &told, client.InNamespace(w.namespace))).To(Succeed())
			g.Expect(told.Items).NotTo(BeEmpty())
			var lease coordinationv1.Lease
			g.Expect(kubectl.Get(w.ctx, client.ObjectKey{Namespace: managerNamespace, Name: "toolgate-manager"}, &lease)).To(Succeed())
		}).Should(Succeed())

		By("reading past a cache that is late")
		live, err := client.New(entitled, client.Options{Scheme: kubectl.Scheme()})
		Expect(err).NotTo(HaveOccurred())
		rules := &mcpv1alpha1.RuleSet{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "rules"}}
		for _, o := range []client.Object{w.getServer("files"), w.getTool("files.read-file"), rules} {
			Expect(live.Get(w.ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
		}

		By("taking away what the server made, and the server")
		Expect(kubectl.Delete(w.ctx, w.getTool("files.read-file"))).To(Succeed())
		Eventually(func() error {
			return kubectl.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: "files.read-file"}, &mcpv1alpha1.MCPTool{})
		}).Should(Succeed())
		Expect(kubectl.Delete(w.ctx, w.getServer("files"))).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(kubectl.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: "mcp-registry"}, &corev1.ConfigMap{}))
		}).Should(BeTrue())

		Expect(refused.all()).To(BeEmpty())
		left := other.getServer("elsewhere")
		Expect(left.Status.Conditions).To(BeEmpty())
		Expect(apierrors.IsNotFound(kubectl.Get(w.ctx, client.ObjectKeyFromObject(left), &appsv1.Deployment{}))).To(BeTrue())
	})
})
