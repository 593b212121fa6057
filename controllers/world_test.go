// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers"
	"toolgate.dev/toolgate/controllers/gather"
	"toolgate.dev/toolgate/controllers/keyring"
	"toolgate.dev/toolgate/controllers/prober"
	"toolgate.dev/toolgate/controllers/writes"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/registry/shard"
	"toolgate.dev/toolgate/internal/registry/statekey"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/workload"
	"toolgate.dev/toolgate/internal/testutil/fakecluster"
)

// world is one namespace with the reconcilers of one manager, driven by hand.
type world struct {
	ctx         context.Context
	namespace   string
	dispatchers *fakecluster.Dispatchers
	clock       *clocktesting.FakeClock
	// pollClock moves polling on without moving what conditions go by.
	pollClock *clocktesting.FakeClock
	writes    *written
	events    *events.FakeRecorder
	keys      *keyring.Ring
	*manager
	pods int
	// release is the image of the dispatcher that a manager brings, and maxUpgrading its flag.
	release      string
	maxUpgrading int
}

// manager is what a restart of the manager makes anew.
type manager struct {
	stop   context.CancelFunc
	client client.Client
	*controllers.Reconcilers
}

func newWorld() *world {
	GinkgoHelper()
	ctx, cancel := context.WithCancel(context.Background())
	w := &world{
		ctx:         ctx,
		dispatchers: fakecluster.NewDispatchers(),
		clock:       clocktesting.NewFakeClock(time.Now().Truncate(time.Second)),
		pollClock:   clocktesting.NewFakeClock(time.Now()),
		writes:      &written{},
		events:      events.NewFakeRecorder(1000),
		release:     "toolgate.dev/toolgate:test",
		keys:        keyring.New([statekey.Size]byte{1}),
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "spec-"}}
	Expect(kubectl.Create(ctx, ns)).To(Succeed())
	w.namespace = ns.Name
	w.start()
	DeferCleanup(func() {
		w.manager.stop()
		w.Prober.Stop()
		w.dispatchers.Close()
		cancel()
	})
	return w
}

// start is what a manager does at its start, with no memory of anything before.
func (w *world) start() {
	GinkgoHelper()
	counted := rest.CopyConfig(config)
	counted.Wrap(w.writes.wrap)
	ctx, cancel := context.WithCancel(w.ctx)
	c, err := cluster.New(counted, func(o *cluster.Options) {
		o.Scheme = scheme
		o.Cache = gather.CacheOptions([]string{w.namespace})
		o.Client = client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: new(true)}}
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(gather.RegisterIndexes(ctx, c.GetFieldIndexer())).To(Succeed())
	go func() {
		defer GinkgoRecover()
		Expect(c.Start(ctx)).To(Succeed())
	}()
	Expect(c.GetCache().WaitForCacheSync(ctx)).To(BeTrue())
	r := controllers.New(controllers.Deps{
		Client: c.GetClient(), Live: c.GetAPIReader(),
		Status: &writes.StatusWriter{Client: c.GetClient(), Events: w.events},
	}, controllers.Options{
		Platform: workload.Platform{Image: w.release, ManagerNamespace: "toolgate-system"}, MaxUpgrading: w.maxUpgrading,
		Clock: steppedClock{w.clock},
		Keys:  w.keys,
	})
	// Polling has a clock of its own, so that specs can poll without letting time pass.
	asked := prober.New(prober.Options{URL: w.dispatchers.URLOf, Client: prober.NewClient(), Clock: w.pollClock, Changed: r.Hub.Changed})
	r.Prober, r.Server.Gather.Prober = asked, asked
	w.manager = &manager{stop: cancel, client: c.GetClient(), Reconcilers: r}
}

// steppedClock is a fake clock as a real one is asked for.
type steppedClock struct{ *clocktesting.FakeClock }

var _ clock.Clock = steppedClock{}

// restart throws away everything that a manager keeps in memory.
func (w *world) restart() {
	GinkgoHelper()
	w.manager.stop()
	w.Prober.Stop()
	w.start()
}

// server builds a stdio server that is ready to be created.
func (w *world) server(name string, options ...func(*mcpv1alpha1.MCPServer)) *mcpv1alpha1.MCPServer {
	s := &mcpv1alpha1.MCPServer{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: mcpv1alpha1.MCPServerSpec{
			Container: &mcpv1alpha1.Container{Image: "example.com/files:1", Command: []string{"files"}},
		},
	}
	for _, option := range options {
		option(s)
	}
	return s
}

func (w *world) create(o client.Object) {
	GinkgoHelper()
	Expect(kubectl.Create(w.ctx, o)).To(Succeed())
}

// change edits an object as a person does.
func change[O client.Object](w *world, o O, edit func(O)) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(kubectl.Get(w.ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
		edit(o)
		g.Expect(kubectl.Update(w.ctx, o)).To(Succeed())
	}).Should(Succeed())
}

// seen waits until the reconcilers' cache has what the API server has of the kinds that specs write.
func (w *world) seen() {
	GinkgoHelper()
	for _, list := range []func() client.ObjectList{
		func() client.ObjectList { return &mcpv1alpha1.MCPServerList{} },
		func() client.ObjectList { return &mcpv1alpha1.MCPToolList{} },
		func() client.ObjectList { return &mcpv1alpha1.RuleSetList{} },
		func() client.ObjectList { return &corev1.PodList{} },
		func() client.ObjectList { return &corev1.ConfigMapList{} },
		func() client.ObjectList { return &appsv1.DeploymentList{} },
		func() client.ObjectList { return &corev1.ServiceList{} },
		func() client.ObjectList { return &corev1.ServiceAccountList{} },
		func() client.ObjectList { return &networkingv1.NetworkPolicyList{} },
		func() client.ObjectList { return &policyv1.PodDisruptionBudgetList{} },
	} {
		Eventually(func() map[string]string { return versions(w, w.client, list()) }).Should(Equal(versions(w, kubectl, list())))
	}
}

// versions are those of our own objects. The cache has no others, and keeps no labels of most.
func versions(w *world, c client.Client, list client.ObjectList) map[string]string {
	GinkgoHelper()
	Expect(c.List(w.ctx, list, client.InNamespace(w.namespace))).To(Succeed())
	out := map[string]string{}
	Expect(meta.EachListItem(list, func(o runtime.Object) error {
		m := o.(client.Object)
		if c == w.client || m.GetLabels()[render.LabelManagedBy] == render.ManagedBy || strings.HasPrefix(fmt.Sprintf("%T", o), "*v1alpha1.") {
			out[m.GetName()] = m.GetResourceVersion()
		}
		return nil
	})).To(Succeed())
	return out
}

// settle polls every pod and reconciles everything until nothing is written any more.
func (w *world) settle() {
	GinkgoHelper()
	for range 20 {
		before := w.writes.count()
		w.seen()
		w.pass()
		w.polled()
		w.pass()
		if w.writes.count() == before {
			return
		}
	}
	Fail("still writing after 20 rounds: " + strings.Join(w.writes.since(max(0, w.writes.count()-20)), ", "))
}

// pass runs every reconciler once for every object.
func (w *world) pass() {
	GinkgoHelper()
	var servers mcpv1alpha1.MCPServerList
	Expect(w.client.List(w.ctx, &servers, client.InNamespace(w.namespace))).To(Succeed())
	names := map[string]bool{}
	for _, s := range servers.Items {
		names[s.Name] = true
	}
	var tools mcpv1alpha1.MCPToolList
	Expect(w.client.List(w.ctx, &tools, client.InNamespace(w.namespace))).To(Succeed())
	for _, t := range tools.Items {
		names[t.Spec.ServerRef.Name] = true
	}
	for name := range names {
		w.reconcileServer(name)
	}
	_, err := w.Index.Reconcile(w.ctx, w.request(render.IndexName))
	Expect(err).NotTo(HaveOccurred())
	var sets mcpv1alpha1.RuleSetList
	Expect(w.client.List(w.ctx, &sets, client.InNamespace(w.namespace))).To(Succeed())
	for _, rs := range sets.Items {
		_, err := reconcile.AsReconciler(w.client, w.RuleSet).Reconcile(w.ctx, w.request(rs.Name))
		Expect(err).NotTo(HaveOccurred())
	}
}

func (w *world) reconcileServer(name string) {
	GinkgoHelper()
	for _, r := range []reconcile.Reconciler{
		reconcile.AsReconciler(w.client, w.Registry),
		reconcile.AsReconciler(w.client, w.Server),
		w.Discovery,
	} {
		_, err := r.Reconcile(w.ctx, w.request(name))
		Expect(err).NotTo(HaveOccurred())
	}
}

func (w *world) request(name string) ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKey{Namespace: w.namespace, Name: name}}
}

// polled lets polling go on until what is observed is what the pods say.
func (w *world) polled() {
	GinkgoHelper()
	var servers mcpv1alpha1.MCPServerList
	Expect(w.client.List(w.ctx, &servers, client.InNamespace(w.namespace))).To(Succeed())
	for _, s := range servers.Items {
		Eventually(func() bool {
			if w.upToDate(types.NamespacedName{Namespace: s.Namespace, Name: s.Name}) {
				return true
			}
			w.pollClock.Step(prober.Interval)
			return false
		}).Should(BeTrue(), "polling server %s", s.Name)
	}
}

func (w *world) upToDate(key types.NamespacedName) bool {
	for _, o := range w.Prober.Observe(key) {
		body, _, _ := w.dispatchers.State(o.Target.UID)
		if body == nil {
			if o.Err == "" {
				return false
			}
			continue
		}
		got, err := json.Marshal(o.State)
		if err != nil || o.Err != "" || string(got) != string(body) {
			return false
		}
	}
	return true
}

// runPod makes a pod of the server's Deployment as the cluster would, ready, with a dispatcher that lists definitions and
// enforces the newest document.
func (w *world) runPod(server string, definitions ...string) *corev1.Pod {
	GinkgoHelper()
	var d appsv1.Deployment
	Expect(kubectl.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: server}, &d)).To(Succeed())
	revision := d.Spec.Template.Labels[render.LabelRevision]
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: server + "-" + revision, Labels: d.Spec.Template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(&d, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
		},
		Spec: appsv1.ReplicaSetSpec{Selector: d.Spec.Selector, Template: d.Spec.Template},
	}
	if err := kubectl.Create(w.ctx, rs); err != nil {
		Expect(kubectl.Get(w.ctx, client.ObjectKeyFromObject(rs), rs)).To(Succeed())
	}
	w.pods++
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: fmt.Sprintf("%s-%03d", server, w.pods), Labels: d.Spec.Template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))},
		},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: render.ContainerServer, Image: "example.com/files:1"}},
			Volumes:    workload.NeededVolumes(d.Spec.Template.Spec.Volumes),
		},
	}
	w.create(pod)
	pod.Status.PodIP = fmt.Sprintf("10.0.0.%d", w.pods)
	w.podStatus(pod, true)
	w.dispatchers.Prove(string(pod.UID), w.mountedKey(server))
	w.dispatchers.Say(string(pod.UID), func(s *registry.State) {
		*s = registry.State{
			Supports: registry.Supported(), Dispatcher: "v0", PodUID: string(pod.UID), Revision: revision, Ready: true,
			Upstream:  registry.UpstreamState{Phase: registry.UpstreamConnected, ServerName: "files", ServerVersion: "1.0", ProtocolVersion: "2025-11-25"},
			Catalogue: fakecluster.CatalogueOf(definitions...),
			Health:    registry.HealthState{State: "Healthy", ResponseTimeMs: 3},
		}
	})
	w.enforce(pod)
	return pod
}

// enforce makes a pod's dispatcher enforce the newest document.
func (w *world) enforce(pod *corev1.Pod) {
	GinkgoHelper()
	files := w.files(pod.Labels[render.LabelServer])
	w.dispatchers.Say(string(pod.UID), func(s *registry.State) {
		first := files[registry.FileName]
		if root, cut := files[shard.RootFile]; cut && slices.Contains(s.Supports, registry.VersionSharded) {
			first = root
		}
		doc, err := shard.Decode(first, files.Load)
		Expect(err).NotTo(HaveOccurred())
		s.Registry = registry.RegistryState{Digest: registry.Digest(first), Sequence: doc.Sequence}
	})
}

// settleEnforced settles, with dispatchers that follow each document.
func (w *world) settleEnforced(pods ...*corev1.Pod) {
	GinkgoHelper()
	for range 5 {
		w.settle()
		before := w.writes.count()
		for _, pod := range pods {
			w.enforce(pod)
		}
		w.settle()
		if w.writes.count() == before {
			return
		}
	}
	Fail("documents keep changing")
}

func (w *world) podStatus(pod *corev1.Pod, ready bool, more ...func(*corev1.PodStatus)) {
	GinkgoHelper()
	status, ip := corev1.ConditionFalse, pod.Status.PodIP
	if ready {
		status = corev1.ConditionTrue
	}
	Eventually(func(g Gomega) {
		g.Expect(kubectl.Get(w.ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, ip
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.Now()}}
		for _, m := range more {
			m(&pod.Status)
		}
		g.Expect(kubectl.Status().Update(w.ctx, pod)).To(Succeed())
	}).Should(Succeed())
}
