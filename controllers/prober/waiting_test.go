// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package prober_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"toolgate.dev/toolgate/controllers/polled"
	"toolgate.dev/toolgate/controllers/prober"
	"toolgate.dev/toolgate/internal/registry"
)

// TestAChangeIsNeverMissed changes what is asked of a pod at the very moment at which its answer comes. The clock stands still, so
// that nothing but the change itself has the pod asked again.
func TestAChangeIsNeverMissed(t *testing.T) {
	answers := make(chan struct{})
	var asked atomic.Int32
	b := newBench(t, func(w http.ResponseWriter, req *http.Request) {
		n := asked.Add(1)
		if req.URL.Query().Get("wait") != "" {
			select {
			case <-answers:
			case <-req.Context().Done():
				return
			}
		}
		answer(w, req, registry.State{PodUID: "u1", Revision: "r1", Ready: n%2 == 0})
	})
	one := target("u1")
	one.Awaited = true
	b.Watch(files, []polled.Target{one})
	for round := range 300 {
		one.Started = fmt.Sprint(round)
		var before int32
		b.await("a poll that waits and takes its answer", func() bool {
			if b.clock.HasWaiters() {
				b.clock.Step(100 * time.Millisecond)
			}
			before = asked.Load()
			select {
			case answers <- struct{}{}:
				return true
			default: // nobody waits yet, or not any more: a poll ends in time, and on a busy machine that may be now
				return false
			}
		})
		// The answer is on its way: somewhere in there is the moment at which it has come, and nobody has looked for a change yet.
		for began := time.Now(); time.Since(began) < time.Duration(round)*time.Microsecond; {
			runtime.Gosched()
		}
		b.Watch(files, []polled.Target{one})
		b.await(fmt.Sprintf("a question after change %d", round), func() bool { return asked.Load() > before })
	}
}

// TestPodsThatFailForLongCrowdNobodyOut has more pods that are awaited without an end than there are places to wait in.
func TestPodsThatFailForLongCrowdNobodyOut(t *testing.T) {
	var waiting atomic.Int32
	b := newPatientBench(t, patience, func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Query().Get("wait") != "" {
			waiting.Add(1)
			defer waiting.Add(-1)
			<-req.Context().Done()
			return
		}
		answer(w, req, registry.State{PodUID: strings.Trim(req.URL.Path, "/"), Revision: "r1", Ready: true})
	})
	var failing []polled.Target
	for i := range prober.MaxWaiting {
		pod := target(fmt.Sprint("failing-", i))
		pod.Awaited = true
		failing = append(failing, pod)
	}
	b.Watch(types.NamespacedName{Name: "failing"}, failing)
	step := func() {
		if b.clock.HasWaiters() {
			b.clock.Step(100 * time.Millisecond)
		}
	}
	b.await("all places to be taken", func() bool { step(); return waiting.Load() == prober.MaxWaiting })
	good := target("good")
	good.Awaited = true
	b.Watch(files, []polled.Target{good})
	b.await("the good pod", func() bool { return b.Observe(files)[0].State != nil })
	// It is asked again and again without waiting, and no other gives up its place for that.
	before := b.attempts.made.Load()
	b.await("another question", func() bool { step(); return b.attempts.made.Load() > before+2 })
	if n := waiting.Load(); n != prober.MaxWaiting {
		t.Errorf("%d polls wait, want %d", n, prober.MaxWaiting)
	}
}

// TestPlacesAreGivenBack has pods come and go while they are asked, and be asked for by others meanwhile: whoever goes leaves his place.
func TestPlacesAreGivenBack(t *testing.T) {
	b := newBench(t, func(w http.ResponseWriter, req *http.Request) {
		answer(w, req, registry.State{PodUID: strings.Trim(req.URL.Path, "/"), Revision: "r1"})
	})
	go func() { // nobody else reads the news
		for {
			select {
			case <-b.changes:
			case <-t.Context().Done():
				return
			}
		}
	}()
	churn := types.NamespacedName{Name: "churn"}
	gone := polled.Target{UID: "u1", Pod: "pod-u1"} // it has no address, so that an attempt takes no time
	for range 60_000 {
		b.Watch(churn, []polled.Target{gone})
		runtime.Gosched()
		b.Watch(churn, nil)
	}
	b.Watch(files, []polled.Target{target("good")})
	b.await("a pod that comes last", func() bool { return b.Observe(files)[0].State != nil })
}
