// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	eventsclient "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/gather"
	"toolgate.dev/toolgate/controllers/gauges"
	"toolgate.dev/toolgate/controllers/keyring"
	"toolgate.dev/toolgate/controllers/kubelet"
	"toolgate.dev/toolgate/controllers/library"
	"toolgate.dev/toolgate/controllers/polled"
	"toolgate.dev/toolgate/controllers/prober"
	"toolgate.dev/toolgate/controllers/reads"
	"toolgate.dev/toolgate/controllers/recorder"
	"toolgate.dev/toolgate/controllers/retry"
	"toolgate.dev/toolgate/controllers/triggers"
	"toolgate.dev/toolgate/controllers/waves"
	"toolgate.dev/toolgate/controllers/writes"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/internal/render/workload"
)

// Reporter is the name under which events are written.
const Reporter = "toolgate"

// workers of each controller: enough that one slow write keeps nobody waiting.
const workers = 4

// patience is how long one reconcile may take.
const patience = time.Minute

// Options set up the controllers. The zero value of all but Platform is what a cluster needs.
type Options struct {
	Platform workload.Platform
	// MaxUpgrading is how many servers a new release of Toolgate restarts at a time; 0 means waves.DefaultMax.
	MaxUpgrading int
	// Keys prove what dispatchers answer; nil gives pods none.
	Keys *keyring.Ring
	// PodURL is where the state of a pod is; nil means its address and the dispatcher's admin port.
	PodURL func(polled.Target) string
	// HTTP speaks to pods; nil means prober.NewClient.
	HTTP *http.Client
	// Clock is nil for the real one.
	Clock clock.Clock
	// Metrics takes the gauges; nil leaves them out.
	Metrics prometheus.Registerer
	// SkipNameValidation lets specs set up more than one manager in a process.
	SkipNameValidation bool
}

// Reconcilers are all controllers of a manager with what they share.
type Reconcilers struct {
	Server    *ServerReconciler
	Discovery *DiscoveryReconciler
	Registry  *RegistryReconciler
	Index     *IndexReconciler
	RuleSet   *RuleSetReconciler
	Prober    *prober.Prober
	Hub       *triggers.Hub
	// written tells of servers whose tools have been written.
	written *triggers.Hub
	passes  *triggers.Passes
}

// Deps are what reconcilers need of a manager; specs give their own.
type Deps struct {
	Client client.Client
	Live   client.Reader
	Status *writes.StatusWriter
}

// New makes the reconcilers without starting anything.
func New(d Deps, o Options) *Reconcilers {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.HTTP == nil {
		o.HTTP = prober.NewClient()
	}
	if o.PodURL == nil {
		o.PodURL = prober.PodURL(render.PortAdmin)
	}
	hub := &triggers.Hub{}
	asked := prober.New(prober.Options{URL: o.PodURL, Client: o.HTTP, Clock: o.Clock, Changed: hub.Changed})
	gatherer := &gather.Gatherer{Client: d.Client, Live: d.Live, Prober: asked}
	apply := &writes.Applier{Client: d.Client, Live: d.Live}
	known := library.New()
	keys := keyring.NewKeeper(d.Client, o.Keys)
	gate := &waves.Gate{Max: cmp.Or(o.MaxUpgrading, waves.DefaultMax), Servers: gatherer.ServerKeys, Wake: hub.Changed}
	written := &triggers.Hub{}
	passes := &triggers.Passes{Written: written.Changed}
	return &Reconcilers{
		Server:    &ServerReconciler{Gather: gatherer, Apply: apply, Status: d.Status, Library: known, Keys: keys, Waves: gate, Platform: o.Platform, Clock: o.Clock},
		Discovery: &DiscoveryReconciler{Gather: gatherer, Apply: apply, Status: d.Status, Library: known, Keys: o.Keys, Waves: gate, Clock: o.Clock, Passes: passes},
		Registry: &RegistryReconciler{
			Gather: gatherer, Apply: apply, Library: known,
			Toucher: &kubelet.Toucher{Client: d.Client, Clock: o.Clock}, Clock: o.Clock,
			Changed: func(s *mcpv1alpha1.MCPServer) { hub.Changed(client.ObjectKeyFromObject(s)) },
		},
		Index:   &IndexReconciler{Gather: gatherer, Apply: apply},
		RuleSet: &RuleSetReconciler{Gather: gatherer, Status: d.Status, Library: known, Clock: o.Clock},
		Prober:  asked,
		Hub:     hub,
		written: written,
		passes:  passes,
	}
}

// Setup registers the indexes and every controller with a manager.
func Setup(ctx context.Context, mgr ctrl.Manager, o Options) error {
	if err := gather.RegisterIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	told, err := addRecorder(mgr)
	if err != nil {
		return err
	}
	bounded := &reads.Bounded{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Patience: reads.Patience}
	r := New(Deps{
		Client: bounded,
		Live:   mgr.GetAPIReader(),
		Status: &writes.StatusWriter{Client: mgr.GetClient(), Events: told},
	}, o)
	if o.Metrics != nil {
		if err := o.Metrics.Register(&gauges.Gauges{Cache: mgr.GetCache(), Pods: r.Prober.Count, Leads: mgr.Elected()}); err != nil {
			return fmt.Errorf("adding metrics: %w", err)
		}
	}
	stop := manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		r.Prober.Stop()
		return nil
	})
	if err := mgr.Add(stop); err != nil {
		return fmt.Errorf("adding the prober: %w", err)
	}
	opts := controller.Options{
		MaxConcurrentReconciles: workers, ReconciliationTimeout: patience, SkipNameValidation: &o.SkipNameValidation,
	}
	for _, c := range []struct {
		name string
		add  func(ctrl.Manager, controller.Options) error
	}{
		{"server", r.addServer},
		{"discovery", r.addDiscovery},
		{"registry", r.addRegistry},
		{"index", r.addIndex},
		{"ruleset", r.addRuleSet},
	} {
		opts.RateLimiter = retry.Limiter() // each counts the failures of its own
		if err := c.add(mgr, opts); err != nil {
			return fmt.Errorf("setting up controller %s: %w", c.name, err)
		}
	}
	return nil
}

// changed leaves out the resyncs of what belongs to an object: with its own, all that belongs to it is looked at.
var changed = builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})

func addRecorder(mgr ctrl.Manager) (*recorder.Recorder, error) {
	api, err := eventsclient.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("making the client of events: %w", err)
	}
	told := recorder.New(&events.EventSinkImpl{Interface: api}, mgr.GetScheme(), Reporter)
	stop := manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		told.Stop()
		return nil
	})
	if err := mgr.Add(stop); err != nil {
		return nil, fmt.Errorf("adding the recorder of events: %w", err)
	}
	return told, nil
}

func (r *Reconcilers) addServer(mgr ctrl.Manager, o controller.Options) error {
	return r.aroundServer(ctrl.NewControllerManagedBy(mgr).Named("server").WithOptions(o)).
		For(&mcpv1alpha1.MCPServer{}, builder.WithPredicates(predicate.Or(triggers.SpecChanged(), triggers.Resynced(), triggers.Meddled()))).
		Owns(&appsv1.Deployment{}, changed).
		Owns(&corev1.Service{}, changed).
		Owns(&corev1.ServiceAccount{}, changed).
		Owns(&networkingv1.NetworkPolicy{}, changed).
		Owns(&policyv1.PodDisruptionBudget{}, builder.WithPredicates(triggers.ChildTouched())).
		Owns(&corev1.ConfigMap{}, changed).
		Watches(&mcpv1alpha1.MCPTool{}, triggers.Settled(r.passes), changed).
		WatchesRawSource(r.written.Source(triggers.Settle, triggers.RequestFor)).
		Complete(reconcile.AsReconciler(r.Server.Apply.Client, r.Server))
}

// addDiscovery has requests for servers that are gone, too: that is why nothing is owned here, and nothing fetched.
func (r *Reconcilers) addDiscovery(mgr ctrl.Manager, o controller.Options) error {
	return r.aroundServer(ctrl.NewControllerManagedBy(mgr).Named("discovery").WithOptions(o)).
		For(&mcpv1alpha1.MCPServer{}).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(triggers.ByServerLabel), changed).
		Watches(&mcpv1alpha1.MCPTool{}, handler.EnqueueRequestsFromMapFunc(triggers.ByServerRef), builder.WithPredicates(triggers.ToolTouched())).
		Complete(r.Discovery)
}

func (r *Reconcilers) addRegistry(mgr ctrl.Manager, o controller.Options) error {
	return r.aroundServer(ctrl.NewControllerManagedBy(mgr).Named("registry").WithOptions(o)).
		For(&mcpv1alpha1.MCPServer{}, builder.WithPredicates(predicate.Or(triggers.SpecChanged(), triggers.Resynced()))).
		Owns(&corev1.ConfigMap{}, changed).
		Owns(&appsv1.Deployment{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&mcpv1alpha1.MCPTool{}, triggers.Settled(r.passes), changed).
		WatchesRawSource(r.written.Source(triggers.Settle, triggers.RequestFor)).
		Complete(reconcile.AsReconciler(r.Server.Apply.Client, r.Registry))
}

// aroundServer adds what every controller of servers goes by beside the server itself: what runs of it, what its dispatchers
// say, and the rules that may reach it.
func (r *Reconcilers) aroundServer(b *ctrl.Builder) *ctrl.Builder {
	return b.
		WatchesMetadata(&appsv1.ReplicaSet{}, handler.EnqueueRequestsFromMapFunc(triggers.ByServerLabel), builder.WithPredicates(triggers.CameOrWent())).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(triggers.ByServerLabel), builder.WithPredicates(triggers.PodMoved())).
		Watches(&mcpv1alpha1.RuleSet{}, handler.EnqueueRequestsFromMapFunc(triggers.ToServers(r.Server.Gather)), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(r.Hub.Source(0, triggers.RequestFor))
}

func (r *Reconcilers) addIndex(mgr ctrl.Manager, o controller.Options) error {
	index := triggers.Gathered(triggers.ToIndex)
	return ctrl.NewControllerManagedBy(mgr).Named("index").WithOptions(o).
		Watches(&mcpv1alpha1.MCPServer{}, index, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, triggers.Resynced()))).
		Watches(&mcpv1alpha1.MCPTool{}, index, changed).
		Watches(&corev1.ConfigMap{}, index, builder.WithPredicates(triggers.OnlyIndex())).
		Complete(r.Index)
}

func (r *Reconcilers) addRuleSet(mgr ctrl.Manager, o controller.Options) error {
	all := triggers.Gathered(triggers.AllRuleSets(r.RuleSet.Gather))
	return ctrl.NewControllerManagedBy(mgr).Named("ruleset").WithOptions(o).
		For(&mcpv1alpha1.RuleSet{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, triggers.Resynced(), triggers.Meddled()))).
		Watches(&mcpv1alpha1.MCPServer{}, all, builder.WithPredicates(triggers.SpecChanged())).
		Watches(&mcpv1alpha1.MCPTool{}, all, changed).
		Watches(&corev1.ConfigMap{}, all, changed).
		Watches(&corev1.Pod{}, all, builder.WithPredicates(triggers.PodMoved())).
		WatchesRawSource(r.Hub.Source(triggers.Gathering, func(ctx context.Context, key types.NamespacedName) []reconcile.Request {
			return triggers.ToRuleSets(r.RuleSet.Gather, key.Namespace)(ctx)
		})).
		Complete(reconcile.AsReconciler(r.Server.Apply.Client, r.RuleSet))
}
