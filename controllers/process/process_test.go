// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"toolgate.dev/toolgate/controllers/leadership"
)

func TestOptionsReachTheManager(t *testing.T) {
	o := Options{Namespaces: []string{"a", "b"}, MetricsAddress: ":1", MetricsSecure: true, ProbeAddress: ":2", Resync: time.Minute}
	m := o.manager()
	if len(m.Cache.DefaultNamespaces) != 2 || *m.Cache.SyncPeriod != time.Minute {
		t.Errorf("cache %+v", m.Cache)
	}
	if m.Metrics.BindAddress != ":1" || !m.Metrics.SecureServing || m.Metrics.FilterProvider == nil || m.HealthProbeBindAddress != ":2" {
		t.Errorf("metrics %+v, probes %s", m.Metrics, m.HealthProbeBindAddress)
	}
	if m.LeaderElection || *m.GracefulShutdownTimeout != shutdown {
		t.Errorf("election %v, time to stop %v", m.LeaderElection, m.GracefulShutdownTimeout)
	}
	if plain := (Options{MetricsAddress: nowhere}).manager(); plain.Metrics.FilterProvider != nil || plain.Cache.SyncPeriod != nil {
		t.Errorf("options %+v of a manager that was told nothing", plain)
	}
}

// A manager that can't read what it looks after is not ready, so that a rollout to it stops.
func TestReadyWithTheCaches(t *testing.T) {
	req := httptest.NewRequest(http.MethodGet, "/readyz", nil)
	for sees, want := range map[caches]bool{true: true, false: false} {
		if err := synced(sees)(req); (err == nil) != want {
			t.Errorf("caches in sync: %t, ready: %v", sees, err)
		}
	}
}

type caches bool

func (c caches) WaitForCacheSync(context.Context) bool { return bool(c) }

func TestWhoStandsForElectionIsFenced(t *testing.T) {
	sent := 0
	config := &rest.Config{Host: "http://127.0.0.1:1", UserAgent: "manager", Transport: transport(func(*http.Request) (*http.Response, error) {
		sent++
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	})}
	var options ctrl.Options
	fenced, _, err := Options{LeaseNamespace: "own"}.elect(config, &options)
	if err != nil {
		t.Fatal(err)
	}
	if got := (leadership.Times{Lease: *options.LeaseDuration, Renew: *options.RenewDeadline, Retry: *options.RetryPeriod}); got != leadership.Usual() {
		t.Errorf("times %+v, want %+v", got, leadership.Usual())
	}
	if !options.LeaderElection || !options.LeaderElectionReleaseOnCancel || options.LeaderElectionResourceLockInterface == nil {
		t.Errorf("options %+v", options)
	}
	// The lease's client has a time-out of its own, which would cut off watches, and another name.
	for _, c := range []*rest.Config{fenced, config} {
		if c.Timeout != 0 || c.UserAgent != "manager" {
			t.Errorf("time-out %v, user agent %q of what the manager uses", c.Timeout, c.UserAgent)
		}
	}
	for c, want := range map[*rest.Config]error{fenced: leadership.ErrFenced, config: nil} {
		client, err := rest.HTTPClientFor(c)
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.Host+"/api/v1/namespaces/x/configmaps", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		if !errors.Is(err, want) {
			t.Errorf("error %v before anybody leads, want %v", err, want)
		}
	}
	if sent != 1 {
		t.Errorf("%d requests were sent, want that of the lease's client alone", sent)
	}
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) { return t(req) }
