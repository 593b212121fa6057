//go:build e2e

// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

var _ = Describe("A registry document that outgrows one ConfigMap", func() {
	It("is enforced in shards by the pod that runs, as a whole, and in one piece again afterwards", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		server := everything(namespace, "large")
		server.Spec.Transport.Isolation = mcpv1alpha1.IsolationShared
		create(ctx, server)
		expectReady(ctx, server)
		Expect(shards(ctx, Default, server)).To(BeZero())
		pod, url := onlyPod(ctx, server), endpoint(ctx, server)

		const sets = 12 // of some 30 kB that do not get smaller by compression
		for i := range sets {
			Expect(kube.Create(ctx, largeSet(namespace, i))).To(Succeed())
		}
		for _, refused := range []int{0, sets - 1} { // the sets stand in different shards
			Eventually(func(g Gomega) {
				a, err := call(ctx, url, "get-sum", fmt.Sprintf(`{"a":%d,"b":40}`, refused))
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(a.refusal()).To(Equal("RuleRejected"))
			}).Should(Succeed())
		}
		expectReady(ctx, server)
		Expect(shards(ctx, Default, server)).To(BeNumerically(">", 1))
		expectCondition(ctx, server, mcpv1alpha1.ConditionEnforced, metav1.ConditionTrue)

		Expect(kube.DeleteAllOf(ctx, &mcpv1alpha1.RuleSet{}, client.InNamespace(namespace))).To(Succeed())
		Eventually(func(g Gomega) {
			a, err := call(ctx, url, "get-sum", `{"a":0,"b":40}`)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(a.ok()).To(BeTrue(), "%+v", a)
			g.Expect(shards(ctx, g, server)).To(BeZero())
		}).Should(Succeed())
		expectReady(ctx, server)
		Expect(onlyPod(ctx, server).UID).To(Equal(pod.UID), "the pod is not replaced for it")
		Expect(restarts(onlyPod(ctx, server))).To(Equal(restarts(pod)))
	}, SpecTimeout(6*time.Minute))
})

// shards counts the ConfigMaps that hold shards of a server's document.
func shards(ctx context.Context, g Gomega, server *mcpv1alpha1.MCPServer) int {
	var list corev1.ConfigMapList
	g.Expect(kube.List(ctx, &list, client.InNamespace(server.Namespace))).To(Succeed())
	count := 0
	for i := range 8 {
		name := fmt.Sprintf("%s.registry-%d", server.Name, i)
		for j := range list.Items {
			if list.Items[j].Name == name {
				count++
			}
		}
	}
	return count
}

// largeSet refuses sums whose first number is i, in many words.
func largeSet(namespace string, i int) *mcpv1alpha1.RuleSet {
	const rules, words = 30, 1000
	set := &mcpv1alpha1.RuleSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("large-%02d", i)},
		Spec:       mcpv1alpha1.RuleSetSpec{Type: mcpv1alpha1.RuleSetPolicy, Format: mcpv1alpha1.RuleFormatCEL},
	}
	random := rand.NewChaCha8([32]byte{byte(i)})
	for n := range rules {
		noise := make([]byte, words*3/4)
		_, _ = random.Read(noise) // it never fails
		when := "false"
		if n == 0 {
			when = fmt.Sprintf("tool.name == 'get-sum' && args.a == %d", i)
		}
		set.Spec.Rules = append(set.Spec.Rules, mcpv1alpha1.Rule{
			Name: fmt.Sprintf("rule-%d", n), Action: mcpv1alpha1.ActionReject, When: when, Message: base64.StdEncoding.EncodeToString(noise),
		})
	}
	return set
}
