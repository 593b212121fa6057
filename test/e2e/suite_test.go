//go:build e2e

// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e holds the tests that need a kubelet: real pods of real MCP servers on a real cluster. `make e2e` starts the
// cluster, installs Toolgate and runs them in the node's network, where Services and pods can be reached.
package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// The images of the demo's servers, which `make e2e` has brought to the node.
const (
	everythingImage = "toolgate.dev/demo/everything:2026.8.31"
	filesystemImage = "toolgate.dev/demo/filesystem:2026.8.31"

	managerNamespace = "toolgate-system"
	managerName      = "toolgate-manager"
)

// Shared time-outs: ended is for a call whose server or dispatcher was killed (a client that takes broken streams up again
// learns of it when the container is back), eventually for what takes pods.
const (
	ended      = time.Minute
	eventually = 4 * time.Minute
	poll       = 50 * time.Millisecond
)

var (
	config *rest.Config
	kube   client.Client
	typed  kubernetes.Interface
)

func TestE2E(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Toolgate on a real cluster")
}

var _ = BeforeSuite(func() {
	scheme := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(mcpv1alpha1.AddToScheme(scheme)).To(Succeed())
	var err error
	config, err = ctrl.GetConfig()
	Expect(err).NotTo(HaveOccurred(), "make e2e sets KUBECONFIG to its cluster")
	config.QPS, config.Burst = 200, 400
	kube, err = client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	typed, err = kubernetes.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	SetDefaultEventuallyTimeout(eventually)
	SetDefaultEventuallyPollingInterval(poll)
	ctrl.SetLogger(GinkgoLogr)
})

// newNamespace gives a spec a namespace of its own, which is deleted afterwards.
func newNamespace(ctx context.Context) string {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}}
	Expect(kube.Create(ctx, ns)).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		if CurrentSpecReport().Failed() {
			describe(ctx, ns.Name)
		}
		Expect(client.IgnoreNotFound(kube.Delete(ctx, ns))).To(Succeed())
	})
	return ns.Name
}

// describe prints what a person would look at after a failure.
func describe(ctx context.Context, namespace string) {
	var servers mcpv1alpha1.MCPServerList
	if err := kube.List(ctx, &servers, client.InNamespace(namespace)); err == nil {
		for _, s := range servers.Items {
			_, _ = fmt.Fprintf(GinkgoWriter, "MCPServer %s: %+v\n", s.Name, s.Status)
		}
	}
	var pods corev1.PodList
	if err := kube.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
		return
	}
	for _, p := range pods.Items {
		_, _ = fmt.Fprintf(GinkgoWriter, "Pod %s: %s %+v\n", p.Name, p.Status.Phase, p.Status.ContainerStatuses)
		for _, container := range []string{"dispatcher", "server"} {
			logs, err := typed.CoreV1().Pods(namespace).GetLogs(p.Name, &corev1.PodLogOptions{Container: container, TailLines: new(int64(40))}).DoRaw(ctx)
			if err == nil {
				_, _ = fmt.Fprintf(GinkgoWriter, "--- %s/%s\n%s\n", p.Name, container, logs)
			}
		}
	}
}

// auditLog is where the cluster writes one line for each mutating request; empty on a cluster that is not ours.
func auditLog() string { return os.Getenv("TOOLGATE_AUDIT_LOG") }
