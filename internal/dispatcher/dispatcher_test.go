// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"toolgate.dev/toolgate/internal/dispatcher/dispatchertest"
	"toolgate.dev/toolgate/internal/registry"
)

func TestFromStartToReady(t *testing.T) {
	r := start(t, &spawner{}, nil)
	eventually(t, "ready", r.ready)
	s := r.state()
	if !s.Ready || s.PodUID != "uid" || s.Revision != dispatchertest.Revision || s.Dispatcher != "test" || s.Registry.Sequence != 1 ||
		s.Registry.Digest == "" || s.Upstream.ServerName != "goroutine" || s.Catalogue == nil || len(s.Catalogue.Tools) != 2 {
		t.Errorf("state %+v", s)
	}
	if got := r.call("echo", `{"text":"x"}`); !strings.Contains(got, `"text":"done"`) {
		t.Errorf("a call: %s", got)
	}
	if status, _ := r.get(r.kube + "/healthz"); status != http.StatusOK {
		t.Errorf("/healthz: %d", status)
	}
	if _, body := r.get(r.admin + "/metrics"); !strings.Contains(body, "toolgate_ready 1") || !strings.Contains(body, "toolgate_child_starts_total") {
		t.Error("metrics lack readiness or starts")
	}
	request, _ := http.NewRequest(http.MethodGet, r.admin+"/state", nil)
	request.Host = "evil.example.com"
	if response, err := r.client.Do(request); err != nil || response.Body.Close() != nil || response.StatusCode != http.StatusForbidden {
		t.Errorf("state under a stranger's name: %v %v", response, err)
	}
	if status, body := r.get(r.base + "/elsewhere"); status != http.StatusNotFound || !strings.Contains(body, "/mcp") {
		t.Errorf("another path: %d %s", status, body)
	}
}

// The very first document names the revision and no tools: that and a catalogue make the pod ready, with every call refused.
func TestADocumentWithoutToolsMakesReady(t *testing.T) {
	r := start(t, &spawner{}, func(d *registry.Document) { d.Revisions[dispatchertest.Revision] = registry.Revision{} })
	eventually(t, "ready", r.ready)
	if got := r.call("echo", `{"text":"x"}`); !strings.Contains(got, "ToolNotFound") {
		t.Errorf("a call: %s", got)
	}
	r.write(nil)
	eventually(t, "the tool admitted", func() bool { return strings.Contains(r.call("echo", `{"text":"x"}`), "done") })
}

func TestAnotherRevisionIsNotReady(t *testing.T) {
	r := start(t, &spawner{}, func(d *registry.Document) { d.Revisions = map[string]registry.Revision{"other": {}} })
	eventually(t, "the catalogue read", func() bool { return r.state().Catalogue != nil })
	if r.ready() {
		t.Error("ready although the document does not name the revision")
	}
	r.write(nil)
	eventually(t, "ready", r.ready)
	r.write(func(d *registry.Document) { d.Revisions = map[string]registry.Revision{"other": {}} })
	eventually(t, "the newer document in force", func() bool { return r.state().Registry.Sequence == 3 })
	if !r.ready() {
		t.Error("the latch was cleared by a document")
	}
}

func TestABrokenDocumentChangesNothing(t *testing.T) {
	r := start(t, &spawner{}, nil)
	eventually(t, "ready", r.ready)
	r.put([]byte(`{"version":1,"sequence":9,"surprise":true}`))
	eventually(t, "the refusal in the state", func() bool { return strings.Contains(r.state().Registry.Error, "surprise") })
	if got := r.call("echo", `{"text":"x"}`); !strings.Contains(got, "done") || !r.ready() || r.state().Registry.Sequence != 1 {
		t.Errorf("under the last good document: %s", got)
	}
}

func TestLossOfTheServersProcess(t *testing.T) {
	s := &spawner{}
	r := start(t, s, nil)
	eventually(t, "ready", r.ready)
	s.missing.Store(true)
	s.mu.Lock()
	for _, p := range s.procs {
		_ = p.Close()
	}
	s.mu.Unlock()
	eventually(t, "not ready", func() bool { return !r.ready() })
	if got := r.state(); got.Upstream.Reason != registry.FailStart {
		t.Errorf("state %+v", got.Upstream)
	}
	if got := r.call("echo", `{"text":"x"}`); !strings.Contains(got, `"code":-31012`) {
		t.Errorf("a call: %s", got)
	}
	s.missing.Store(false)
	eventually(t, "ready again", r.ready)
}

// Reloads, and even another way to the server, cost no call.
func TestReloadsLoseNoCall(t *testing.T) {
	s := &spawner{}
	r := start(t, s, nil)
	eventually(t, "ready", r.ready)
	stop := make(chan struct{})
	var callers sync.WaitGroup
	var calls atomic.Int64
	for range 2 {
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				calls.Add(1)
				if got := r.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); !strings.Contains(got, `"name":"echo"`) {
					t.Errorf("a list during reloads: %s", got)
					return
				}
				if got := r.call("echo", `{"text":"x"}`); !strings.Contains(got, "done") {
					t.Errorf("a call during reloads: %s", got)
					return
				}
			}
		})
	}
	for i := range 20 {
		isolation := []registry.Isolation{registry.IsolationSession, registry.IsolationShared}[i%2]
		r.write(func(d *registry.Document) { d.Upstream.Isolation = isolation })
		want := r.sequence
		eventually(t, "the document in force", func() bool { return r.state().Registry.Sequence == want })
	}
	close(stop)
	callers.Wait()
	t.Logf("%d calls during 20 reloads", calls.Load())
}

// A pod of before stays with its own server while a rollout replaces it: it has that one's credentials and no way to another one, but the
// policy is everybody's.
func TestADocumentThatNamesAnotherServer(t *testing.T) {
	var reached atomic.Int64
	another := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer another.Close()
	r := startWith(t, &spawner{}, nil, func(o *Options) { o.Upstream = &registry.Upstream{Transport: registry.TransportStdio} })
	eventually(t, "ready", r.ready)
	follow := func(change func(*registry.Document)) {
		t.Helper()
		r.write(func(d *registry.Document) {
			d.Upstream = registry.Upstream{Transport: registry.TransportStreamableHTTP, URL: another.URL, Remote: true}
			change(d)
		})
		want := r.sequence
		eventually(t, "the document in force", func() bool { return r.state().Registry.Sequence == want })
	}
	follow(func(*registry.Document) {})
	if got := r.call("echo", `{"text":"x"}`); !strings.Contains(got, "done") {
		t.Errorf("a call to the server of the pod: %s", got)
	}
	follow(func(d *registry.Document) { d.Policy.Expose.Tools = false })
	if got := r.call("echo", `{"text":"x"}`); strings.Contains(got, "done") {
		t.Errorf("a call that the document refuses: %s", got)
	}
	if !r.ready() {
		t.Error("not ready any more")
	}
	if n := reached.Load(); n > 0 {
		t.Errorf("the server of another revision was reached %d times", n)
	}
}

func TestDrainWaitsForCallsInFlight(t *testing.T) {
	s := &spawner{hold: make(chan struct{}), begun: make(chan struct{}, 8)}
	r := start(t, s, nil)
	eventually(t, "ready", r.ready)
	answer := make(chan string, 1)
	go func() { answer <- r.call("echo", `{"text":"x"}`) }()
	<-s.begun
	drained := make(chan int, 1)
	go func() {
		status, _ := r.get(r.admin + "/drain")
		drained <- status
	}()
	eventually(t, "draining", func() bool { return r.state().Draining })
	if r.ready() {
		t.Error("ready while draining")
	}
	select {
	case status := <-drained:
		t.Fatalf("drained (%d) with a call in flight", status)
	default:
	}
	if r.released.Load() {
		t.Error("the server was let go with a call in flight")
	}
	close(s.hold)
	if got := <-answer; !strings.Contains(got, "done") {
		t.Errorf("the call in flight: %s", got)
	}
	if status := <-drained; status != http.StatusOK {
		t.Errorf("drain: %d", status)
	}
	// Its launcher stays as long as it is connected to, and the pod with it.
	if !r.released.Load() {
		t.Error("drained, and the server was not let go")
	}
	if got := r.call("echo", `{"text":"x"}`); !strings.Contains(got, "Draining") {
		t.Errorf("a call after the drain: %s", got)
	}
}

// The end waits for what is in flight, like a drain.
func TestTheEndLosesNoCall(t *testing.T) {
	s := &spawner{hold: make(chan struct{}), begun: make(chan struct{}, 8)}
	r := start(t, s, nil)
	eventually(t, "ready", r.ready)
	answer := make(chan string, 1)
	go func() { answer <- r.call("echo", `{"text":"x"}`) }()
	<-s.begun
	ended := make(chan error, 1)
	go func() { ended <- r.stop() }()
	eventually(t, "draining", func() bool { return r.state().Draining })
	close(s.hold)
	if got := <-answer; !strings.Contains(got, "done") {
		t.Errorf("the call in flight: %s", got)
	}
	if err := <-ended; err != nil {
		t.Errorf("the end: %v", err)
	}
}

func TestHTTP2WithoutTLS(t *testing.T) {
	r := start(t, &spawner{}, nil)
	eventually(t, "ready", r.ready)
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	r.client = &http.Client{Transport: transport}
	if got := r.call("echo", `{"text":"x"}`); !strings.Contains(got, "done") {
		t.Errorf("over HTTP/2: %s", got)
	}
}
