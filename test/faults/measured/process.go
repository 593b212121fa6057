// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package measured runs a manager in a process of its own, behind a proxy, so that what it uses can be told from what the API
// server and the rig use. The manager is the test binary itself, started again: TestMain hands over to Child.
package measured

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
	"sync"
	"syscall"
	"time"

	"toolgate.dev/toolgate/test/faults/proxy"
	"toolgate.dev/toolgate/test/faults/rig"
)

// ChildEnv is the environment variable whose value makes this binary a manager instead of a test: see Child.
const ChildEnv = "TOOLGATE_FAULTS_MEASURED"

// poll is between looks at the manager.
const poll = 100 * time.Millisecond

// childOptions are what a child is told.
type childOptions struct {
	// Host is the address of the proxy before the API server.
	Host string
	// Dispatchers is where the pods answer.
	Dispatchers string
}

// Process is a manager in a process of its own, behind a proxy: it can be measured, stopped and killed as a real one.
type Process struct {
	*proxy.Proxy
	cmd   *exec.Cmd
	debug string
	done  chan error

	stopped sync.Once
	err     error
}

// Start starts this very binary again as a manager, and waits until its debug endpoint listens.
func Start(r *rig.Rig) (*Process, error) {
	before, err := proxy.New(r.Config, proxy.Options{})
	if err != nil {
		return nil, err
	}
	p := &Process{Proxy: before, done: make(chan error, 1)}
	err = p.start(childOptions{Host: before.Config().Host, Dispatchers: r.Cluster.Dispatchers.URL})
	if err != nil {
		before.Stop()
		return nil, err
	}
	return p, nil
}

func (p *Process) start(o childOptions) error {
	told, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("telling the manager: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this binary: %w", err)
	}
	p.cmd = exec.Command(self)
	p.cmd.Env = append(os.Environ(), ChildEnv+"="+string(told))
	p.cmd.Stderr = os.Stderr
	// It must not outlive the test, however that ends.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("starting the manager: %w", err)
	}
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("starting the manager: %w", err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		return fmt.Errorf("the manager ended at once: %w", p.cmd.Wait())
	}
	p.debug = lines.Text()
	go func() { p.done <- p.cmd.Wait() }()
	return nil
}

// Stop ends the manager as a signal does, and its proxy. Stopping it again is no error.
func (p *Process) Stop() error {
	p.stopped.Do(func() { p.err = p.stop() })
	return p.err
}

func (p *Process) stop() error {
	err := p.cmd.Process.Signal(syscall.SIGTERM)
	if err == nil || errors.Is(err, os.ErrProcessDone) {
		err = <-p.done
	}
	p.Proxy.Stop()
	if err != nil {
		return fmt.Errorf("running the manager: %w", err)
	}
	return nil
}

// Figures asks the manager about itself; collect lets it collect its garbage before.
func (p *Process) Figures(collect bool) (Figures, error) {
	var f Figures
	url := "http://" + p.debug + "/figures"
	if collect {
		url += "?collect=1"
	}
	resp, err := http.Get(url)
	if err != nil {
		return f, fmt.Errorf("asking the manager: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if err := json.NewDecoder(resp.Body).Decode(&f); err != nil {
		return f, fmt.Errorf("asking the manager: %w", err)
	}
	used, err := UsageOf(p.cmd.Process.Pid)
	f.Resident, f.Peak = used.Resident, used.Peak
	return f, err
}

// Idle waits until the manager has listed everything, has nothing to do and has written nothing for a while.
func (p *Process) Idle(ctx context.Context, quiet, patience time.Duration) error {
	began, since, done := time.Now(), time.Now(), -1
	for {
		f, err := p.Figures(false)
		if err != nil {
			return err
		}
		now := time.Now()
		if !f.Synced || f.Waiting > 0 || f.Done != done || now.Sub(p.LastWrite("")) < quiet {
			since, done = now, f.Done
		}
		switch {
		case now.Sub(since) >= quiet:
			return nil
		case now.Sub(began) > patience:
			return fmt.Errorf("the manager does not come to rest in %v: %+v", patience, f)
		}
		if err := rig.Wait(ctx, poll); err != nil {
			return err
		}
	}
}

// Profile writes a profile of the manager to a file: what is a path under /debug/pprof/, such as heap.
func (p *Process) Profile(ctx context.Context, what, file string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.debug+"/debug/pprof/"+what, nil)
	if err != nil {
		return fmt.Errorf("profiling the manager: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("profiling the manager: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("profiling the manager: %w", err)
	}
	return os.WriteFile(file, data, 0o600)
}
