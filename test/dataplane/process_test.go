// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"toolgate.dev/toolgate/internal/registry"
)

// dispatcher is a running `dispatcher serve`.
type dispatcher struct {
	t testing.TB
	*exec.Cmd
	// mcp and admin are the base URLs of its listeners.
	mcp, admin string
	audit, log *text

	once   sync.Once
	exited chan struct{}
	err    error // how it ended, once exited is closed
}

// serve starts a dispatcher with a document, and ends it with the test. A command is started over stdio.
func serve(t testing.TB, doc *registry.Document, command ...string) *dispatcher {
	t.Helper()
	return serveFile(t, write(t, doc), command...)
}

func serveFile(t testing.TB, file string, command ...string) *dispatcher {
	t.Helper()
	if len(command) == 0 {
		return serveWith(t, file)
	}
	return serveWith(t, file, append([]string{"--stdio", "--"}, command...)...)
}

// serveWith starts a dispatcher with flags of the test's own.
func serveWith(t testing.TB, file string, flags ...string) *dispatcher {
	t.Helper()
	args := append([]string{"serve", "--registry", file, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--drain-timeout", soon.String()}, flags...)
	d := &dispatcher{t: t, Cmd: exec.Command(binaries.dispatcher, args...), audit: &text{}, log: &text{}, exited: make(chan struct{})}
	d.Stdout = d.audit
	logs := must[io.ReadCloser](t)(d.StderrPipe())
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if d.stop(); t.Failed() {
			t.Logf("the dispatcher's log:\n%s", d.log.last(40))
		}
	})
	listening := make(chan struct{})
	go func() {
		defer close(d.exited)
		d.follow(logs, listening)
		d.err = d.Wait()
	}()
	select {
	case <-listening:
	case <-d.exited:
		t.Fatalf("the dispatcher ended: %v\n%s", d.err, d.log)
	}
	return d
}

// follow reads the log, and learns from it where the dispatcher listens.
func (d *dispatcher) follow(logs io.Reader, listening chan<- struct{}) {
	scanner := bufio.NewScanner(logs)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		_, _ = d.log.Write(append(scanner.Bytes(), '\n')) // never fails
		var line struct{ Msg, For, Address string }
		if json.Unmarshal(scanner.Bytes(), &line) != nil || line.Msg != "listening" {
			continue
		}
		switch line.For {
		case "MCP":
			d.mcp = "http://" + line.Address
		case "admin":
			d.admin = "http://" + line.Address
		}
		if d.mcp != "" && d.admin != "" && listening != nil {
			close(listening)
			listening = nil
		}
	}
}

// terminate asks the dispatcher to end, and does not wait.
func (d *dispatcher) terminate() {
	d.once.Do(func() { _ = d.Process.Signal(syscall.SIGTERM) }) // an error is that it has ended
}

// stop ends the dispatcher and waits for it, and for it to have ended well.
func (d *dispatcher) stop() {
	d.t.Helper()
	d.terminate()
	<-d.exited
	if d.err != nil {
		d.t.Errorf("the dispatcher ended with %v", d.err)
	}
}

// state is what GET /state answers.
func (d *dispatcher) state() registry.State {
	d.t.Helper()
	var s registry.State
	d.get(d.admin+"/state", &s)
	return s
}

// get reads a JSON document.
func (d *dispatcher) get(url string, into any) {
	d.t.Helper()
	resp := must[*http.Response](d.t)(web.Get(url))
	defer resp.Body.Close() //nolint:errcheck // what matters was read
	body := must[[]byte](d.t)(io.ReadAll(resp.Body))
	if err := json.Unmarshal(body, into); err != nil || resp.StatusCode != http.StatusOK {
		d.t.Fatalf("GET %s: %s %s: %v", url, resp.Status, body, err)
	}
}

// until waits for a state.
func (d *dispatcher) until(what string, fits func(registry.State) bool) registry.State {
	d.t.Helper()
	var last registry.State
	defer func() {
		if d.t.Failed() {
			d.t.Logf("the last state: %+v", last)
		}
	}()
	await(d.t, what, func() bool { last = d.state(); return fits(last) })
	return last
}

// ready waits until clients are served.
func (d *dispatcher) ready() *dispatcher {
	d.t.Helper()
	d.until("the dispatcher is ready", func(s registry.State) bool { return s.Ready })
	return d
}

// text is output that is read while it is written.
type text struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (x *text) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.buf.Write(p)
}

func (x *text) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.buf.String()
}

// last gives the last n lines.
func (x *text) last(n int) string {
	lines := strings.SplitAfter(x.String(), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "")
}
