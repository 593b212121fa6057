// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package fakecluster

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"toolgate.dev/toolgate/internal/render"
)

// Options say what runs in the cluster.
type Options struct {
	Scheme *runtime.Scheme
	// Catalogue gives the definitions that the server in a pod lists; nil means two tools, one of which only reads.
	Catalogue func(*corev1.Pod) []string
	// Inject changes each pod before it is made, as a mutating webhook of somebody else does; nil changes nothing.
	Inject func(*corev1.Pod)
}

// Cluster runs until its context ends.
type Cluster struct {
	Dispatchers *Dispatchers
	options     Options
	client      client.Client
	live        client.Reader
	done        chan error
}

// Start starts a cluster around an API server and waits until it has seen what is there.
func Start(ctx context.Context, server *rest.Config, o Options) (*Cluster, error) {
	if o.Catalogue == nil {
		o.Catalogue = twoTools
	}
	skip := true
	mgr, err := ctrl.NewManager(server, ctrl.Options{
		Scheme:     o.Scheme,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &skip, MaxConcurrentReconciles: 8},
		Client:     client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: &skip}},
	})
	if err != nil {
		return nil, fmt.Errorf("making the cluster's manager: %w", err)
	}
	c := &Cluster{
		Dispatchers: NewDispatchers(), options: o, client: mgr.GetClient(), live: mgr.GetAPIReader(), done: make(chan error, 1),
	}
	if err := index(ctx, mgr.GetFieldIndexer()); err != nil {
		return nil, err
	}
	if err := c.setup(mgr); err != nil {
		return nil, err
	}
	go func() { c.done <- mgr.Start(ctx) }()
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return nil, fmt.Errorf("the cluster's cache did not fill: %w", context.Cause(ctx))
	}
	return c, nil
}

// Wait waits until all has ended, after its context.
func (c *Cluster) Wait() error {
	err := <-c.done
	c.Dispatchers.CloseClientConnections()
	c.Dispatchers.Close()
	return err
}

// indexServer finds what runs of a server: a namespace may have thousands.
const indexServer = "metadata.labels.server"

func index(ctx context.Context, indexer client.FieldIndexer) error {
	for _, o := range []client.Object{&appsv1.ReplicaSet{}, &corev1.Pod{}} {
		err := indexer.IndexField(ctx, o, indexServer, func(o client.Object) []string { return []string{o.GetLabels()[render.LabelServer]} })
		if err != nil {
			return fmt.Errorf("indexing the cluster by server: %w", err)
		}
	}
	return nil
}

func twoTools(*corev1.Pod) []string {
	return []string{Definition("read_file", ReadOnly), Definition("write_file", "")}
}

func (c *Cluster) setup(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).Named("fake-deployment").
		For(&appsv1.Deployment{}).
		Owns(&appsv1.ReplicaSet{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(byServer)).
		Complete(reconcile.AsReconciler(c.client, reconciler[*appsv1.Deployment](c.deployment)))
	if err != nil {
		return fmt.Errorf("setting up the deployment controller: %w", err)
	}
	err = ctrl.NewControllerManagedBy(mgr).Named("fake-kubelet").
		For(&corev1.Pod{}).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(c.podsOf)).
		Complete(reconcile.AsReconciler(c.client, reconciler[*corev1.Pod](c.kubelet)))
	if err != nil {
		return fmt.Errorf("setting up the kubelet: %w", err)
	}
	return c.collect(mgr)
}

// reconciler is a function as a reconciler.
type reconciler[O client.Object] func(context.Context, O) error

func (r reconciler[O]) Reconcile(ctx context.Context, o O) (reconcile.Result, error) {
	return reconcile.Result{}, r(ctx, o)
}
