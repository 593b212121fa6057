// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process owns how a manager runs as a process: its caches, its election, its addresses and how long it may take to
// stop. cmd/manager reads the options from flags; the fault rig gives its own.
//
// It reads no arguments and no environment, and never exits.
package process

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers"
	"toolgate.dev/toolgate/controllers/gather"
	"toolgate.dev/toolgate/controllers/leadership"
)

// shutdown is how long reconciles in flight may take when the manager is told to stop.
const shutdown = 20 * time.Second

// nowhere is the address of metrics that are not served.
const nowhere = "0"

// Options say how a manager runs.
type Options struct {
	Controllers controllers.Options
	// Namespaces are those it acts in; none means all.
	Namespaces []string
	// LeaseNamespace is where the Lease of the managers is; empty for a manager that is the only one.
	LeaseNamespace string
	// Times of the election; zero for leadership.Usual.
	Times leadership.Times
	// MetricsAddress is where metrics are served, over TLS and to those whom the API server lets if MetricsSecure; "0" for nowhere.
	MetricsAddress string
	MetricsSecure  bool
	// ProbeAddress is where /healthz and /readyz are; empty for nowhere.
	ProbeAddress string
	// Resync is how often informers hand every object out again; 0 for controller-runtime's own ten hours.
	Resync time.Duration
}

// Scheme knows Kubernetes' kinds and ours.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(mcpv1alpha1.AddToScheme(s))
	return s
}

// New makes a manager with all controllers, to be started. The context is for setting up alone.
func New(ctx context.Context, config *rest.Config, o Options) (ctrl.Manager, error) {
	options := o.manager()
	var lock *leadership.Lock
	if o.LeaseNamespace != "" {
		var err error
		if config, lock, err = o.elect(config, &options); err != nil {
			return nil, err
		}
	}
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return nil, fmt.Errorf("making the manager: %w", err)
	}
	if lock != nil {
		lock.Tell(mgr.GetEventRecorder(controllers.Reporter))
		if err := mgr.Add(lock); err != nil {
			return nil, fmt.Errorf("adding the lock: %w", err)
		}
	}
	setup := o.Controllers
	if o.MetricsAddress != nowhere {
		setup.Metrics = metrics.Registry
	}
	if err := controllers.Setup(ctx, mgr, setup); err != nil {
		return nil, err
	}
	if err := errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("caches", synced(mgr.GetCache()))); err != nil {
		return nil, fmt.Errorf("adding probes: %w", err)
	}
	return mgr, nil
}

// probePatience is less than a kubelet waits for an answer where nothing else is said, a second.
const probePatience = 500 * time.Millisecond

// synced says that a manager sees the cluster: one without its CRDs, or without the right to read, never does. One that stands by
// has nothing to look at yet.
func synced(caches interface {
	WaitForCacheSync(ctx context.Context) bool
}) healthz.Checker {
	return func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), probePatience)
		defer cancel()
		if !caches.WaitForCacheSync(ctx) {
			return errors.New("the manager has not read all objects yet that it looks after")
		}
		return nil
	}
}

// elect lets the manager act only while it leads, and gives a config in which the fence stands.
func (o Options) elect(config *rest.Config, options *ctrl.Options) (*rest.Config, *leadership.Lock, error) {
	times := o.Times
	if times == (leadership.Times{}) {
		times = leadership.Usual()
	}
	fence := leadership.NewFence(times.Renew)
	lock, err := leadership.NewLock(config, o.LeaseNamespace, times, fence)
	if err != nil {
		return nil, nil, err
	}
	options.LeaderElection, options.LeaderElectionID, options.LeaderElectionResourceLockInterface = true, leadership.LeaseName, lock
	options.LeaseDuration, options.RenewDeadline, options.RetryPeriod = &times.Lease, &times.Renew, &times.Retry
	// The process ends when it stops leading, so the next one need not wait for the lease to run out.
	options.LeaderElectionReleaseOnCancel = true
	fenced := rest.CopyConfig(config)
	fenced.Wrap(fence.Transport)
	return fenced, lock, nil
}

func (o Options) manager() ctrl.Options {
	grace := shutdown
	served := metricsserver.Options{BindAddress: o.MetricsAddress, SecureServing: o.MetricsSecure}
	if o.MetricsSecure {
		served.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	options := ctrl.Options{
		Scheme: Scheme(),
		Cache:  gather.CacheOptions(o.Namespaces),
		// A reconcile that has written reads what it wrote: without this, each would have to expect its own past.
		Client:                  client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: new(true)}},
		Metrics:                 served,
		HealthProbeBindAddress:  o.ProbeAddress,
		GracefulShutdownTimeout: &grace,
	}
	if o.Resync > 0 {
		options.Cache.SyncPeriod = &o.Resync
	}
	return options
}
