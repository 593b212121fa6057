// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package soak keeps a dispatcher under full load while the server's processes are killed and its connections are cut, for as
// long as SOAK says (5s in make test, 30m by make soak), and wants every call to be accounted for in the audit records, and
// nothing to be left: no process, no goroutine, no descriptor, no memory that grows.
package soak

import (
	"cmp"
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/testutil/documents"
	"toolgate.dev/toolgate/test/dataplane/scripted"
	"toolgate.dev/toolgate/test/dataplane/serving"
)

const (
	// definition is of a tool that does not say that it only reads, so that its calls are recorded before they are forwarded.
	definition = `{"name":"work","inputSchema":{"type":"object"}}`
	revision   = "r1"
	callers    = 8
	// settling bounds the wait for what must come to rest.
	settling = 60 * time.Second
)

var binaries struct{ dispatcher, self string }

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == scripted.Argument {
		os.Exit(scripted.Main(os.Args[2:]))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	folder, err := os.MkdirTemp("", "soak-")
	if err == nil {
		defer os.RemoveAll(folder) //nolint:errcheck // a folder of temporary files
		binaries.self, err = os.Executable()
	}
	if err == nil {
		binaries.dispatcher, err = serving.Binary(folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func TestSoak(t *testing.T) {
	duration, err := time.ParseDuration(cmp.Or(os.Getenv("SOAK"), "5s"))
	if err != nil {
		t.Fatalf("SOAK: %v", err)
	}
	for name, before := range map[string]func(*testing.T) server{"stdio": overStdio, "HTTP": overHTTP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			soak(t, before(t), duration)
		})
	}
}

// server is what stands behind the dispatcher.
type server struct {
	upstream registry.Upstream
	flags    []string
	// hurt kills a process, or cuts connections.
	hurt func(dispatcher int)
}

func options(t *testing.T) scripted.Options {
	t.Helper()
	folder := t.TempDir()
	o := scripted.Options{Mood: scripted.Good, Log: folder, Tools: filepath.Join(folder, "tools.json")}
	if err := os.WriteFile(o.Tools, []byte(`{"tools":[`+definition+`]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return o
}

func overStdio(t *testing.T) server {
	return server{
		upstream: registry.Upstream{Transport: registry.TransportStdio, Isolation: registry.IsolationSession},
		flags:    append([]string{"--stdio", "--"}, scripted.Command(binaries.self, options(t))...),
		hurt:     killOneChild,
	}
}

func overHTTP(t *testing.T) server {
	s, err := scripted.New(options(t))
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		web.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return server{
		upstream: registry.Upstream{Transport: registry.TransportStreamableHTTP, URL: web.URL, Isolation: registry.IsolationSession},
		hurt:     func(int) { web.CloseClientConnections() },
	}
}

// document trusts the server, and reads and probes it as a real one does.
func document(t *testing.T, s server) string {
	t.Helper()
	doc, err := documents.Admitting(revision, []byte(definition))
	if err != nil {
		t.Fatal(err)
	}
	doc.Upstream = s.upstream
	doc.Policy.Health = registry.Health{IntervalSeconds: 15, TimeoutSeconds: 5, FailureThreshold: 3}
	doc.Policy.Discovery.TTLSeconds = 300
	data, _, err := doc.Encode()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), registry.FileName)
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func soak(t *testing.T, s server, duration time.Duration) {
	accounts := newAccounts()
	d, err := serving.StartAudited(accounts, binaries.dispatcher, document(t, s), s.flags...)
	if err != nil {
		t.Fatal(err)
	}
	stopped := false
	defer func() {
		if !stopped {
			_ = d.Stop() // the test has failed already
		}
	}()
	if err := d.Ready(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, d.Log)
	}
	// What is kept for later, such as processes that are started ahead, is there before anything is counted. Nothing is hurt
	// meanwhile: a process that is killed last of all would be missing from the count.
	load(t, d, func(int) {}, time.Second)
	rested := rest(t, d, usage{})
	hurts := 0
	memory := watchMemory(t, d, duration, func() { hurts = load(t, d, s.hurt, duration) })
	after := rest(t, d, rested)
	t.Logf("%s of full load, the server hurt %d times; at rest before: %v, after: %v; resident memory while loaded: %s", duration, hurts, rested, after, memory)
	if memory.grew() {
		t.Errorf("memory grows: %s", memory)
	}
	stopped = true
	end(t, d, accounts)
}

// end ends a dispatcher, which leaves no process behind and no call out of its records.
func end(t *testing.T, d *serving.Dispatcher, accounts *accounts) {
	t.Helper()
	children := childrenOf(d.Process.Pid)
	if d.Stop() != nil {
		t.Errorf("the dispatcher did not end well:\n%s", d.Log.Last(20))
	}
	left := 0
	for _, pid := range children {
		if alive(pid) {
			left++
			t.Errorf("process %d is left", pid)
		}
	}
	t.Logf("%d processes of the server at the end, %d of them are left after it", len(children), left)
	accounts.check(t, answered.of(d))
}

// load calls from many sessions and without, and lets the server be hurt meanwhile: so many times.
func load(t *testing.T, d *serving.Dispatcher, hurt func(dispatcher int), duration time.Duration) (hurts int) {
	ctx, cancel := context.WithTimeout(t.Context(), duration)
	defer cancel()
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			c := &caller{url: d.MCP + "/mcp", keepsSession: i%2 == 0, answered: answered.of(d)}
			if err := c.run(ctx); err != nil {
				t.Errorf("caller %d: %v", i, err)
			}
		})
	}
	group.Go(func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				hurt(d.Process.Pid)
				hurts++
			}
		}
	})
	group.Wait()
	return hurts
}

// counts are how many calls of a dispatcher were answered.
type counts struct{ all sync.Map }

var answered counts

func (c *counts) of(d *serving.Dispatcher) *atomic.Int64 {
	n, _ := c.all.LoadOrStore(d, new(atomic.Int64))
	return n.(*atomic.Int64) // nothing else is stored
}
