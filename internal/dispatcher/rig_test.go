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
	"toolgate.dev/toolgate/internal/dispatcher/handover"
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
	handover          *handover.Handover
	released          atomic.Bool
}

func start(t *testing.T, s *spawner, change func(*registry.Document)) *rig {
	t.Helper()
	return startWith(t, s, change, func(*Options) {})
}

// startWith starts one with options of the test's own.
func startWith(t *testing.T, s *spawner, change func(*registry.Document), adjust func(*Options)) *rig {
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
	o := Options{RegistryPath: r.path, Revision: dispatchertest.Revision, Version: "test", PodUID: "uid", Spawner: s,
		Listeners: Listeners{MCP: listen(), Admin: listen(), Probe: listen()},
		Release:   func() error { r.released.Store(true); return nil }, DrainTimeout: 20 * time.Second, Audit: io.Discard, Log: slog.New(slog.DiscardHandler), Now: time.Now}
	adjust(&o)
	l := o.Listeners
	r.base, r.admin, r.kube = "http://"+l.MCP.Addr().String(), "http://"+l.Admin.Addr().String(), "http://"+l.Probe.Addr().String()
	d := New(o)
	r.handover = d.handover
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
