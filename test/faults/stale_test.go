// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/test/faults/proxy"
	"toolgate.dev/toolgate/test/faults/rig"
)

// haze is a plan by which views are stale: how often events are late and how late at most, and how often they are lost or a
// watch expires.
type haze struct {
	seed               uint64
	late, lost, expire float64
	most               time.Duration

	mu      sync.Mutex
	watches map[string]int
	bent    *atomic.Int64
}

// newHaze rolls a plan; most bounds how late an event may be.
func newHaze(random *rand.Rand, most time.Duration, bent *atomic.Int64) *haze {
	return &haze{
		seed: random.Uint64(), late: random.Float64() / 2, lost: random.Float64() / 10, expire: random.Float64() / 20,
		// Most plans are quick, some take as long as they may.
		most:    time.Duration(float64(most) * math.Pow(random.Float64(), 3)),
		watches: map[string]int{}, bent: bent,
	}
}

// Stream implements proxy.Watches: each watch has random numbers of its own, by the seed, what is watched and how often it was.
func (h *haze) Stream(c proxy.Call) proxy.Stream {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watches[c.Resource]++
	hash := fnv.New64a()
	_, _ = fmt.Fprint(hash, c.Resource, h.watches[c.Resource])
	return &hazyStream{haze: h, random: rand.New(rand.NewPCG(h.seed, hash.Sum64()))}
}

type hazyStream struct {
	*haze
	random *rand.Rand
}

// Next implements proxy.Stream. It is asked by one goroutine.
func (h *hazyStream) Next(proxy.Event) proxy.Fate {
	roll := h.random.Float64()
	wait := time.Duration(h.random.Float64() * float64(h.most))
	switch {
	case roll < h.expire:
		h.bent.Add(1)
		return proxy.Fate{Expire: true}
	case roll < h.expire+h.lost:
		h.bent.Add(1)
		return proxy.Fate{Lost: wait + time.Millisecond}
	case roll < h.expire+h.lost+h.late:
		h.bent.Add(1)
		return proxy.Fate{Lag: wait}
	default:
		return proxy.Fate{}
	}
}

// TestStaleViews bends the watches of managers while scenarios run, and wants each to end as it does with a clear view.
func TestStaleViews(t *testing.T) {
	r, began := need(t), time.Now()
	random := dice(3)
	all := append(basic(), flows()...)
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	all = all[:sized(t, 2, len(all), len(all))]
	clear, err := r.StartManager(rig.ManagerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rehearsed := make([]*clean, len(all))
	var rehearsals errgroup.Group
	rehearsals.SetLimit(parallel)
	for i, s := range all {
		rehearsals.Go(func() (err error) {
			rehearsed[i], err = rehearse(t.Context(), r, clear, s)
			return err
		})
	}
	if err := rehearsals.Wait(); err != nil {
		t.Error(err)
	} else if err := lookAgain(t.Context(), r, rehearsed); err != nil {
		t.Error(err)
	}
	if err := clear.Stop(); err != nil || t.Failed() {
		t.Fatal("a clean run failed", err)
	}
	plans, most := sized(t, 4, 60, 500), sized(t, 300*time.Millisecond, 5*time.Second, time.Minute)
	var tried, done, bent atomic.Int64
	progress(t, &done, "plans")
	var group errgroup.Group
	group.SetLimit(3 * parallel) // they wait more than they work
	for i := range plans {
		wanted, plan := rehearsed[i%len(rehearsed)], newHaze(random, most, &bent)
		if !inPart(t, i) {
			continue
		}
		tried.Add(1)
		group.Go(func() error {
			if err := through(t.Context(), r, wanted, plan); err != nil {
				t.Errorf("plan %d, %s, lag up to %v: %v", i, wanted.name, plan.most, err)
				return nil // the others go on: each plan is a finding of its own
			}
			done.Add(1)
			return nil
		})
	}
	_ = group.Wait()
	for _, c := range rehearsed {
		if err := r.Clear(t.Context(), c.namespace); err != nil {
			t.Error(err)
		}
	}
	figures(t, began, "%d plans over %d scenarios, lag up to %v, %d events late, lost or expired: %d ended as with a clear view, without a second Deployment or a deletion of something live",
		tried.Load(), len(rehearsed), most, bent.Load(), done.Load())
}

// lookAgain takes the last states of clean runs once more: on a busy machine a manager may have been silent for longer than a
// quiet moment.
func lookAgain(ctx context.Context, r *rig.Rig, rehearsed []*clean) (err error) {
	for _, c := range rehearsed {
		if c.after, err = r.Rest(ctx, c.namespace, quiet); err != nil {
			return err
		}
	}
	return nil
}

// through runs a scenario with a manager whose view is bent.
func through(ctx context.Context, r *rig.Rig, wanted *clean, plan *haze) error {
	ns, err := r.Namespace(ctx)
	if err != nil {
		return err
	}
	m, err := r.StartManager(rig.ManagerOptions{Namespaces: []string{ns}, Options: proxy.Options{Watches: plan}})
	if err != nil {
		return err
	}
	p := person{Rig: r, namespace: ns, lag: 10 * plan.most}
	err = func() error {
		if err := wanted.scenario.before(ctx, p); err != nil {
			return err
		}
		if err := r.ReachIn(ctx, ns, wanted.before, p.patience()); err != nil {
			return fmt.Errorf("before the change: %w", err)
		}
		uids, err := deployments(ctx, p)
		if err != nil {
			return err
		}
		owners, err := ownersOfTools(ctx, p)
		if err != nil {
			return err
		}
		if err := wanted.then(ctx, p); err != nil {
			return err
		}
		if err := r.ReachIn(ctx, ns, wanted.after, p.patience()); err != nil {
			return err
		}
		return errors.Join(madeOnce(ctx, p, wanted, uids), alive(ctx, p, m, wanted, owners))
	}()
	return errors.Join(err, m.Stop(), r.Clear(ctx, ns))
}

// deployments are those of a namespace, by name.
func deployments(ctx context.Context, p person) (map[string]types.UID, error) {
	var list appsv1.DeploymentList
	if err := p.Client.List(ctx, &list, client.InNamespace(p.namespace)); err != nil {
		return nil, fmt.Errorf("listing Deployments: %w", err)
	}
	out := map[string]types.UID{}
	for i := range list.Items {
		out[list.Items[i].Name] = list.Items[i].UID
	}
	return out, nil
}

// ownersOfTools are the UIDs of the servers that control the MCPTools of a namespace, by the UID of the tool.
func ownersOfTools(ctx context.Context, p person) (map[types.UID]types.UID, error) {
	var list mcpv1alpha1.MCPToolList
	if err := p.Client.List(ctx, &list, client.InNamespace(p.namespace)); err != nil {
		return nil, fmt.Errorf("listing MCPTools: %w", err)
	}
	out := map[types.UID]types.UID{}
	for i := range list.Items {
		if owner := metav1.GetControllerOf(&list.Items[i]); owner != nil {
			out[list.Items[i].UID] = owner.UID
		}
	}
	return out, nil
}

// madeOnce says whether a Deployment was made a second time that is not in a clean run.
func madeOnce(ctx context.Context, p person, wanted *clean, before map[string]types.UID) error {
	after, err := deployments(ctx, p)
	if err != nil {
		return err
	}
	for name, uid := range after {
		if before[name] != "" && before[name] != uid && !wanted.remade[name] {
			return fmt.Errorf("deployment %s was made a second time", name)
		}
	}
	return nil
}

// alive says whether the manager deleted what it does not delete in a clean run. A tool whose server is gone is not alive: either
// the manager or the garbage collector takes it, whichever sees it first. owners are from before the change.
func alive(ctx context.Context, p person, m *rig.Manager, wanted *clean, owners map[types.UID]types.UID) error {
	var servers mcpv1alpha1.MCPServerList
	if err := p.Client.List(ctx, &servers, client.InNamespace(p.namespace)); err != nil {
		return fmt.Errorf("listing MCPServers: %w", err)
	}
	there, deletes := map[types.UID]bool{"": true}, map[string]bool{}
	for i := range servers.Items {
		there[servers.Items[i].UID] = true
	}
	for _, call := range wanted.writes {
		deletes[call.Key()] = call.Verb == "delete"
	}
	for _, call := range m.WritesIn(p.namespace) {
		if call.Verb == "delete" && !call.Denied && !deletes[call.Key()] && there[owners[call.UID]] {
			return fmt.Errorf("the manager deleted %s/%s, which it does not in a clean run", call.Resource, call.Name)
		}
	}
	return nil
}
