// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serving runs the dispatcher's binary for tests: it builds it, starts it, learns from its log where it listens, and
// ends it. It knows nothing of MCP and imports nothing of ours but the contract of /state.
package serving

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"toolgate.dev/toolgate/internal/registry"
)

// soon bounds every wait.
const soon = 60 * time.Second

// Binary gives the dispatcher that TOOLGATE_DISPATCHER names, such as one that looks for races, or one that it builds into
// folder as releases are built.
func Binary(folder string) (string, error) {
	if file := os.Getenv("TOOLGATE_DISPATCHER"); file != "" {
		return file, nil
	}
	file := filepath.Join(folder, "dispatcher")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version=v0.0.1-test", "-o", file,
		"toolgate.dev/toolgate/cmd/dispatcher")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the dispatcher: %w\n%s", err, out)
	}
	return file, nil
}

// Dispatcher is a running `dispatcher serve`.
type Dispatcher struct {
	*exec.Cmd
	// MCP and Admin are the base URLs of its listeners.
	MCP, Admin string
	// Audit are its audit records, nil if StartAudited sent them elsewhere.
	Audit, Log *Text

	once   sync.Once
	exited chan struct{}
	err    error // how it ended, once exited is closed
}

// Start starts a dispatcher with a registry file, on ports of its own, and waits until it listens.
func Start(binary, file string, flags ...string) (*Dispatcher, error) {
	audit := &Text{}
	d, err := StartAudited(audit, binary, file, flags...)
	if err == nil {
		d.Audit = audit
	}
	return d, err
}

// StartAudited is Start with audit records that go to audit, and are kept nowhere else.
func StartAudited(audit io.Writer, binary, file string, flags ...string) (*Dispatcher, error) {
	args := append([]string{"serve", "--registry", file, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--drain-timeout", soon.String()}, flags...)
	d := &Dispatcher{Cmd: exec.Command(binary, args...), Log: &Text{}, exited: make(chan struct{})}
	d.Stdout = audit
	logs, err := d.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := d.Start(); err != nil {
		return nil, err
	}
	listening := make(chan struct{})
	go func() {
		defer close(d.exited)
		d.follow(logs, listening)
		d.err = d.Wait()
	}()
	select {
	case <-listening:
		return d, nil
	case <-d.exited:
		return nil, fmt.Errorf("the dispatcher ended: %w\n%s", d.err, d.Log)
	}
}

// follow reads the log, and learns from it where the dispatcher listens.
func (d *Dispatcher) follow(logs io.Reader, listening chan<- struct{}) {
	scanner := bufio.NewScanner(logs)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		_, _ = d.Log.Write(append(scanner.Bytes(), '\n')) // never fails
		var line struct{ Msg, For, Address string }
		if json.Unmarshal(scanner.Bytes(), &line) != nil || line.Msg != "listening" {
			continue
		}
		switch line.For {
		case "MCP":
			d.MCP = "http://" + line.Address
		case "admin":
			d.Admin = "http://" + line.Address
		}
		if d.MCP != "" && d.Admin != "" && listening != nil {
			close(listening)
			listening = nil
		}
	}
}

// Terminate asks the dispatcher to end, and does not wait.
func (d *Dispatcher) Terminate() {
	d.once.Do(func() { _ = d.Process.Signal(syscall.SIGTERM) }) // an error is that it has ended
}

// Exited is closed when the dispatcher has ended.
func (d *Dispatcher) Exited() <-chan struct{} { return d.exited }

// Stop ends the dispatcher and waits for it. The error says that it did not end well.
func (d *Dispatcher) Stop() error {
	d.Terminate()
	<-d.exited
	if d.err != nil {
		return fmt.Errorf("the dispatcher ended with %w", d.err)
	}
	return nil
}

// State is what GET /state answers.
func (d *Dispatcher) State(ctx context.Context) (registry.State, error) {
	var s registry.State
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.Admin+"/state", nil)
	if err != nil {
		return s, err
	}
	resp, err := http.DefaultClient.Do(request)
	if err != nil {
		return s, err
	}
	defer resp.Body.Close() //nolint:errcheck // what matters was read
	if resp.StatusCode != http.StatusOK {
		return s, fmt.Errorf("GET /state: %s", resp.Status)
	}
	return s, json.NewDecoder(resp.Body).Decode(&s)
}

// errUnready says that a dispatcher did not become ready.
var errUnready = errors.New("the dispatcher is not ready")

// Ready waits until clients are served.
func (d *Dispatcher) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, soon, fmt.Errorf("%w within %s", errUnready, soon))
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if s, err := d.State(ctx); err == nil && s.Ready {
			return nil
		}
		select {
		case <-tick.C:
		case <-d.exited:
			return fmt.Errorf("%w, it has ended: %w", errUnready, d.err)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
