// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/test/faults/rig"
)

// perNamespace is how many servers share a namespace where there are many.
const perNamespace = 50

// fleet is many servers in several namespaces.
type fleet struct {
	*rig.Rig
	namespaces []string
	servers    int
}

// launch makes servers of five tools each, and sets of rules.
func launch(t *testing.T, r *rig.Rig, servers, sets int) *fleet {
	t.Helper()
	f := &fleet{Rig: r, servers: servers}
	var group errgroup.Group
	group.SetLimit(parallel)
	for range (servers + perNamespace - 1) / perNamespace {
		f.namespaces = append(f.namespaces, namespace(t, r))
	}
	for i := range servers {
		p := person{Rig: r, namespace: f.namespaces[i/perNamespace]}
		s := p.server(fmt.Sprintf("server-%04d", i))
		s.Spec.Container.Image = fiveTools
		group.Go(func() error { return p.create(t.Context(), s) })
	}
	for i := range sets {
		p := person{Rig: r, namespace: f.namespaces[i%len(f.namespaces)]}
		group.Go(func() error { return p.create(t.Context(), p.ruleSet(fmt.Sprintf("rules-%03d", i), "'path' in args")) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	return f
}

// ready counts the servers that are, and all tools.
func (f *fleet) ready(ctx context.Context) (servers, tools int, err error) {
	for _, ns := range f.namespaces {
		var list mcpv1alpha1.MCPServerList
		if err := f.Client.List(ctx, &list, client.InNamespace(ns)); err != nil {
			return 0, 0, fmt.Errorf("listing servers: %w", err)
		}
		for i := range list.Items {
			if meta.IsStatusConditionTrue(list.Items[i].Status.Conditions, mcpv1alpha1.ConditionReady) {
				servers++
			}
		}
		var all mcpv1alpha1.MCPToolList
		if err := f.Client.List(ctx, &all, client.InNamespace(ns)); err != nil {
			return 0, 0, fmt.Errorf("listing tools: %w", err)
		}
		tools += len(all.Items)
	}
	return servers, tools, nil
}

// comeUp waits until all servers are ready and nothing changes any more.
func (f *fleet) comeUp(t *testing.T) {
	t.Helper()
	limit := time.Now().Add(rig.Patience + time.Duration(f.servers)*time.Second)
	for {
		servers, tools, err := f.ready(t.Context())
		switch {
		case err != nil:
			t.Fatal(err)
		case servers == f.servers && tools == 5*f.servers:
			f.settle(t)
			return
		case time.Now().After(limit):
			t.Fatalf("%d of %d servers are ready, with %d tools", servers, f.servers, tools)
		}
		if err := rig.Wait(t.Context(), time.Second); err != nil {
			t.Fatal(err)
		}
	}
}

func (f *fleet) settle(t *testing.T) {
	t.Helper()
	for _, ns := range f.namespaces {
		if _, err := f.Rest(t.Context(), ns, quiet); err != nil {
			t.Fatal(err)
		}
	}
}

// versions are those of all objects.
func (f *fleet) versions(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, ns := range f.namespaces {
		versions, err := f.Versions(t.Context(), ns)
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(out, versions)
	}
	return out
}

// meddle lets a neighbour change everything that is not its own: annotations and labels with each round, and in the first
// one also containers that it injects, and fields that nobody has set.
func (f *fleet) meddle(ctx context.Context, round int) (int, error) {
	changed := 0
	for _, ns := range f.namespaces {
		objects, err := f.Objects(ctx, ns)
		if err != nil {
			return changed, err
		}
		var group errgroup.Group
		group.SetLimit(parallel)
		for i := range objects {
			group.Go(func() error { return f.meddleWith(ctx, &objects[i], round) })
		}
		if err := group.Wait(); err != nil {
			return changed, err
		}
		changed += len(objects)
	}
	return changed, nil
}

func (f *fleet) meddleWith(ctx context.Context, o *unstructured.Unstructured, round int) error {
	mark := map[string]any{"neighbour.example.com/mark": fmt.Sprint("round-", round)}
	patch := map[string]any{"metadata": map[string]any{"annotations": mark, "labels": mark}}
	if round == 0 {
		switch o.GetKind() {
		case "Deployment":
			patch["spec"] = map[string]any{
				"revisionHistoryLimit": 3, "minReadySeconds": 1,
				"template": map[string]any{
					"metadata": map[string]any{"annotations": mark},
					"spec": map[string]any{
						"schedulerName": "default-scheduler", "dnsPolicy": "ClusterFirst",
						"containers": []any{map[string]any{"name": "neighbour", "image": "example.com/neighbour:1"}},
					},
				},
			}
		case "Service":
			patch["spec"] = map[string]any{"internalTrafficPolicy": "Cluster", "sessionAffinity": "ClientIP"}
		case "ServiceAccount":
			patch["imagePullSecrets"] = []any{map[string]any{"name": "neighbour"}}
		}
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	kind := types.MergePatchType
	if o.GetKind() == "Deployment" {
		kind = types.StrategicMergePatchType
	}
	if err := f.Client.Patch(ctx, o, client.RawPatch(kind, body), client.FieldOwner("neighbour")); err != nil {
		return fmt.Errorf("meddling with %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}

func TestRest(t *testing.T) {
	r, began := need(t), time.Now()
	servers, sets := sized(t, 6, 100, 1000), sized(t, 2, 10, 50)
	m := manager(t, r, rig.ManagerOptions{Resync: sized(t, time.Second, 5*time.Second, 5*time.Second)})
	f := launch(t, r, servers, sets)
	f.comeUp(t)
	if _, err := f.meddle(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	f.comeUp(t)

	before := len(m.Writes())
	meddled, err := f.meddle(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	f.settle(t)
	versions, window := f.versions(t), sized(t, 3*time.Second, time.Minute, 10*time.Minute)
	if err := rig.Wait(t.Context(), window); err != nil {
		t.Fatal(err)
	}
	moved := 0
	for name, version := range f.versions(t) {
		if versions[name] != version {
			moved++
			t.Errorf("%s has changed at rest", name)
		}
	}
	writes := m.Writes()[before:]
	if len(writes) > 0 {
		t.Errorf("the manager wrote at rest: %v", writes[:min(len(writes), 20)])
	}
	figures(t, began, "%d servers, %d tools, %d sets at rest for %v: %d writes, %d of %d resource versions moved, while a neighbour changed %d objects",
		servers, 5*servers, sets, window, len(writes), moved, len(versions), meddled)
}
