//go:build e2e

// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// longCall asks the reference server for an operation that takes longer than ended: whatever ends it earlier is what a spec did.
func longCall() *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: "trigger-long-running-operation", Arguments: map[string]any{"duration": 110, "steps": 110}}
}

// inFlight starts a long call in a session and returns once the server works on it, with what will come of it.
func inFlight(ctx context.Context, url string) <-chan error {
	working := make(chan struct{}, 1)
	c := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {
			select {
			case working <- struct{}{}:
			default:
			}
		},
	})
	session, err := c.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	Expect(err).NotTo(HaveOccurred())
	done := make(chan error, 1)
	go func() {
		defer session.Close() //nolint:errcheck // it may have ended already
		params := longCall()
		params.SetProgressToken("working")
		result, err := session.CallTool(ctx, params)
		if err == nil && result.IsError {
			err = fmt.Errorf("result with isError: %v", result.Content)
		}
		done <- err
	}()
	Eventually(working).WithContext(ctx).WithTimeout(ended).Should(Receive())
	return done
}

var _ = Describe("Pulling plugs", Ordered, func() {
	var (
		namespace string
		server    *mcpv1alpha1.MCPServer
	)
	BeforeAll(func(ctx SpecContext) {
		namespace = newNamespace(ctx)
		server = everything(namespace, "plugged")
		server.Spec.TimeoutSeconds = new(int32(120))
		create(ctx, server)
		expectReady(ctx, server)
	})

	// stillServes is how each spec ends: everything is restored.
	stillServes := func(ctx SpecContext) {
		expectReady(ctx, server)
		Eventually(func(g Gomega) {
			a, err := call(ctx, endpoint(ctx, server), "get-sum", `{"a":2,"b":40}`)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(a.ok()).To(BeTrue(), "%+v", a)
		}).Should(Succeed())
	}

	It("tells the client within a second when the child of a call is killed", func(ctx SpecContext) {
		done := inFlight(ctx, endpoint(ctx, server))
		killChildren(ctx, onlyPod(ctx, server))
		start := time.Now()
		var err error
		Eventually(done).WithTimeout(ended).Should(Receive(&err))
		AddReportEntry(fmt.Sprintf("child killed to error at the client: %v", time.Since(start).Round(time.Millisecond)))
		Expect(err).To(MatchError(ContainSubstring("server")))
		stillServes(ctx)
	})

	DescribeTable("tells the client when a container is killed, and comes back", func(ctx SpecContext, container string) {
		pod := onlyPod(ctx, server)
		done := inFlight(ctx, endpoint(ctx, server))
		before := restarts(pod)[container]
		killContainer(ctx, pod, container)
		var err error
		Eventually(done).WithTimeout(ended).Should(Receive(&err))
		Expect(err).To(HaveOccurred())
		Eventually(func(g Gomega) {
			g.Expect(restarts(onlyPod(ctx, server))[container]).To(BeNumerically(">", before))
		}).Should(Succeed())
		stillServes(ctx)
	},
		Entry("the server", "server"),
		Entry("the dispatcher", "dispatcher"),
	)

	DescribeTable("restores a child that is deleted", func(ctx SpecContext, object client.Object, name string) {
		object.SetNamespace(namespace)
		object.SetName(name)
		Expect(kube.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
		uid := object.GetUID()
		Expect(kube.Delete(ctx, object)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(kube.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
			g.Expect(object.GetUID()).NotTo(Equal(uid))
		}).Should(Succeed())
		stillServes(ctx)
	},
		Entry("the Deployment", &appsv1.Deployment{}, "plugged"),
		Entry("the Service", &corev1.Service{}, "plugged"),
		Entry("the registry ConfigMap", &corev1.ConfigMap{}, "plugged.registry"),
	)

	It("goes on serving while the manager restarts, and changes no pin", func(ctx SpecContext) {
		pins := map[string]string{}
		for _, tool := range tools(ctx, Default, server) {
			pins[tool.Name] = fmt.Sprint(tool.Status.Pins)
		}
		restartManager(ctx)
		for _, tool := range tools(ctx, Default, server) {
			Expect(fmt.Sprint(tool.Status.Pins)).To(Equal(pins[tool.Name]), tool.Name)
		}
		stillServes(ctx)
	})
})

// onlyPod is the server's one pod that is not on its way out.
func onlyPod(ctx context.Context, server *mcpv1alpha1.MCPServer) corev1.Pod {
	var found corev1.Pod
	Eventually(func(g Gomega) {
		var live []corev1.Pod
		for _, pod := range pods(ctx, g, server) {
			if pod.DeletionTimestamp == nil {
				live = append(live, pod)
			}
		}
		g.Expect(live).To(HaveLen(1))
		found = live[0]
	}).Should(Succeed())
	return found
}

func restarts(pod corev1.Pod) map[string]int32 {
	count := map[string]int32{}
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, status := range list {
			count[status.Name] = status.RestartCount
		}
	}
	return count
}

// restartManager deletes the manager's pods and waits until another leads.
func restartManager(ctx context.Context) {
	selector := client.MatchingLabels{"app.kubernetes.io/name": "toolgate", "app.kubernetes.io/component": "manager"}
	var old corev1.PodList
	Expect(kube.List(ctx, &old, client.InNamespace(managerNamespace), selector)).To(Succeed())
	Expect(old.Items).NotTo(BeEmpty(), "the manager's pods")
	for i := range old.Items {
		Expect(kube.Delete(ctx, &old.Items[i])).To(Succeed())
	}
	Eventually(func(g Gomega) {
		var deployment appsv1.Deployment
		g.Expect(kube.Get(ctx, client.ObjectKey{Namespace: managerNamespace, Name: managerName}, &deployment)).To(Succeed())
		g.Expect(deployment.Status.ReadyReplicas).To(BeEquivalentTo(1))
		var now corev1.PodList
		g.Expect(kube.List(ctx, &now, client.InNamespace(managerNamespace), selector)).To(Succeed())
		for _, pod := range now.Items {
			for _, gone := range old.Items {
				g.Expect(pod.UID).NotTo(Equal(gone.UID))
			}
		}
	}).Should(Succeed())
}

var _ = Describe("A rollout at three replicas", Ordered, func() {
	var (
		namespace string
		server    *mcpv1alpha1.MCPServer
	)
	BeforeAll(func(ctx SpecContext) {
		namespace = newNamespace(ctx)
		server = everything(namespace, "rolled")
		server.Spec.Replicas = new(int32(3))
		// One process a pod: these specs are about pods, and a process for each call would keep two cores busy.
		server.Spec.Transport.Isolation = mcpv1alpha1.IsolationShared
		create(ctx, server)
		expectReady(ctx, server)
	})

	It("has sessions that every pod serves, whichever holds them", func(ctx SpecContext) {
		all := pods(ctx, Default, server)
		Expect(all).To(HaveLen(3))
		for _, holder := range all {
			session := begin(ctx, podEndpoint(holder))
			for _, pod := range all {
				Eventually(func(g Gomega) {
					status, a, err := callIn(ctx, session, podEndpoint(pod), "get-sum", `{"a":2,"b":40}`)
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(status).To(Equal(http.StatusOK))
					g.Expect(a.ok()).To(BeTrue(), "%+v", a)
				}).Should(Succeed())
			}
		}
	})

	It("to a broken image, spoken to in another way, refuses no call, says what is wrong, and is undone", func(ctx SpecContext) {
		stop := keepCalling(ctx, endpoint(ctx, server))
		before := server.Spec.Transport
		change(ctx, server, func(s *mcpv1alpha1.MCPServer) {
			s.Spec.Container.Image = "toolgate.dev/demo/missing:1"
			s.Spec.Transport = mcpv1alpha1.Transport{Type: mcpv1alpha1.TransportStreamableHTTP, Port: new(int32(3001))}
		})
		Eventually(func(g Gomega) {
			g.Expect(kube.Get(ctx, client.ObjectKeyFromObject(server), server)).To(Succeed())
			c := condition(server.Status.Conditions, mcpv1alpha1.ConditionReady)
			g.Expect(c.ObservedGeneration).To(Equal(server.Generation))
			g.Expect(c.Status).To(Equal(metav1.ConditionFalse))
			g.Expect(c.Message).To(ContainSubstring("toolgate.dev/demo/missing:1"))
		}).Should(Succeed())
		change(ctx, server, func(s *mcpv1alpha1.MCPServer) { s.Spec.Container.Image, s.Spec.Transport = everythingImage, before })
		expectReady(ctx, server)
		stop()
	}, SpecTimeout(5*time.Minute))

	It("to a server with another catalogue serves both under their own pins, and is undone", func(ctx SpecContext) {
		oldPods := pods(ctx, Default, server)
		stop := keepCallingPods(ctx, oldPods)
		change(ctx, server, func(s *mcpv1alpha1.MCPServer) {
			s.Spec.Container.Image = filesystemImage
			s.Spec.Container.Command = []string{"mcp-server-filesystem", "/tmp"}
		})
		// Until its pod is gone, the old revision goes on under its own pins.
		Eventually(func(g Gomega) {
			g.Expect(kube.Get(ctx, client.ObjectKeyFromObject(server), server)).To(Succeed())
			recorded := map[string]bool{}
			for _, r := range server.Status.Revisions {
				recorded[r.Name] = r.FirstCatalogueDigest != ""
			}
			running := map[string]bool{}
			for _, pod := range pods(ctx, g, server) {
				running[pod.Labels["mcp.toolgate.dev/revision"]] = true
			}
			g.Expect(running).To(HaveLen(2))
			for revision := range running {
				g.Expect(recorded).To(HaveKeyWithValue(revision, true))
			}
		}).Should(Succeed())
		stop()
		expectReady(ctx, server)
		Eventually(func(g Gomega) {
			a, err := call(ctx, endpoint(ctx, server), "list_allowed_directories", `{}`)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(a.ok()).To(BeTrue(), "%+v", a)
		}).Should(Succeed())
		Eventually(func(g Gomega) {
			for _, pod := range oldPods {
				g.Expect(client.IgnoreNotFound(kube.Get(ctx, client.ObjectKeyFromObject(&pod), &corev1.Pod{}))).To(Succeed())
			}
		}).Should(Succeed())

		change(ctx, server, func(s *mcpv1alpha1.MCPServer) {
			s.Spec.Container.Image = everythingImage
			s.Spec.Container.Command = []string{"mcp-server-everything"}
		})
		expectReady(ctx, server)
		Eventually(func(g Gomega) {
			a, err := call(ctx, endpoint(ctx, server), "get-sum", `{"a":2,"b":40}`)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(a.ok()).To(BeTrue(), "%+v", a)
		}).Should(Succeed())
	}, SpecTimeout(5*time.Minute))

	It("drains: no call in flight is lost", func(ctx SpecContext) {
		Eventually(func(g Gomega) {
			revisions := map[string]int{}
			for _, pod := range pods(ctx, g, server) {
				revisions[pod.Labels["mcp.toolgate.dev/revision"]]++
			}
			g.Expect(revisions).To(HaveLen(1))
			g.Expect(revisions).To(ContainElement(3))
		}).Should(Succeed(), "the last rollout is over, and its old pods are gone")
		const callers = 12
		results := make(chan error, callers)
		url := endpoint(ctx, server)
		for range callers {
			go func() {
				a, err := call(ctx, url, "trigger-long-running-operation", `{"duration":20,"steps":10}`)
				if err == nil && !a.ok() {
					err = fmt.Errorf("refused (%s): %+v %+v", a.refusal(), a.Result, a.Error)
				}
				results <- err
			}()
		}
		Eventually(func(g Gomega) {
			select {
			case err := <-results:
				StopTrying("a call ended before the drain").Wrap(err).Now()
			default:
			}
			g.Expect(inFlightEverywhere(ctx, g, server)).To(BeEquivalentTo(callers))
		}).Should(Succeed())
		for _, pod := range pods(ctx, Default, server) {
			Expect(kube.Delete(ctx, &pod)).To(Succeed())
		}
		for range callers {
			var err error
			Eventually(results).WithTimeout(time.Minute).Should(Receive(&err))
			Expect(err).NotTo(HaveOccurred())
		}
		expectReady(ctx, server)
	}, SpecTimeout(5*time.Minute))
})

// keepCallingPods calls a tool on each pod over and over until the pod is on its way out, as its Service does; stop says that
// none of them refused or lost a call before.
func keepCallingPods(ctx context.Context, pods []corev1.Pod) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, len(pods))
	for _, pod := range pods {
		go func() {
			for ctx.Err() == nil {
				a, err := call(context.WithoutCancel(ctx), podEndpoint(pod), "get-sum", `{"a":2,"b":40}`)
				if err == nil && a.ok() {
					continue
				}
				var now corev1.Pod
				if kube.Get(context.WithoutCancel(ctx), client.ObjectKeyFromObject(&pod), &now) == nil && now.DeletionTimestamp == nil {
					done <- fmt.Errorf("pod %s, which serves: %w: refused (%s): %+v", pod.Name, err, a.refusal(), a)
					return
				}
				break
			}
			done <- nil
		}()
	}
	return func() {
		cancel()
		for range pods {
			Expect(<-done).To(Succeed())
		}
	}
}

// keepCalling calls a tool of the reference server over and over; stop says that none was refused or lost by then.
func keepCalling(ctx context.Context, url string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	count := 0
	go func() {
		for ctx.Err() == nil {
			a, err := call(context.WithoutCancel(ctx), url, "get-sum", `{"a":2,"b":40}`)
			if err == nil && !a.ok() {
				err = fmt.Errorf("call %d was refused (%s): %+v", count, a.refusal(), a)
			}
			if err != nil {
				done <- err
				return
			}
			count++
		}
		done <- nil
	}()
	return func() {
		cancel()
		Expect(<-done).To(Succeed())
		Expect(count).To(BeNumerically(">", 0))
		AddReportEntry(fmt.Sprintf("%d calls during the rollout, none refused", count))
	}
}
