// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"testing"
	"time"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/test/faults/measured"
	"toolgate.dev/toolgate/test/faults/rig"
)

// patienceFor bounds the wait for so many servers on a busy machine. It is not asserted.
func patienceFor(servers int) time.Duration {
	return 2*time.Minute + time.Duration(servers)*time.Second
}

// TestScale lets many servers of five tools each come up from nothing, changes one among few and one among many, and starts
// the manager again.
func TestScale(t *testing.T) {
	began := time.Now()
	few, many, times := sized(t, 4, 50, 50), sized(t, 16, 500, 5000), sized(t, 2, 5, 5)
	s := newScale(t)
	s.grow(few, few, fiveTools)
	s.comeUp(patienceFor(few))
	little, first := s.change(times), s.figures(true)

	before := shares(t)
	up := s.measure(func() time.Time {
		s.grow(many, few, fiveTools)
		defer s.profile("come-up", "profile?seconds=20")()
		return s.comeUp(patienceFor(many))
	})
	after := shares(t)
	s.profile("heap", "heap?gc=1")()
	all, grown := s.figures(true), many-few
	much := s.change(times)
	same(t, little, much)
	t.Logf("coming up took %v", up)
	heap := func(f measured.Figures) float64 { return float64(f.Heap) + float64(f.Stacks) }
	figures(t, began, "%d servers with 5 tools each among %d from empty to ready: %.1f a second; manager %.1f ms CPU a server, %.0f MiB resident (peak %.0f), "+
		"heap %.1f KiB a server; %.1f writes and %.1f reads a server; API server %.1f, etcd %.1f, rig %.1f ms CPU a server; "+
		"one change among %d: %d writes, %d reads, %v CPU, among %d: %d writes, %d reads, %v CPU",
		grown, many, float64(grown)/up.took.Seconds(), ms(up.cpu)/float64(grown), mib(all.Resident), mib(all.Peak),
		(heap(all)-heap(first))/float64(grown)/(1<<10), float64(up.writes())/float64(grown), float64(up.reads())/float64(grown),
		ms(after["kube-apiserver"].CPU-before["kube-apiserver"].CPU)/float64(grown), ms(after["etcd"].CPU-before["etcd"].CPU)/float64(grown),
		ms(after["rig"].CPU-before["rig"].CPU)/float64(grown),
		few, little.writes(), little.reads(), little.cpu.Round(time.Millisecond/10), many, much.writes(), much.reads(), much.cpu.Round(time.Millisecond/10))
	s.again(began)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func shares(t *testing.T) map[string]measured.Usage {
	t.Helper()
	out, err := measured.Shares()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// again starts the manager anew with all servers there.
func (s *scale) again(began time.Time) {
	s.t.Helper()
	if err := s.Process.Stop(); err != nil {
		s.t.Fatal(err)
	}
	start := time.Now()
	s.start()
	defer s.profile("again", "profile?seconds=10")()
	// Its first look at everything; it hears from the pods in the same time.
	for limit := start.Add(patienceFor(s.made)); s.figures(false).By["server"] < s.made; {
		if time.Now().After(limit) {
			s.t.Fatalf("the manager has not looked at all %d servers: %v", s.made, s.figures(false).By)
		}
		if err := rig.Wait(s.t.Context(), 50*time.Millisecond); err != nil {
			s.t.Fatal(err)
		}
	}
	ready := time.Since(start)
	s.idle(patienceFor(s.made))
	f := s.figures(true)
	if writes := s.Writes(); len(writes) > 0 {
		s.t.Errorf("the manager wrote after its restart: %v", writes[:min(len(writes), 20)])
	}
	figures(s.t, began, "a manager started among %d servers: through all in %.1f s, %d writes, %.1f s CPU, %.0f MiB resident (peak %.0f), heap %.0f MiB, reconciles %v",
		s.made, ready.Seconds(), len(s.Writes()), f.CPU.Seconds(), mib(f.Resident), mib(f.Peak), mib(f.Heap), f.By)
}

// TestScaleTools gives one server many tools: all that it takes must grow with their number and no faster.
func TestScaleTools(t *testing.T) {
	began := time.Now()
	s := newScale(t)
	for _, n := range sized(t, []int{60}, []int{50, 400, 1100}, []int{100, 1100, 5000}) {
		c := s.measure(func() time.Time {
			defer s.profile(fmt.Sprint(n), "profile?seconds=20")()
			s.grow(s.made+1, 1, fmt.Sprint(manyTools, n))
			return s.comeUp(patienceFor(n))
		})
		t.Logf("%d tools: %v", n, c)
		if per := float64(c.of(func(verb, resource string) bool { return isWrite(verb, resource) && resource != "configmaps" })) / float64(n); per > 5 {
			t.Errorf("%d tools took %.1f writes each: %v", n, per, c)
		}
		figures(t, began, "one server with %d tools: ready in %.1f s, %.2f ms manager CPU a tool, %.2f writes a tool, %d writes of documents, reconciles %v",
			n, c.took.Seconds(), ms(c.cpu)/float64(n), float64(c.writes())/float64(n), c.calls["patch configmaps"], c.done)
	}
}

// TestScaleNamespace has many servers in one namespace, and a RuleSet that selects them all.
func TestScaleNamespace(t *testing.T) {
	began := time.Now()
	few, many, tools, times := sized(t, 3, 20, 20), sized(t, 9, 200, 1000), sized(t, 5, 20, 10), sized(t, 2, 5, 5)
	s := newScale(t)
	s.grow(few, many, fmt.Sprint(manyTools, tools))
	p := person{Rig: s.Rig, namespace: s.namespaces[0]}
	if err := p.create(t.Context(), p.ruleSet("rules", "'path' in args")); err != nil {
		t.Fatal(err)
	}
	s.comeUp(patienceFor(few))
	little := s.change(times)
	up := s.measure(func() time.Time {
		s.grow(many, many, fmt.Sprint(manyTools, tools))
		defer s.profile("come-up", "profile?seconds=20")()
		return s.comeUp(patienceFor(many))
	})
	much := s.change(times)
	t.Logf("coming up took %v", up)
	rule := s.measure(func() time.Time {
		err := edit(t.Context(), p, &mcpv1alpha1.RuleSet{}, "rules", func(o *mcpv1alpha1.RuleSet) { o.Spec.Rules[0].When = "'name' in args" })
		if err != nil {
			t.Fatal(err)
		}
		return s.comeUp(patienceFor(many))
	})
	figures(t, began, "%d servers and %d tools in one namespace under one set of rules: %.1f servers a second, %.1f ms manager CPU and %.1f writes a server; "+
		"one change among %d: %d writes, %d reads, %v CPU, among %d: %d writes, %d reads, %v CPU; the set changed: %.1f writes and %.1f ms CPU a server",
		many, many*tools, float64(many-few)/up.took.Seconds(), ms(up.cpu)/float64(many-few), float64(up.writes())/float64(many-few),
		few, little.writes(), little.reads(), little.cpu.Round(time.Millisecond/10), many, much.writes(), much.reads(), much.cpu.Round(time.Millisecond/10),
		float64(rule.writes())/float64(many), ms(rule.cpu)/float64(many))
}
