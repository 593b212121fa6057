// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/test/faults/measured"
	"toolgate.dev/toolgate/test/faults/rig"
)

// scale is a manager in a process of its own, with many servers.
type scale struct {
	t *testing.T
	*rig.Rig
	servers *measured.Servers
	*measured.Process
	namespaces []string
	made       int
}

func newScale(t *testing.T) *scale {
	t.Helper()
	s := &scale{t: t, Rig: need(t)}
	var err error
	if s.servers, err = measured.WatchServers(t.Context(), s.Rig, toolsListed); err != nil {
		t.Fatal(err)
	}
	s.start()
	return s
}

// toolsListed is how many tools an image lists: see catalogue.
func toolsListed(image string) int {
	if n, err := strconv.Atoi(strings.TrimPrefix(image, manyTools)); err == nil {
		return n
	}
	if image == fiveTools {
		return 5
	}
	return 2
}

func (s *scale) start() {
	s.t.Helper()
	p, err := measured.Start(s.Rig)
	if err != nil {
		s.t.Fatal(err)
	}
	s.Process = p
	s.t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			s.t.Error(err)
		}
	})
}

// grow makes servers, so many in a namespace, until there are n.
func (s *scale) grow(n, perNamespace int, image string) {
	s.t.Helper()
	var group errgroup.Group
	group.SetLimit(parallel)
	for ; s.made < n; s.made++ {
		if s.made/perNamespace == len(s.namespaces) {
			s.namespaces = append(s.namespaces, namespace(s.t, s.Rig))
		}
		p := person{Rig: s.Rig, namespace: s.namespaces[s.made/perNamespace]}
		server := p.server(fmt.Sprintf("server-%04d", s.made))
		server.Spec.Container.Image = image
		group.Go(func() error { return p.create(s.t.Context(), server) })
	}
	if err := group.Wait(); err != nil {
		s.t.Fatal(err)
	}
}

// comeUp waits until all servers are ready and gives when that was; then it lets the manager come to rest.
func (s *scale) comeUp(patience time.Duration) time.Time {
	s.t.Helper()
	limit := time.Now().Add(patience)
	last := time.Now()
	for s.ready() < s.made {
		if time.Now().After(limit) {
			s.t.Fatalf("%d of %d servers are ready after %v", s.ready(), s.made, patience)
		}
		if time.Since(last) > 20*time.Second {
			last = time.Now()
			fmt.Printf("faults %s: %d of %d servers are ready so far\n", s.t.Name(), s.ready(), s.made)
		}
		if err := rig.Wait(s.t.Context(), 20*time.Millisecond); err != nil {
			s.t.Fatal(err)
		}
	}
	up := time.Now()
	s.idle(patience)
	return up
}

func (s *scale) ready() int {
	n := 0
	for _, ns := range s.namespaces {
		n += s.servers.Ready(ns)
	}
	return n
}

func (s *scale) idle(patience time.Duration) {
	s.t.Helper()
	if err := s.Idle(s.t.Context(), quiet, patience); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scale) figures(collect bool) measured.Figures {
	s.t.Helper()
	f, err := s.Figures(collect)
	if err != nil {
		s.t.Fatal(err)
	}
	return f
}

// cost is what something took of the manager.
type cost struct {
	// calls are by verb and resource.
	calls map[string]int
	cpu   time.Duration
	done  map[string]int
	// took is until the servers were ready, and wall until the manager was at rest.
	took, wall time.Duration
}

// measure does something, lets the manager come to rest, and says what it took.
func (s *scale) measure(do func() time.Time) cost {
	s.t.Helper()
	before, calls, began := s.figures(false), s.Counts(), time.Now()
	up := do()
	after, c := s.figures(false), cost{calls: s.Counts(), done: map[string]int{}, took: up.Sub(began)}
	for key, n := range calls {
		c.calls[key] -= n
	}
	maps.DeleteFunc(c.calls, func(key string, n int) bool { return n == 0 || strings.HasPrefix(key, "watch ") })
	for key, n := range after.By {
		c.done[key] = n - before.By[key]
	}
	c.cpu, c.wall = after.CPU-before.CPU, time.Since(began)
	return c
}

// of sums up what a filter lets through.
func (c cost) of(counts func(verb, resource string) bool) int {
	n := 0
	for key, calls := range c.calls {
		verb, resource, _ := strings.Cut(key, " ")
		if counts(verb, resource) {
			n += calls
		}
	}
	return n
}

func isRead(verb, _ string) bool { return verb == "get" || verb == "list" }

// isWrite leaves out events, and the touch of pods, which is repeated until the kubelet has looked.
func isWrite(verb, resource string) bool {
	return !isRead(verb, resource) && resource != "events" && resource != "pods"
}

func (c cost) writes() int { return c.of(isWrite) }
func (c cost) reads() int  { return c.of(isRead) }

// String gives the calls in a fixed order.
func (c cost) String() string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(c.calls)) {
		out = append(out, fmt.Sprintf("%s %d", key, c.calls[key]))
	}
	return fmt.Sprintf("%v; reconciles %v", strings.Join(out, ", "), c.done)
}

// change changes servers of the first namespace one after another and gives the least that one took: what comes in between
// on a busy machine, such as a status that is written in two steps, is in some but not in all.
func (s *scale) change(times int) cost {
	s.t.Helper()
	var all []cost
	for i := range times {
		idle := s.measure(func() time.Time { s.idle(patienceFor(0)); return time.Now() })
		c := s.measure(func() time.Time {
			p := person{Rig: s.Rig, namespace: s.namespaces[0]}
			err := edit(s.t.Context(), p, &mcpv1alpha1.MCPServer{}, fmt.Sprintf("server-%04d", i), func(o *mcpv1alpha1.MCPServer) {
				o.Spec.Description += "changed"
			})
			if err != nil {
				s.t.Fatal(err)
			}
			return s.comeUp(patienceFor(0))
		})
		// What it does anyway, such as asking all pods, does not count.
		c.cpu -= time.Duration(float64(idle.cpu) * float64(c.wall) / float64(idle.wall))
		all = append(all, c)
	}
	least := slices.MinFunc(all, func(a, b cost) int {
		return cmp.Or(cmp.Compare(a.writes(), b.writes()), cmp.Compare(a.reads(), b.reads()))
	})
	slices.SortFunc(all, func(a, b cost) int { return cmp.Compare(a.cpu, b.cpu) })
	least.cpu = all[len(all)/2].cpu
	return least
}

// statusSteps is how many writes more a change may take on a machine that does much else: a status that comes in three steps instead
// of one, and an event. What grows with the number of servers is far beyond.
const statusSteps = 3

// same wants what one server's change takes to be the same among few and many.
func same(t *testing.T, few, many cost) {
	t.Helper()
	if many.writes() > few.writes()+statusSteps || many.reads() > few.reads() {
		t.Errorf("a change among few took %d writes and %d reads (%v), among many %d and %d (%v)",
			few.writes(), few.reads(), few, many.writes(), many.reads(), many)
	}
}

// profile writes what the manager spends its time or memory on to a file, where PROFILE names a folder, while the test goes on; the
// function that it gives waits until that is done.
func (s *scale) profile(name, what string) (done func()) {
	folder := os.Getenv("PROFILE")
	if folder == "" {
		return func() {}
	}
	var group errgroup.Group
	group.Go(func() error {
		return s.Profile(s.t.Context(), what, folder+"/"+s.t.Name()+"-"+name+".pprof")
	})
	return func() {
		if err := group.Wait(); err != nil {
			s.t.Error(err)
		}
	}
}

func mib(n uint64) float64 { return float64(n) / (1 << 20) }
