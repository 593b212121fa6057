// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"toolgate.dev/toolgate/internal/dispatcher/dispatchertest"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// spawner starts stdio servers that are goroutines on real pipes.
type spawner struct {
	definitions []string
	missing     atomic.Bool
	// hold, if set, keeps calls waiting until it is closed; begun is told of each.
	hold  chan struct{}
	begun chan struct{}

	mu    sync.Mutex
	procs []*process
}

type process struct {
	stdin, stdout  *os.File
	inside, answer *os.File
	exited         chan struct{}
	once           sync.Once
}

func (p *process) Stdin() *os.File         { return p.stdin }
func (p *process) Stdout() *os.File        { return p.stdout }
func (p *process) Exited() <-chan struct{} { return p.exited }
func (p *process) ExitMessage() string     { return "the server exited with code 0" }
func (p *process) StderrTail() []string    { return []string{"bye"} }

func (p *process) Close() error {
	p.once.Do(func() {
		_ = p.inside.Close()
		_ = p.answer.Close()
		_ = p.stdin.Close()
		_ = p.stdout.Close()
		close(p.exited)
	})
	return nil
}

func (s *spawner) Spawn(context.Context) (upstream.Process, error) {
	if s.missing.Load() {
		return nil, errors.New("no such container")
	}
	p := &process{exited: make(chan struct{})}
	var err error
	if p.inside, p.stdin, err = os.Pipe(); err != nil {
		return nil, err
	}
	if p.stdout, p.answer, err = os.Pipe(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.procs = append(s.procs, p)
	go s.play(p)
	return p, nil
}

// play is the server.
func (s *spawner) play(p *process) {
	lines := bufio.NewScanner(p.inside)
	lines.Buffer(nil, 1<<20)
	var writing sync.Mutex
	for lines.Scan() {
		m, err := jsonrpc.Parse(bytes.Clone(lines.Bytes()), jsonrpc.Limits{})
		if err != nil || m.Kind != jsonrpc.Request {
			continue
		}
		go func() {
			answer := s.answerTo(m)
			writing.Lock()
			defer writing.Unlock()
			_, _ = p.answer.Write(append(answer, '\n'))
		}()
	}
	_ = p.Close()
}

func (s *spawner) answerTo(m jsonrpc.Message) []byte {
	switch m.Method {
	case "initialize":
		return jsonrpc.AppendResponse(nil, m.ID, []byte(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"goroutine","version":"1"}}`))
	case "tools/list":
		return jsonrpc.AppendResponse(nil, m.ID, []byte(`{"tools":[`+strings.Join(s.definitions, ",")+`]}`))
	case "tools/call":
		if s.hold != nil {
			s.begun <- struct{}{}
			<-s.hold
		}
		return jsonrpc.AppendResponse(nil, m.ID, []byte(`{"content":[{"type":"text","text":"done"}]}`))
	case "ping":
		return jsonrpc.AppendResponse(nil, m.ID, []byte(`{}`))
	default:
		return jsonrpc.AppendError(nil, m.ID, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "Method not found"})
	}
}

// rig is a dispatcher that runs on real listeners.
type rig struct {
	t                 *testing.T
	spawner           *spawner
	path              string
	sequence          int64
	base, admin, kube string
	client            *http.Client
	stop              func() error
	released          atomic.Bool
}

func start(t *testing.T, s *spawner, change func(*registry.Document)) *rig {
	t.Helper()
	if s.definitions == nil {
		s.definitions = []string{dispatchertest.Echo, dispatchertest.Remove}
	}
	r := &rig{t: t, spawner: s, path: filepath.Join(t.TempDir(), registry.FileName), client: &http.Client{Transport: &http.Transport{}}}
	r.write(change)
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := Listeners{MCP: listen(), Admin: listen(), Probe: listen()}
	r.base, r.admin, r.kube = "http://"+l.MCP.Addr().String(), "http://"+l.Admin.Addr().String(), "http://"+l.Probe.Addr().String()
	d := New(Options{RegistryPath: r.path, Revision: dispatchertest.Revision, Version: "test", PodUID: "uid", Spawner: s, Listeners: l,
		Release: func() error { r.released.Store(true); return nil }, DrainTimeout: 20 * time.Second, Audit: io.Discard, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	r.stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		r.client.CloseIdleConnections()
	})
	return r
}

// write puts the next document into the file, in one step.
func (r *rig) write(change func(*registry.Document)) {
	r.t.Helper()
	doc := dispatchertest.Document(dispatchertest.NewServer(dispatchertest.Echo, dispatchertest.Remove))
	r.sequence++
	doc.Sequence = r.sequence
	if change != nil {
		change(doc)
	}
	data, _, err := doc.Encode()
	if err != nil {
		r.t.Fatal(err)
	}
	r.put(data)
}

func (r *rig) put(data []byte) {
	r.t.Helper()
	if err := os.WriteFile(r.path+".new", data, 0o600); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Rename(r.path+".new", r.path); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) get(url string) (int, string) {
	response, err := r.client.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	body, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(body)
}

func (r *rig) state() registry.State {
	_, body := r.get(r.admin + "/state")
	var s registry.State
	if err := json.Unmarshal([]byte(body), &s); err != nil {
		r.t.Errorf("state %q: %v", body, err)
	}
	return s
}

func (r *rig) call(tool, arguments string) string {
	return r.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments))
}

func (r *rig) post(body string) string {
	response, err := r.client.Post(r.base+"/mcp", "application/json", strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	data, _ := io.ReadAll(response.Body)
	return string(data)
}

func (r *rig) ready() bool {
	status, _ := r.get(r.kube + "/readyz")
	return status == http.StatusOK
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.After(15 * time.Second)
	for !done() {
		select {
		case <-deadline:
			t.Fatalf("not in time: %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

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
	for _, path := range []string{"/startupz", "/healthz"} {
		if status, _ := r.get(r.kube + path); status != http.StatusOK {
			t.Errorf("%s: %d", path, status)
		}
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
