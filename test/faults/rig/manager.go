// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"toolgate.dev/toolgate/controllers"
	"toolgate.dev/toolgate/internal/render"
	"toolgate.dev/toolgate/test/faults/proxy"
)

// ManagerOptions say how a manager runs.
type ManagerOptions struct {
	proxy.Options
	// Namespaces are those it acts in; none means all.
	Namespaces []string
	// Resync is how often its informers hand every object out again; 0 for controller-runtime's own ten hours.
	Resync time.Duration
}

// Manager is a running manager behind a proxy of its own.
type Manager struct {
	*proxy.Proxy
	cancel context.CancelFunc
	done   chan error
}

// StartManager starts the real manager as cmd/manager does, without an election, and does not wait for anything.
func (r *Rig) StartManager(o ManagerOptions) (*Manager, error) {
	before, err := proxy.New(r.Config, o.Options)
	if err != nil {
		return nil, err
	}
	consistent := true
	options := ctrl.Options{
		Scheme:  r.Scheme,
		Cache:   controllers.CacheOptions(o.Namespaces),
		Client:  client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: &consistent}},
		Metrics: metricsserver.Options{BindAddress: "0"},
	}
	if o.Resync > 0 {
		options.Cache.SyncPeriod = &o.Resync
	}
	mgr, err := ctrl.NewManager(before.Config(), options)
	if err != nil {
		before.Stop()
		return nil, fmt.Errorf("making the manager: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	err = controllers.Setup(ctx, mgr, controllers.Options{
		Platform:           render.Platform{Image: "toolgate.dev/toolgate:test", ManagerNamespace: "toolgate-system"},
		PodURL:             r.Cluster.Dispatchers.URLOf,
		SkipNameValidation: true,
	})
	if err != nil {
		cancel()
		before.Stop()
		return nil, fmt.Errorf("setting up the manager: %w", err)
	}
	m := &Manager{Proxy: before, cancel: cancel, done: make(chan error, 1)}
	go func() { m.done <- mgr.Start(ctx) }()
	return m, nil
}

// Stop ends the manager, as a signal does, or what a fault has left of it.
func (m *Manager) Stop() error {
	m.cancel()
	err := <-m.done
	m.Proxy.Stop()
	if err != nil {
		return fmt.Errorf("running the manager: %w", err)
	}
	return nil
}
