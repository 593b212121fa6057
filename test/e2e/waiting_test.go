//go:build e2e

// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// rounds is how often each figure is measured.
const rounds = 20

// atRest is after how long without a change the kubelet has looked at a pod and found nothing to do.
const atRest = 1500 * time.Millisecond

// figures are durations of one kind.
type figures []time.Duration

// report prints median and maximum; the goals are for the reader, not for an assertion on a busy machine.
func (f figures) report(what, goal string) {
	slices.Sort(f)
	text := fmt.Sprintf("%s: median %v, maximum %v over %d rounds (goal: %s)",
		what, f[len(f)/2].Round(time.Millisecond), f[len(f)-1].Round(time.Millisecond), len(f), goal)
	AddReportEntry(text)
	fmt.Println(text)
}

// Each spec has a namespace of its own, so that a second try finds nothing of the first.
var _ = Describe("The time that a user waits", func() {
	It("is short from apply to a list of all tools, and nothing is complained of meanwhile", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		var took figures
		for i := range rounds {
			server := everything(namespace, fmt.Sprintf("round-%d", i))
			start := time.Now()
			create(ctx, server)
			Eventually(func(g Gomega) {
				g.Expect(kube.Get(ctx, client.ObjectKeyFromObject(server), server)).To(Succeed())
				g.Expect(server.Status.ToolsCount).NotTo(BeNil())
				registered := 0
				for _, tool := range tools(ctx, g, server) {
					if condition(tool.Status.Conditions, mcpv1alpha1.ConditionRegistered).Status == metav1.ConditionTrue {
						registered++
					}
				}
				g.Expect(registered).To(BeNumerically(">", 10))
				g.Expect(registered).To(BeEquivalentTo(*server.Status.ToolsCount))
			}).Should(Succeed())
			took = append(took, time.Since(start))
			Expect(kube.Delete(ctx, server)).To(Succeed())
			Eventually(func(g Gomega) { g.Expect(tools(ctx, g, server)).To(BeEmpty()) }).Should(Succeed())
		}
		took.report("kubectl apply to all tools listed", "under 5 s")
		Expect(warnings(ctx, namespace)).To(BeEmpty())
	}, SpecTimeout(15*time.Minute))

	It("is short from a change of trust or rules to its enforcement in the running pod", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		server := filesystem(namespace, "files")
		// One process: what is timed is the way of a policy, not the start of a process for each call that asks for it.
		server.Spec.Transport.Isolation = mcpv1alpha1.IsolationShared
		create(ctx, server)
		expectReady(ctx, server)
		url := endpoint(ctx, server)
		var took figures
		measure := func(mutate func(), want string) {
			start := time.Now()
			mutate()
			Eventually(func(g Gomega) {
				a, err := call(ctx, url, "write_file", `{"path":"/data/a.txt","content":"x"}`)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(a.refusal()).To(Equal(want))
			}).WithPolling(5 * time.Millisecond).Should(Succeed())
			took = append(took, time.Since(start))
			// The next change is to find the kubelet at rest, as a person's would: it looks at one pod once a second at most.
			expectReady(ctx, server)
			since := time.Now()
			Eventually(func(g Gomega) {
				if !enforced(ctx, g, server) {
					since = time.Now()
				}
				g.Expect(time.Since(since)).To(BeNumerically(">", atRest))
			}).Should(Succeed())
		}
		for range rounds {
			trust(ctx, server, mcpv1alpha1.Trusted, measure, "")
			rule := noWrites(namespace)
			measure(func() { Expect(kube.Create(ctx, rule)).To(Succeed()) }, "RuleRejected")
			measure(func() { Expect(kube.Delete(ctx, rule)).To(Succeed()) }, "")
			trust(ctx, server, mcpv1alpha1.Untrusted, measure, "Untrusted")
		}
		took.report("change of trust or rules to enforcement", "median under 500 ms, never over 2 s")
	}, SpecTimeout(15*time.Minute))
})

func enforced(ctx context.Context, g Gomega, server *mcpv1alpha1.MCPServer) bool {
	g.Expect(kube.Get(ctx, client.ObjectKeyFromObject(server), server)).To(Succeed())
	return condition(server.Status.Conditions, mcpv1alpha1.ConditionEnforced).Status == metav1.ConditionTrue
}

func trust(ctx context.Context, server *mcpv1alpha1.MCPServer, state mcpv1alpha1.TrustState, measure func(func(), string), want string) {
	measure(func() {
		change(ctx, server, func(s *mcpv1alpha1.MCPServer) { s.Spec.Trust.State = state })
	}, want)
}

// noWrites is a RuleSet that refuses every write_file.
func noWrites(namespace string) *mcpv1alpha1.RuleSet {
	return &mcpv1alpha1.RuleSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "no-writes"},
		Spec: mcpv1alpha1.RuleSetSpec{
			Type:   mcpv1alpha1.RuleSetPolicy,
			Format: mcpv1alpha1.RuleFormatCEL,
			Tools:  &mcpv1alpha1.ToolSelector{Names: []string{"write_*"}},
			Rules:  []mcpv1alpha1.Rule{{Name: "none", Action: mcpv1alpha1.ActionReject, When: "true", Message: "Nothing is written here."}},
		},
	}
}
