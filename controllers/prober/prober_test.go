// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package prober_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"toolgate.dev/toolgate/controllers/polled"
	"toolgate.dev/toolgate/controllers/prober"
	"toolgate.dev/toolgate/internal/registry"
)

// patience is how long a test waits for what happens at once.
const patience = time.Minute

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var files = types.NamespacedName{Namespace: "ns", Name: "files"}

// bench is a prober with a fake clock and one address that a handler answers.
type bench struct {
	*prober.Prober
	t       *testing.T
	clock   *clocktesting.FakeClock
	changes chan types.NamespacedName
	url     string
	// attempts are counted where they are made: a server hears later that one was given up.
	attempts *attempts
}

// attempts counts requests on their way, and the most that there were at one time.
type attempts struct {
	to                   http.RoundTripper
	inFlight, most, made atomic.Int32
}

func (a *attempts) RoundTrip(req *http.Request) (*http.Response, error) {
	defer a.inFlight.Add(-1)
	a.made.Add(1)
	for now := a.inFlight.Add(1); ; {
		most := a.most.Load()
		if now <= most || a.most.CompareAndSwap(most, now) {
			return a.to.RoundTrip(req)
		}
	}
}

func newBench(t *testing.T, handler http.HandlerFunc) *bench {
	t.Helper()
	return newPatientBench(t, prober.Timeout, handler)
}

// newPatientBench is for answers that take a busy machine more than two seconds to make and to read.
func newPatientBench(t *testing.T, timeout time.Duration, handler http.HandlerFunc) *bench {
	t.Helper()
	server := httptest.NewServer(handler)
	b := &bench{t: t, clock: clocktesting.NewFakeClock(time.Now()), changes: make(chan types.NamespacedName, 1000), url: server.URL}
	client := prober.NewClient()
	b.attempts = &attempts{to: client.Transport}
	client.Transport = b.attempts
	b.Prober = prober.New(prober.Options{
		URL:    func(target polled.Target) string { return b.url + "/" + target.UID },
		Client: client, Clock: b.clock, Timeout: timeout,
		Changed: func(key types.NamespacedName) { b.changes <- key },
	})
	t.Cleanup(func() {
		b.Stop()
		b.attempts.to.(*http.Transport).CloseIdleConnections()
		server.CloseClientConnections()
		server.Close()
	})
	return b
}

// changed waits for news.
func (b *bench) changed() polled.Observation {
	b.t.Helper()
	select {
	case key := <-b.changes:
		seen := b.Observe(key)
		if len(seen) == 0 {
			b.t.Fatal("news of a server without pods")
		}
		return seen[0]
	case <-time.After(patience):
		b.t.Fatal("no news")
		return polled.Observation{}
	}
}

// tick lets time pass as soon as somebody waits for it.
func (b *bench) tick(d time.Duration) {
	b.t.Helper()
	b.await("a timer", b.clock.HasWaiters)
	b.clock.Step(d)
}

func (b *bench) await(what string, is func() bool) {
	b.t.Helper()
	deadline := time.After(patience)
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for !is() {
		select {
		case <-poll.C:
		case <-deadline:
			b.t.Fatalf("waited in vain for %s", what)
		}
	}
}

func target(uid string) polled.Target {
	return polled.Target{UID: uid, Revision: "r1", Pod: "pod-" + uid, IP: "10.0.0.1"}
}

func answer(w http.ResponseWriter, req *http.Request, state registry.State) {
	body, _ := json.Marshal(state)
	tag := `"` + registry.Digest(body) + `"`
	w.Header().Set("ETag", tag)
	if req.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(body)
}

func TestAnswersOnceThenCostsA304(t *testing.T) {
	var full, unchanged, kept atomic.Int32
	b := newBench(t, func(w http.ResponseWriter, req *http.Request) {
		if !req.Close {
			kept.Add(1)
		}
		if req.Header.Get("If-None-Match") == "" {
			full.Add(1)
		} else {
			unchanged.Add(1)
		}
		answer(w, req, registry.State{PodUID: "u1", Revision: "r1", Ready: true})
	})
	b.Watch(files, []polled.Target{target("u1")})
	if seen := b.changed(); seen.State == nil || !seen.State.Ready || seen.Err != "" {
		t.Fatalf("observed %+v", seen)
	}
	for n := int32(1); n <= 3; n++ {
		b.await("a poll", func() bool {
			if unchanged.Load() >= n {
				return true
			}
			b.clock.Step(prober.Interval / 4)
			return false
		})
	}
	if full.Load() != 1 || kept.Load() != 0 || len(b.changes) != 0 {
		t.Errorf("%d full answers, %d connections kept while nothing is awaited, %d more news", full.Load(), kept.Load(), len(b.changes))
	}
}

func TestWaitsForWhatIsAwaited(t *testing.T) {
	release := make(chan struct{})
	var waits atomic.Int32
	b := newBench(t, func(w http.ResponseWriter, req *http.Request) {
		state := registry.State{PodUID: "u1", Revision: "r1"}
		if req.URL.Query().Get("wait") != "" {
			waits.Add(1)
			select {
			case <-release:
				state.Ready = true
			case <-req.Context().Done():
				return
			}
		}
		answer(w, req, state)
	})
	one := target("u1")
	one.Awaited = true
	b.Watch(files, []polled.Target{one})
	if seen := b.changed(); seen.State == nil || seen.State.Ready {
		t.Fatalf("observed first %+v", seen)
	}
	b.tick(100 * time.Millisecond)
	b.await("a poll that waits", func() bool { return waits.Load() == 1 })
	close(release)
	if seen := b.changed(); !seen.State.Ready {
		t.Fatalf("observed then %+v", seen)
	}
}

func TestAPollThatWaitsEndsWhenNothingIsAwaitedAnyMore(t *testing.T) {
	var waits atomic.Int32
	ended := make(chan struct{})
	b := newBench(t, func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Query().Get("wait") != "" {
			waits.Add(1)
			<-req.Context().Done()
			close(ended)
			return
		}
		answer(w, req, registry.State{PodUID: "u1", Revision: "r1"})
	})
	one := target("u1")
	one.Awaited = true
	b.Watch(files, []polled.Target{one})
	b.changed()
	b.tick(100 * time.Millisecond)
	b.await("a poll that waits", func() bool { return waits.Load() == 1 })
	b.Watch(files, []polled.Target{target("u1")})
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("it still waits")
	}
	if seen := b.Observe(files); seen[0].Err != "" {
		t.Errorf("a poll that was called back counts as a failure: %s", seen[0].Err)
	}
}

func TestRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"another pod at the address": {func(w http.ResponseWriter, req *http.Request) {
			answer(w, req, registry.State{PodUID: "u2", Revision: "r1"})
		}, "another pod (u2) answered"},
		"another revision": {func(w http.ResponseWriter, req *http.Request) {
			answer(w, req, registry.State{PodUID: "u1", Revision: "r2"})
		}, `serves revision "r2", its pod is labelled "r1"`},
		"an error":               {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusTeapot) }, "HTTP status 418"},
		"a redirect":             {func(w http.ResponseWriter, req *http.Request) { http.Redirect(w, req, "/elsewhere", http.StatusFound) }, "HTTP status 302"},
		"more than anybody says": {func(w http.ResponseWriter, _ *http.Request) { answerOf(w, "u1", 24<<20) }, "it is over 25165824 bytes"},
		"what is not JSON":       {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, "reading the dispatcher's state"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newPatientBench(t, patience, tc.handler)
			b.Watch(files, []polled.Target{target("u1")})
			seen := b.changed()
			if seen.State != nil || !strings.Contains(seen.Err, tc.want) || seen.FailingSince.IsZero() {
				t.Errorf("observed %+v, want an error with %q", seen, tc.want)
			}
		})
	}
}

// answerOf is a state of some size.
func answerOf(w http.ResponseWriter, uid string, size int) {
	_, _ = fmt.Fprintf(w, `{"podUID":%q,"revision":"r1","more":"%s"}`, uid, strings.Repeat("x", size))
}

// What servers list must not end the manager: when all that is kept is as much as there may be, nothing new is, but what was known stays.
func TestWhatIsKeptIsBounded(t *testing.T) {
	const each = 23 << 20
	b := newPatientBench(t, patience, func(w http.ResponseWriter, req *http.Request) { answerOf(w, strings.Trim(req.URL.Path, "/"), each) })
	var targets []polled.Target
	for i := range 6 { // 138 MiB
		targets = append(targets, target(fmt.Sprint("u", i)))
	}
	kept := func() (states int, errs string) {
		for _, seen := range b.Observe(files) {
			errs += seen.Err
			if seen.State != nil {
				states++
			}
		}
		return states, errs
	}
	b.Watch(files, targets)
	b.await("room for five", func() bool {
		states, errs := kept()
		return states == 5 && strings.Contains(errs, "finds no room")
	})
	b.Watch(files, targets[1:]) // one of those that are kept goes, or the one for which there was no room
	b.await("room for the rest", func() bool {
		b.clock.Step(prober.Interval)
		states, _ := kept()
		return states == 5
	})
	b.Watch(files, nil)
	b.Watch(files, targets[:5])
	b.await("room for as many again", func() bool { states, _ := kept(); return states == 5 })
}

func TestABlackHoleIsGivenUpAndKeepsWhatWasKnown(t *testing.T) {
	var swallow atomic.Bool
	b := newBench(t, func(w http.ResponseWriter, req *http.Request) {
		if swallow.Load() {
			<-req.Context().Done()
			return
		}
		answer(w, req, registry.State{PodUID: "u1", Revision: "r1", Ready: true})
	})
	b.Watch(files, []polled.Target{target("u1")})
	b.changed()
	swallow.Store(true)
	b.await("a failure", func() bool {
		b.clock.Step(prober.Interval)
		return b.Observe(files)[0].Err != ""
	})
	seen := b.Observe(files)[0]
	if seen.State == nil || !seen.State.Ready || !strings.Contains(seen.Err, "no answer in time") {
		t.Errorf("observed %+v", seen)
	}
	swallow.Store(false)
	b.await("recovery", func() bool {
		b.clock.Step(prober.Interval)
		return b.Observe(files)[0].Err == ""
	})
}

func TestBlackHolesCostSlotsAndNothingElse(t *testing.T) {
	b := newBench(t, func(w http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/good") {
			answer(w, req, registry.State{PodUID: "good", Revision: "r1"})
			return
		}
		<-req.Context().Done()
	})
	var holes []polled.Target
	for i := range 2 * prober.MaxConcurrent {
		holes = append(holes, target("hole-"+string(rune('A'+i))))
	}
	b.Watch(types.NamespacedName{Name: "holes"}, holes)
	b.await("all slots to be taken", func() bool { return b.attempts.most.Load() == prober.MaxConcurrent })
	b.Watch(files, []polled.Target{target("good")})
	b.await("the good pod", func() bool { return b.Observe(files)[0].State != nil })
	if most := b.attempts.most.Load(); most > prober.MaxConcurrent {
		t.Errorf("%d attempts at one time, at most %d", most, prober.MaxConcurrent)
	}
}

func TestAPodThatStartsIsAskedAtOnce(t *testing.T) {
	var up atomic.Bool
	var attempts atomic.Int32
	b := newBench(t, func(w http.ResponseWriter, req *http.Request) {
		attempts.Add(1)
		if !up.Load() {
			http.Error(w, "not yet", http.StatusServiceUnavailable)
			return
		}
		answer(w, req, registry.State{PodUID: "u1", Revision: "r1"})
	})
	b.Watch(files, []polled.Target{target("u1")})
	b.changed()
	up.Store(true)
	started := target("u1")
	started.Started = "containerd://1"
	b.Watch(files, []polled.Target{started})
	if seen := b.changed(); seen.State == nil || seen.Err != "" {
		t.Errorf("observed %+v after %d attempts", seen, attempts.Load())
	}
}

func TestForgetsPodsThatAreGone(t *testing.T) {
	b := newBench(t, func(w http.ResponseWriter, req *http.Request) {
		answer(w, req, registry.State{PodUID: strings.Trim(req.URL.Path, "/"), Revision: "r1"})
	})
	b.Watch(files, []polled.Target{target("u1"), target("u2")})
	b.changed()
	b.changed()
	b.Watch(files, []polled.Target{target("u2")})
	if seen := b.Observe(files); len(seen) != 1 || seen[0].Target.UID != "u2" || seen[0].State == nil {
		t.Errorf("observed %+v", seen)
	}
	b.Watch(files, nil)
	if seen := b.Observe(files); len(seen) != 0 {
		t.Errorf("observed %+v of a server without pods", seen)
	}
}

func TestARefusedConnectionIsOneFailureHoweverOften(t *testing.T) {
	b := newBench(t, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b.url = "http://" + l.Addr().String()
	_ = l.Close()
	b.Watch(files, []polled.Target{target("u1")})
	first := b.changed()
	for range 5 {
		b.tick(prober.Interval)
	}
	if again := b.Observe(files)[0]; again.Err != first.Err || !again.FailingSince.Equal(first.FailingSince) || len(b.changes) != 0 {
		t.Errorf("first %+v, then %+v with %d more news", first, again, len(b.changes))
	}
	if asked, failing := b.Count(); asked != 1 || failing != 1 {
		t.Errorf("%d pods are asked and %d fail, want one of each", asked, failing)
	}
}
