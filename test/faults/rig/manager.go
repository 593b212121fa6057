// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"fmt"
	"time"

	"toolgate.dev/toolgate/controllers"
	"toolgate.dev/toolgate/controllers/keyring"
	"toolgate.dev/toolgate/controllers/process"
	"toolgate.dev/toolgate/internal/registry/statekey"
	"toolgate.dev/toolgate/internal/render/workload"
	"toolgate.dev/toolgate/test/faults/proxy"
)

// platform is what managers are told of their own installation.
var platform = workload.Platform{Image: "toolgate.dev/toolgate:test", ManagerNamespace: "toolgate-system"}

// Keys are what all managers of a rig derive servers' keys from, as those of one cluster share a Secret.
var Keys = keyring.New([statekey.Size]byte{1})

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
	ctx, cancel := context.WithCancel(context.Background())
	mgr, err := process.New(ctx, before.Config(), process.Options{
		Controllers: controllers.Options{
			Platform: platform, Keys: Keys, PodURL: r.Cluster.Dispatchers.URLOf, SkipNameValidation: true,
		},
		Namespaces: o.Namespaces, Resync: o.Resync, MetricsAddress: "0",
	})
	if err != nil {
		cancel()
		before.Stop()
		return nil, err
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
