// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"io"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/test/dataplane/scripted"
)

// launch starts a launcher, and ends it with the test. The function kills it at once.
func launch(t *testing.T, socket string, command []string) (kill func()) {
	t.Helper()
	cmd := exec.Command(binaries.dispatcher, append([]string{"launch", "--socket", socket, "--"}, command...)...)
	cmd.Stderr = io.Discard
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it is killed, or ends by its signal
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // an error is that it has ended
		<-ended
	})
	return func() { _ = cmd.Process.Kill(); <-ended }
}

// TestThroughTheLauncher runs both halves of a stdio server's pod: the launcher, and a dispatcher that knows its socket. The
// launcher comes late, dies, and comes back, as the server's container may.
func TestThroughTheLauncher(t *testing.T) {
	c := newChild(t, scripted.Good, greet)
	socket := filepath.Join(t.TempDir(), "launch.sock")
	d := serveWith(t, write(t, document(t, c.definitions()...)), "--revision", revision, "--launch-socket", socket)
	d.until("the state says what is missing", func(s registry.State) bool { return !s.Ready && s.Upstream.Reason == registry.FailStart })

	kill := launch(t, socket, c.command())
	d.ready()
	s := d.session(latest)
	if a := s.call("greet", `{"name":"x"}`); !a.good() {
		t.Errorf("a call: %s", a.body)
	}
	kill()
	d.until("the loss is noticed", func(s registry.State) bool { return !s.Ready && s.Upstream.Reason == registry.FailStart })
	await(t, "the session is gone", func() bool { return s.call("greet", `{"name":"x"}`).status == 404 })
	if a := d.anonymous().call("greet", `{"name":"x"}`); a.refusal().Kind != "TransportError" {
		t.Errorf("a call without a launcher: %s", a.body)
	}

	launch(t, socket, c.command())
	d.ready()
	if a := d.session(latest).call("greet", `{"name":"x"}`); !a.good() {
		t.Errorf("a call after the launcher came back: %s", a.body)
	}
	d.stop()
	await(t, "no process is left", func() bool { return len(processes(t, c)) == 0 })
}
