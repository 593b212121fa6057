// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"toolgate.dev/toolgate/controllers/keyring"
	"toolgate.dev/toolgate/controllers/process"
)

// keysTimeout bounds the reading of one Secret.
const keysTimeout = 30 * time.Second

// loadKeys reads what servers' keys are derived from. A manager outside of a cluster has no namespace to keep that in: its pods
// get no keys, and what their dispatchers say is believed as it is.
func (o *options) loadKeys(ctx context.Context, config *rest.Config) error {
	namespace := o.Controllers.Platform.ManagerNamespace
	if namespace == "" {
		ctrl.Log.Info("without --own-namespace dispatchers get no keys: nothing proves that what they say is theirs")
		return nil
	}
	// A client of its own: that of the manager would read Secrets through a cache, which lists them all.
	c, err := client.New(config, client.Options{Scheme: process.Scheme()})
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, keysTimeout)
	defer cancel()
	o.Controllers.Keys, err = keyring.Load(ctx, c, namespace)
	return err
}
