// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"toolgate.dev/toolgate/test/faults/rig"
)

// process runs a manager in a process of its own until the test ends.
func process(t *testing.T, r *rig.Rig, o rig.ProcessOptions) *rig.Process {
	t.Helper()
	p, err := r.StartProcess(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// answers waits until an address answers 200, and gives what it says.
func answers(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, rig.Patience)
	defer cancel()
	for {
		said, err := get(ctx, url)
		if err == nil {
			return said, nil
		}
		if rig.Wait(ctx, 100e6) != nil {
			return "", fmt.Errorf("no answer in %v: %w", rig.Patience, err)
		}
	}
}

// says waits until an address says all lines.
func says(ctx context.Context, url string, lines ...string) error {
	ctx, cancel := context.WithTimeout(ctx, rig.Patience)
	defer cancel()
	for {
		said, err := answers(ctx, url)
		if err != nil {
			return err
		}
		missing := slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return strings.Contains(said, "\n"+line+"\n") })
		if len(missing) == 0 {
			return nil
		}
		if rig.Wait(ctx, 100e6) != nil {
			return fmt.Errorf("%s does not say %q in %v", url, missing, rig.Patience)
		}
	}
}

func get(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s: %s", url, resp.Status, body)
	}
	return string(body), err
}

func TestProcess(t *testing.T) {
	r := need(t)
	var log bytes.Buffer
	f := &fleet{Rig: r, namespaces: []string{namespace(t, r)}, servers: 1}
	p := process(t, r, rig.ProcessOptions{Namespaces: f.namespaces, LeaseNamespace: f.namespaces[0], Log: &log})
	server := person{Rig: r, namespace: f.namespaces[0]}.server("files")
	server.Spec.Container.Image = fiveTools
	if err := r.Client.Create(t.Context(), server); err != nil {
		t.Fatal(err)
	}
	f.comeUp(t)
	for _, url := range []string{p.Probes + "/healthz", p.Probes + "/readyz"} {
		if _, err := answers(t.Context(), url); err != nil {
			t.Error(err)
		}
	}
	if err := says(t.Context(), p.Metrics+"/metrics",
		`toolgate_servers{condition="Ready",status="True"} 1`, `toolgate_tools{condition="Registered",status="True"} 5`,
		`toolgate_registry_objects 2`, `toolgate_pods_asked 1`, `toolgate_pods_failing 0`); err != nil {
		t.Error(err)
	}
	u, err := p.Usage()
	if err != nil || u.CPU <= 0 || u.Resident <= 0 || u.MostResident < u.Resident {
		t.Errorf("usage %+v, %v", u, err)
	}
	if len(p.Writes()) == 0 || p.Polls() == 0 {
		t.Errorf("%d writes, %d polls", len(p.Writes()), p.Polls())
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	if said := log.String(); !strings.Contains(said, "Starting workers") || strings.Contains(said, "Warning") {
		t.Errorf("the manager logs %s", said)
	}
}
