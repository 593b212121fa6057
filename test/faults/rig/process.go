// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"

	"toolgate.dev/toolgate/controllers/leadership"
	"toolgate.dev/toolgate/test/faults/proxy"
)

// ProcessVariable makes a test binary run a manager instead of its tests: TestMain hands its value to RunProcess.
const ProcessVariable = "TOOLGATE_FAULTS_MANAGER"

// ProcessOptions say how a manager runs in a process of its own.
type ProcessOptions struct {
	proxy.Options
	// Namespaces are those it acts in; none means all.
	Namespaces []string
	// LeaseNamespace is where it stands for election; empty for a manager that is the only one.
	LeaseNamespace string
	// Times of the election; zero for those of an installed manager.
	Times leadership.Times
	// Resync is how often its informers hand every object out again; 0 for controller-runtime's own ten hours.
	Resync time.Duration
	// Log takes what it logs; nil drops it.
	Log io.Writer
}

// Process is a manager in a process of its own, behind a proxy of its own.
type Process struct {
	*proxy.Proxy
	// Probes and Metrics are the addresses of /healthz and /readyz, and of /metrics, of the form http://127.0.0.1:port.
	Probes, Metrics string

	cmd    *exec.Cmd
	pods   *httptest.Server
	polls  atomic.Int64
	killed atomic.Bool
	ended  chan struct{}
	err    error
}

// StartProcess starts the test binary again, as a manager, and does not wait for anything. It ends with the test, however that
// ends: its standard input is a pipe of ours.
func (r *Rig) StartProcess(o ProcessOptions) (*Process, error) {
	before, err := proxy.New(r.Config, o.Options)
	if err != nil {
		return nil, err
	}
	p := &Process{Proxy: before, ended: make(chan struct{})}
	p.pods = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		p.polls.Add(1)
		r.Cluster.Dispatchers.ServeHTTP(w, req)
	}))
	if err := p.start(o); err != nil {
		p.close()
		return nil, err
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

func (p *Process) start(o ProcessOptions) error {
	probes, err := freeAddress()
	if err != nil {
		return err
	}
	metrics, err := freeAddress()
	if err != nil {
		return err
	}
	p.Probes, p.Metrics = "http://"+probes, "http://"+metrics
	encoded, err := json.Marshal(child{
		Host: p.Config().Host, Pods: p.pods.URL, Probes: probes, Metrics: metrics,
		Namespaces: o.Namespaces, LeaseNamespace: o.LeaseNamespace, Times: o.Times, Resync: o.Resync,
	})
	if err != nil {
		return fmt.Errorf("encoding the manager's options: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding the test binary: %w", err)
	}
	p.cmd = exec.CommandContext(context.Background(), self)
	p.cmd.Env = append(os.Environ(), ProcessVariable+"="+string(encoded))
	p.cmd.Stderr = cmp.Or[io.Writer](o.Log, io.Discard)
	// A process that is paused does not see the end of its input.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if _, err := p.cmd.StdinPipe(); err != nil {
		return fmt.Errorf("making the manager's input: %w", err)
	}
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("starting the manager: %w", err)
	}
	return nil
}

// freeAddress is one of loopback where nobody listens just now.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("looking for a free port: %w", err)
	}
	return l.Addr().String(), l.Close()
}

// PID is the process's.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Polls is how often it has asked pods so far.
func (p *Process) Polls() int64 { return p.polls.Load() }

// Pause stops the process where it is, and Resume lets it go on.
func (p *Process) Pause() error { return p.signal(syscall.SIGSTOP) }

// Resume lets a paused process go on.
func (p *Process) Resume() error { return p.signal(syscall.SIGCONT) }

// Terminate tells the process to end, as a kubelet does.
func (p *Process) Terminate() error { return p.signal(syscall.SIGTERM) }

// Kill ends the process at once.
func (p *Process) Kill() error {
	p.killed.Store(true)
	return p.signal(syscall.SIGKILL)
}

func (p *Process) signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("sending %v to the manager: %w", s, err)
	}
	return nil
}

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Wait waits until the process has ended by itself and gives how: nil for exit status 0.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.ended:
		return p.err
	case <-ctx.Done():
		return fmt.Errorf("waiting for the manager's end: %w", context.Cause(ctx))
	}
}

// Stop ends a process in the way in which a kubelet does, if it has not ended yet, and its proxy. A process that failed, or
// does not end in time, is an error; one that was killed is not.
func (p *Process) Stop() error {
	defer p.close()
	select {
	case <-p.ended:
		if p.killed.Load() {
			return nil
		}
		return p.err
	default:
	}
	if err := errors.Join(p.Terminate(), p.Resume()); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	patient, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	if err := p.Wait(patient); err != nil {
		_ = p.Kill()
		<-p.ended
		return fmt.Errorf("stopping the manager: %w", err)
	}
	return nil
}

func (p *Process) close() {
	p.Proxy.Stop()
	p.pods.CloseClientConnections()
	p.pods.Close()
}
