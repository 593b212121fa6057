//go:build e2e

// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

const (
	restingServers = 50
	restingTime    = 5 * time.Minute
)

var _ = Describe("At rest", func() {
	It("the manager writes nothing: idle, after a restart, and when the same spec is applied again", func(ctx SpecContext) {
		if auditLog() == "" {
			Skip("counting writes needs the audit log of the cluster of hack/k8s")
		}
		namespace := newNamespace(ctx)
		servers := make([]*mcpv1alpha1.MCPServer, restingServers)
		for i := range servers {
			servers[i] = create(ctx, everything(namespace, fmt.Sprintf("rest-%d", i)))
		}
		for _, server := range servers {
			Eventually(func(g Gomega) {
				g.Expect(kube.Get(ctx, client.ObjectKeyFromObject(server), server)).To(Succeed())
				g.Expect(condition(server.Status.Conditions, mcpv1alpha1.ConditionReady).Status).To(BeEquivalentTo("True"))
				g.Expect(tools(ctx, g, server)).To(HaveLen(int(*server.Status.ToolsCount)))
			}).WithTimeout(10 * time.Minute).WithPolling(time.Second).Should(Succeed())
		}
		By("letting what was under way come to its end")
		var quiet []string // nothing is quiet at first sight: two looks ten seconds apart must agree
		Eventually(func(g Gomega) {
			before := quiet
			quiet = writesOfManager()
			g.Expect(quiet).To(HaveLen(len(before)))
		}).WithPolling(10 * time.Second).WithTimeout(2 * time.Minute).Should(Succeed())

		By("applying the same spec again")
		for _, server := range servers {
			// Without a resourceVersion, as kubectl applies: a status that was written since must not refuse it.
			Expect(kube.Patch(ctx, everything(namespace, server.Name), client.Merge)).To(Succeed())
		}
		By("restarting the manager, and waiting")
		restartManager(ctx)
		Consistently(func() []string { return writesOfManager()[len(quiet):] }).
			WithTimeout(restingTime).WithPolling(10 * time.Second).Should(BeEmpty())
		By("leaving the machine to the next spec")
		Expect(kube.DeleteAllOf(ctx, &mcpv1alpha1.MCPServer{}, client.InNamespace(namespace))).To(Succeed())
		Eventually(func(g Gomega) {
			var left corev1.PodList
			g.Expect(kube.List(ctx, &left, client.InNamespace(namespace))).To(Succeed())
			g.Expect(left.Items).To(BeEmpty())
		}).WithTimeout(5 * time.Minute).WithPolling(time.Second).Should(Succeed())
		fmt.Printf("at rest with %d servers: 0 writes by the manager in %v, a restart and a second apply included\n", restingServers, restingTime)
	}, SpecTimeout(25*time.Minute))
})

// writesOfManager are the mutating requests that the manager has sent so far, what leader election needs aside, in the API
// server's own words.
func writesOfManager() []string {
	file, err := os.Open(auditLog())
	Expect(err).NotTo(HaveOccurred())
	defer file.Close() //nolint:errcheck // it was only read
	var writes []string
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		var event struct {
			Verb       string
			Stage      string
			RequestURI string
			User       struct{ Username string }
			ObjectRef  struct{ Resource, Namespace, Name, Subresource string }
		}
		if json.Unmarshal(scanner.Bytes(), &event) != nil || event.Stage != "ResponseComplete" {
			continue
		}
		if !strings.HasPrefix(event.User.Username, "system:serviceaccount:"+managerNamespace+":") {
			continue
		}
		// Its Lease, and the event that says who has it.
		if ref := event.ObjectRef; ref.Namespace == managerNamespace && (ref.Resource == "leases" || ref.Resource == "events") {
			continue
		}
		writes = append(writes, fmt.Sprintf("%s %s", event.Verb, event.RequestURI))
	}
	return writes
}
