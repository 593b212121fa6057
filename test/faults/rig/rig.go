// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rig holds what every sweep of test/faults stands on: a real API server with a fake cluster around it, real managers
// behind fault-injecting proxies, and a fingerprint of a namespace by which two runs are compared.
//
// It imports controllers for Setup alone: a manager under test is driven by its watches and seen by its writes.
package rig

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/testutil/fakecluster"
)

// Rig is one API server with a cluster around it.
type Rig struct {
	// Client writes past every proxy, as a person does.
	Client  client.Client
	Config  *rest.Config
	Scheme  *runtime.Scheme
	Cluster *fakecluster.Cluster

	env        *envtest.Environment
	view       *view
	stop       context.CancelFunc
	namespaces atomic.Int64
}

// Start starts an API server with the CRDs of root/config, and the cluster around it. KUBEBUILDER_ASSETS names the binaries.
func Start(root string, o fakecluster.Options) (*Rig, error) {
	r := &Rig{Scheme: runtime.NewScheme()}
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, mcpv1alpha1.AddToScheme} {
		if err := add(r.Scheme); err != nil {
			return nil, fmt.Errorf("making the scheme: %w", err)
		}
	}
	r.env = &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join(root, "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
		// A machine that does much else starts it slowly.
		ControlPlaneStartTimeout: 2 * time.Minute,
	}
	// The usual range has 254 addresses, and the sweeps have thousands of Services.
	r.env.ControlPlane.GetAPIServer().Configure().Set("service-cluster-ip-range", "10.0.0.0/16")
	var err error
	if r.Config, err = r.env.Start(); err != nil {
		return nil, fmt.Errorf("starting the API server: %w", err)
	}
	r.Config.QPS = -1
	if err := r.surround(o); err != nil {
		_ = r.env.Stop()
		return nil, err
	}
	return r, nil
}

func (r *Rig) surround(o fakecluster.Options) error {
	c, err := client.New(r.Config, client.Options{Scheme: r.Scheme})
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	r.Client = client.WithFieldOwner(client.WithFieldValidation(c, metav1.FieldValidationStrict), "kubectl")
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	if err := r.startView(ctx); err != nil {
		stop()
		return err
	}
	o.Scheme = r.Scheme
	if r.Cluster, err = fakecluster.Start(ctx, r.Config, o); err != nil {
		stop()
		return err
	}
	return nil
}

// Stop ends the cluster and the API server. Managers are stopped before.
func (r *Rig) Stop() error {
	r.stop()
	if err := r.Cluster.Wait(); err != nil {
		return fmt.Errorf("stopping the cluster: %w", err)
	}
	return r.env.Stop()
}

// Namespace makes a namespace. The names of all have one length, so that what is cut at a length is cut alike.
func (r *Rig) Namespace(ctx context.Context) (string, error) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("fault-%06d", r.namespaces.Add(1))}}
	if err := r.Client.Create(ctx, ns); err != nil {
		return "", fmt.Errorf("making namespace %s: %w", ns.Name, err)
	}
	return ns.Name, nil
}
