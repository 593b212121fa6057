//go:build e2e

// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// What is tested is how a release reaches the pods of servers; it is a release by its image's name. It has each manager upgrade
// one server at a time, so that waves are seen with few of them.
var _ = Describe("A new release of Toolgate", Ordered, Serial, func() {
	const upgraded = 3
	var (
		servers []*mcpv1alpha1.MCPServer
		before  string // the image of the release that is installed
	)
	BeforeAll(func(ctx SpecContext) {
		if auditLog() == "" {
			Skip("needs a cluster of its own, whose manager it may change")
		}
		before = dispatcherImage(ctx)
		namespace := newNamespace(ctx)
		for i := range upgraded {
			server := everything(namespace, fmt.Sprintf("upgraded-%d", i))
			server.Spec.Transport.Isolation = mcpv1alpha1.IsolationShared
			servers = append(servers, create(ctx, server))
		}
		for _, server := range servers {
			expectReady(ctx, server)
		}
		original := managerDeployment(ctx)
		DeferCleanup(func(ctx context.Context) {
			change(ctx, managerDeployment(ctx), func(d *appsv1.Deployment) { d.Spec.Template.Spec = original.Spec.Template.Spec })
			expectManager(ctx)
		})
	})

	It("stops at the first server that does not come up with it, while all are served, and is taken back", func(ctx SpecContext) {
		pods := podsOf(ctx, servers)
		stop := keepCallingAll(ctx, servers)
		release(ctx, "toolgate.dev/toolgate:missing")
		Eventually(func(g Gomega) {
			g.Expect(upgrades(ctx, g, servers)).To(ConsistOf(
				mcpv1alpha1.ReasonUpgradeFailed, mcpv1alpha1.ReasonUpgradeWaiting, mcpv1alpha1.ReasonUpgradeWaiting))
		}).Should(Succeed())
		Expect(condition(servers[0].Status.Conditions, mcpv1alpha1.ConditionUpgraded).Message).To(ContainSubstring("toolgate.dev/toolgate:missing"),
			"who looks at the server is told what is missing")
		release(ctx, before)
		expectUpgraded(ctx, servers, before)
		stop()
		Expect(podsOf(ctx, servers)).To(Equal(pods), "no pod that served was replaced")
	}, SpecTimeout(8*time.Minute))

	It("goes through the servers one after the other, and refuses no call", func(ctx SpecContext) {
		const next = "toolgate.dev/toolgate:next"
		tagImage(ctx, before, next)
		stop := keepCallingAll(ctx, servers)
		together := watchUpgrades(ctx, servers, before)
		release(ctx, next)
		expectUpgraded(ctx, servers, next)
		stop()
		Expect(together()).To(Equal(1), "servers with pods of both releases at a time")
		for _, server := range servers {
			Expect(server.Status.DispatcherVersion).NotTo(BeEmpty())
		}
	}, SpecTimeout(8*time.Minute))
})

func managerDeployment(ctx context.Context) *appsv1.Deployment {
	GinkgoHelper()
	d := &appsv1.Deployment{}
	Expect(kube.Get(ctx, client.ObjectKey{Namespace: managerNamespace, Name: managerName}, d)).To(Succeed())
	return d
}

const imageVariable = "DISPATCHER_IMAGE"

func dispatcherImage(ctx context.Context) string {
	GinkgoHelper()
	for _, v := range managerDeployment(ctx).Spec.Template.Spec.Containers[0].Env {
		if v.Name == imageVariable {
			return v.Value
		}
	}
	Fail("the manager has no " + imageVariable)
	return ""
}

// release starts the manager of a release whose dispatcher is in an image, and waits until it is the only one.
func release(ctx context.Context, image string) {
	GinkgoHelper()
	change(ctx, managerDeployment(ctx), func(d *appsv1.Deployment) {
		manager := &d.Spec.Template.Spec.Containers[0]
		if one := "--max-upgrading=1"; !slices.Contains(manager.Args, one) {
			manager.Args = append(manager.Args, one)
		}
		for i := range manager.Env {
			if manager.Env[i].Name == imageVariable {
				manager.Env[i].Value = image
			}
		}
	})
	expectManager(ctx)
}

func expectManager(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		d := managerDeployment(ctx)
		g.Expect(d.Status.ObservedGeneration).To(Equal(d.Generation))
		g.Expect(d.Status.UpdatedReplicas).To(BeEquivalentTo(1))
		g.Expect(d.Status.Replicas).To(BeEquivalentTo(1))
		g.Expect(d.Status.AvailableReplicas).To(BeEquivalentTo(1))
	}).Should(Succeed())
}

// tagImage gives an image of the node another name.
func tagImage(ctx context.Context, image, name string) {
	GinkgoHelper()
	out, err := exec.CommandContext(ctx, "../../hack/k8s/in.sh", "ctr", "--namespace", "k8s.io", "image", "tag", "--force", image, name).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
}

// upgrades are the reasons of the servers' Upgraded conditions.
func upgrades(ctx context.Context, g Gomega, servers []*mcpv1alpha1.MCPServer) []string {
	reasons := make([]string, 0, len(servers))
	for _, server := range servers {
		g.Expect(kube.Get(ctx, client.ObjectKeyFromObject(server), server)).To(Succeed())
		reasons = append(reasons, condition(server.Status.Conditions, mcpv1alpha1.ConditionUpgraded).Reason)
	}
	return reasons
}

// expectUpgraded waits until every pod of the servers is of a release, and they say so.
func expectUpgraded(ctx context.Context, servers []*mcpv1alpha1.MCPServer, image string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		for _, server := range servers {
			images := map[string]bool{}
			for _, pod := range pods(ctx, g, server) {
				images[releaseOf(pod)] = true
			}
			g.Expect(images).To(Equal(map[string]bool{image: true}), server.Name)
		}
		for _, reason := range upgrades(ctx, g, servers) {
			g.Expect(reason).To(Equal(mcpv1alpha1.ReasonUpToDate))
		}
	}).Should(Succeed())
	for _, server := range servers {
		expectReady(ctx, server)
	}
}

// releaseOf is the image that a pod's dispatcher runs.
func releaseOf(pod corev1.Pod) string {
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if c.Name == "dispatcher" {
			return c.Image
		}
	}
	return ""
}

// podsOf are the names of all pods that serve, in order.
func podsOf(ctx context.Context, servers []*mcpv1alpha1.MCPServer) []string {
	GinkgoHelper()
	var names []string
	for _, server := range servers {
		names = append(names, onlyPod(ctx, server).Name)
	}
	return names
}

// keepCallingAll does to each server what keepCalling does to one.
func keepCallingAll(ctx context.Context, servers []*mcpv1alpha1.MCPServer) (stop func()) {
	stops := make([]func(), 0, len(servers))
	for _, server := range servers {
		stops = append(stops, keepCalling(ctx, endpoint(ctx, server)))
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// watchUpgrades follows every version of the servers' Deployments. The function that it gives tells of how many of them, at most,
// the template was another than before while not all of its pods were available.
func watchUpgrades(ctx context.Context, servers []*mcpv1alpha1.MCPServer, before string) (together func() int) {
	GinkgoHelper()
	namespace := servers[0].Namespace
	now, err := typed.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	versions, err := typed.AppsV1().Deployments(namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: now.ResourceVersion})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(versions.Stop)
	underway, most := map[string]bool{}, 0
	return func() int {
		for {
			select {
			case event := <-versions.ResultChan():
				d, ok := event.Object.(*appsv1.Deployment)
				Expect(ok).To(BeTrue(), "the watch ended: %v", event)
				template := corev1.Pod{Spec: d.Spec.Template.Spec}
				done := d.Status.ObservedGeneration == d.Generation && d.Status.UpdatedReplicas == d.Status.Replicas &&
					d.Status.AvailableReplicas == *d.Spec.Replicas
				delete(underway, d.Name)
				if releaseOf(template) != before && !done {
					underway[d.Name] = true
				}
				most = max(most, len(underway))
			default:
				return most
			}
		}
	}
}
