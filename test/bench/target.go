// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const (
	initializeBody = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
		`"clientInfo":{"name":"bench","version":"1"}}}`
	initializedBody = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	// startTimeout bounds the start of anything; Node takes its time on a busy machine.
	startTimeout = time.Minute
)

// target is something that answers calls: a server alone, or a proxy before it.
type target struct {
	name      string
	transport string // of the server behind it
	address   string // where it listens; empty for a server over pipes
	session   string
	pipes     *pipeClient
	main      *exec.Cmd     // the proxy itself, whose time and memory counts
	others    []*exec.Cmd   // ended with it
	admin     string        // address of the dispatcher's admin listener
	probe     string        // likewise of its probes
	file      string        // its registry document
	start     time.Duration // from the start of the process to the answer to initialize
}

// caller gives one more caller of the target's session.
func (t *target) caller(size int, id *ids) (caller, error) {
	body := callBody(size)
	if t.pipes != nil {
		return &pipeCaller{client: t.pipes, line: append(body, '\n'), id: id, size: size, answer: make(chan int, 1)}, nil
	}
	c, err := dialHTTP(t.address)
	if err != nil {
		return nil, err
	}
	whole := post(t.session, body)
	return &httpCaller{httpConn: c, request: whole, at: len(whole) - len(body), id: id, size: size}, nil
}

// command is a process of a target, which says nothing unless BENCH_LOG is set.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	if os.Getenv("BENCH_LOG") != "" {
		cmd.Stderr = os.Stderr
	}
	return cmd
}

// connect begins a session as soon as the target answers, and notes how long that took.
func (t *target) connect(ctx context.Context, begin time.Time) error {
	err := poll(ctx, func() error {
		c, err := dialHTTP(t.address)
		if err != nil {
			return err
		}
		defer c.Close() //nolint:errcheck // it was only asked
		if err := c.SetDeadline(time.Now().Add(startTimeout)); err != nil {
			return err
		}
		if _, err := c.exchange(post("", []byte(initializeBody))); err != nil || c.status != 200 || !bytes.Contains(c.head, []byte(`"result"`)) {
			return fmt.Errorf("initialize: status %d, %s: %w", c.status, c.head, err)
		}
		t.start, t.session = time.Since(begin), c.session
		_, err = c.exchange(post(t.session, []byte(initializedBody)))
		return err
	})
	if err != nil {
		return fmt.Errorf("%s does not start: %w", t.name, err)
	}
	return nil
}

// poll tries until it succeeds, in steps of a millisecond.
func poll(ctx context.Context, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}

// close ends the target's processes.
func (t *target) close() {
	for _, cmd := range append([]*exec.Cmd{t.main}, t.others...) {
		if cmd == nil || cmd.Process == nil {
			continue
		}
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		ended := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait() // how it ends is nobody's business
		ended.Stop()
	}
}

// freeAddress is one on loopback where nothing listens.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// world is what all targets share.
type world struct {
	options
	dir  string
	self string
}

// maker starts one target.
type maker struct {
	name, transport string
	make            func(ctx context.Context, t *target) error
}

const (
	overStdio = "stdio"
	overHTTP  = "http"
)

// makers are the targets in the order in which they are reported. The first of each transport is the server alone.
func (w *world) makers() []maker {
	all := []maker{
		{"direct", overStdio, w.directStdio},
		{"dispatcher, minimal policy", overStdio, w.dispatcherMaker(minimal)},
		{"dispatcher, full policy", overStdio, w.dispatcherMaker(full)},
		{"Go SDK proxy", overStdio, w.sdkStdio},
	}
	if w.peers != "" {
		all = append(all, maker{"supergateway", overStdio, w.supergateway}, maker{"mcp-proxy", overStdio, w.mcpProxy})
	}
	return append(all,
		maker{"direct", overHTTP, w.directHTTP},
		maker{"dispatcher, minimal policy", overHTTP, w.dispatcherMaker(minimal)},
		maker{"dispatcher, full policy", overHTTP, w.dispatcherMaker(full)},
		maker{"Go SDK proxy", overHTTP, w.sdkHTTP},
	)
}

func (w *world) directStdio(ctx context.Context, t *target) error {
	cmd := command(ctx, w.self, roleStdio, "1")
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	t.main = cmd
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	t.pipes, err = newPipeClient(in, out)
	t.start = time.Since(begin)
	return err
}

// server starts the HTTP server behind a proxy, and gives its address.
func (w *world) server(ctx context.Context, t *target, tools string) (string, error) {
	address, err := freeAddress()
	if err != nil {
		return "", err
	}
	cmd := command(ctx, w.self, roleHTTP, address, tools)
	if err := cmd.Start(); err != nil {
		return "", err
	}
	t.others = append(t.others, cmd)
	return address, (&target{name: "the server", address: address}).connect(ctx, time.Now())
}

func (w *world) directHTTP(ctx context.Context, t *target) error {
	address, err := w.server(ctx, t, "1")
	t.address = address
	t.main, t.others = t.others[0], nil
	return errors.Join(err, t.connect(ctx, time.Now()))
}

// begin starts the proxy itself and connects to it.
func (t *target) begin(ctx context.Context, cmd *exec.Cmd) error {
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	t.main = cmd
	return t.connect(ctx, begin)
}

func (w *world) sdkStdio(ctx context.Context, t *target) error {
	return w.sdk(ctx, t, "--", w.self, roleStdio, "1")
}

func (w *world) sdkHTTP(ctx context.Context, t *target) error {
	server, err := w.server(ctx, t, "1")
	if err != nil {
		return err
	}
	return w.sdk(ctx, t, "http://"+server+"/mcp")
}

func (w *world) sdk(ctx context.Context, t *target, upstream ...string) (err error) {
	if t.address, err = freeAddress(); err != nil {
		return err
	}
	cmd := command(ctx, w.self, append([]string{roleProxy, t.address}, upstream...)...)
	return t.begin(ctx, cmd)
}

func (w *world) supergateway(ctx context.Context, t *target) error {
	return w.node(ctx, t, "supergateway", func(port string) []string {
		return []string{"--stdio", w.self + " " + roleStdio + " 1", "--outputTransport", "streamableHttp", "--stateful", "--logLevel", "none", "--port", port}
	})
}

func (w *world) mcpProxy(ctx context.Context, t *target) error {
	return w.node(ctx, t, "mcp-proxy", func(port string) []string {
		return []string{"--host", "127.0.0.1", "--server", "stream", "--port", port, "--", w.self, roleStdio, "1"}
	})
}

// node starts a proxy from npm.
func (w *world) node(ctx context.Context, t *target, name string, args func(port string) []string) (err error) {
	if t.address, err = freeAddress(); err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(t.address)
	if err != nil {
		return err
	}
	script := filepath.Join(w.peers, name, "node_modules", ".bin", name)
	cmd := command(ctx, "node", append([]string{script}, args(port)...)...)
	return t.begin(ctx, cmd)
}
