// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"toolgate.dev/toolgate/controllers"
	"toolgate.dev/toolgate/controllers/leadership"
	"toolgate.dev/toolgate/controllers/polled"
	"toolgate.dev/toolgate/controllers/process"
)

// child is what a process is told.
type child struct {
	Host, Pods, Probes, Metrics string
	Namespaces                  []string
	LeaseNamespace              string
	Times                       leadership.Times
	Resync                      time.Duration
}

// RunProcess is the manager of StartProcess: as cmd/manager is, but for where it finds the pods.
func RunProcess(encoded string) error {
	var c child
	if err := json.Unmarshal([]byte(encoded), &c); err != nil {
		return fmt.Errorf("reading the manager's options: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		// Who has started it is gone.
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	log := logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, nil))
	ctrl.SetLogger(log)
	klog.SetLogger(log)
	mgr, err := process.New(ctx, &rest.Config{Host: c.Host, QPS: -1}, process.Options{
		Controllers: controllers.Options{
			Platform: platform,
			Keys:     Keys,
			PodURL:   func(t polled.Target) string { return c.Pods + "/" + t.UID },
		},
		Namespaces: c.Namespaces, LeaseNamespace: c.LeaseNamespace, Times: c.Times, Resync: c.Resync,
		ProbeAddress: c.Probes, MetricsAddress: c.Metrics,
	})
	if err != nil {
		return err
	}
	if err := mgr.Start(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("running the manager: %w", err)
	}
	return nil
}
