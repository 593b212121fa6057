//go:build e2e

// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

var _ = Describe("A server in operation", func() {
	It("is scaled by its scale subresource, up and down, and is protected from evictions while it has several pods", func(ctx SpecContext) {
		server := create(ctx, everything(newNamespace(ctx), "scaled"))
		expectReady(ctx, server)
		for _, replicas := range []int32{3, 1} {
			scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
			Expect(kube.SubResource("scale").Update(ctx, server, client.WithSubResourceBody(scale))).To(Succeed())
			Eventually(func(g Gomega) {
				g.Expect(kube.SubResource("scale").Get(ctx, server, scale)).To(Succeed())
				g.Expect(scale.Status.Replicas).To(Equal(replicas))
				g.Expect(scale.Status.Selector).NotTo(BeEmpty())
				g.Expect(pods(ctx, g, server)).To(HaveLen(int(replicas)))
				g.Expect(budgetIsThere(ctx, g, server)).To(Equal(replicas > 1))
			}).Should(Succeed())
			expectReady(ctx, server)
			sum, err := call(ctx, endpoint(ctx, server), "get-sum", `{"a":2,"b":40}`)
			Expect(err).NotTo(HaveOccurred())
			Expect(sum.ok()).To(BeTrue(), "%+v", sum)
		}
	}, SpecTimeout(8*time.Minute))

	It("gets what its ConfigMap says after a change, by a rollout of its own", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		settings := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"}, Data: map[string]string{"COLOUR": "green"},
		}
		Expect(kube.Create(ctx, settings)).To(Succeed())
		server := everything(namespace, "configured")
		server.Spec.Container.EnvFrom = []mcpv1alpha1.EnvFrom{{ConfigMapRef: settings.Name}}
		create(ctx, server)
		expectReady(ctx, server)
		expectEnvironment(ctx, server, `"COLOUR": "green"`)
		change(ctx, settings, func(c *corev1.ConfigMap) { c.Data["COLOUR"] = "blue" })
		expectEnvironment(ctx, server, `"COLOUR": "blue"`)
		expectReady(ctx, server)
	}, SpecTimeout(10*time.Minute))

	It("may be edited by who has the role edit, and trusted by who has the verb trust", func(ctx SpecContext) {
		server := create(ctx, everything(newNamespace(ctx), "guarded"))
		grant(ctx, server.Namespace, "edit")
		editor := as(editing)
		trusted := func() error {
			before := server.DeepCopy()
			server.Spec.Trust = mcpv1alpha1.Trust{State: mcpv1alpha1.Trusted, Reason: "reviewed"}
			return editor.Patch(ctx, server, client.MergeFrom(before))
		}
		Eventually(func(g Gomega) { // roles that are aggregated are filled in after a moment
			g.Expect(editor.Get(ctx, client.ObjectKeyFromObject(server), server)).To(Succeed())
			err := trusted()
			g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
			g.Expect(err).To(MatchError(ContainSubstring("spec.trust.state")), "the policy refuses, and names the field")
		}).Should(Succeed())
		grant(ctx, server.Namespace, "toolgate-truster")
		Eventually(func(g Gomega) {
			g.Expect(editor.Get(ctx, client.ObjectKeyFromObject(server), server)).To(Succeed())
			g.Expect(trusted()).To(Succeed())
		}).Should(Succeed())
	}, SpecTimeout(5*time.Minute))
})

func budgetIsThere(ctx context.Context, g Gomega, server *mcpv1alpha1.MCPServer) bool {
	err := kube.Get(ctx, client.ObjectKeyFromObject(server), &policyv1.PodDisruptionBudget{})
	g.Expect(client.IgnoreNotFound(err)).To(Succeed())
	return err == nil
}

// expectEnvironment waits until the rollout is over and the server itself says that its environment holds a line.
func expectEnvironment(ctx context.Context, server *mcpv1alpha1.MCPServer, line string) {
	Eventually(func(g Gomega) {
		var deployment appsv1.Deployment
		g.Expect(kube.Get(ctx, client.ObjectKeyFromObject(server), &deployment)).To(Succeed())
		g.Expect(deployment.Status.UpdatedReplicas).To(Equal(deployment.Status.Replicas))
		a, err := call(ctx, endpoint(ctx, server), "get-env", `{}`)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(a.ok()).To(BeTrue(), "%+v", a)
		g.Expect(a.Result.Content).To(ContainElement(HaveField("Text", ContainSubstring(line))))
	}).WithTimeout(6 * time.Minute).WithPolling(time.Second).Should(Succeed())
}

// editing is the user that specs without all rights act as.
const editing = "e2e-editor"

func as(user string) client.Client {
	limited := rest.CopyConfig(config)
	limited.Impersonate = rest.ImpersonationConfig{UserName: user}
	c, err := client.New(limited, client.Options{Scheme: kube.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	return c
}

func grant(ctx context.Context, namespace, role string) {
	Expect(kube.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: editing}},
		RoleRef:    rbacv1.RoleRef{Kind: "ClusterRole", APIGroup: rbacv1.GroupName, Name: role},
	})).To(Succeed())
}
