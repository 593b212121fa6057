// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"toolgate.dev/toolgate/test/dataplane/serving"
)

// TestServer lets the suite speak to the dispatcher as a client does. The everything-server behind it is the best that there
// is: alone it passes every scored scenario of both revisions, with sessions at the earlier one and without at the later.
func TestServer(t *testing.T) {
	for name, tc := range map[string]struct {
		revision string
		source   func(t *testing.T) (init, serve []string)
	}{
		"2025-11-25 before stdio": {"2025-11-25", overStdio},
		"2026-07-28 before stdio": {"2026-07-28", overStdio},
		"2025-11-25 before HTTP":  {"2025-11-25", func(t *testing.T) ([]string, []string) { return overHTTP(t, "-stateless=false") }},
		"2026-07-28 before HTTP":  {"2026-07-28", func(t *testing.T) ([]string, []string) { return overHTTP(t, "-stateless") }},
	} {
		t.Run(name, func(t *testing.T) {
			init, serve := tc.source(t)
			url := dispatcher(t, init, serve)
			folder := filepath.Join(results, shellSafe(t.Name()))
			// The suite wants localhost by name, and asks for 4xx at every other.
			output := carryOut(t, suite("server", "--url", strings.Replace(url, "127.0.0.1", "localhost", 1), "--requirements", tc.revision, "-o", folder))
			report(t, folder, parse(output))
		})
	}
}

func overStdio(*testing.T) (init, serve []string) {
	return []string{"--", binaries.server}, []string{"--stdio", "--", binaries.server}
}

// overHTTP starts the everything-server, and ends it with the test.
func overHTTP(t *testing.T, flag string) (init, serve []string) {
	t.Helper()
	address := freeAddress(t)
	server := exec.Command(binaries.server, "-http", address, flag)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill() // an error is that it has ended
		_ = server.Wait()         // it was killed
	})
	awaitListening(t, address)
	return []string{"--url", "http://" + address + "/mcp"}, nil
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

func awaitListening(t *testing.T, address string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 3000 {
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close() // nothing was sent
			return
		}
		<-tick.C
	}
	t.Fatalf("nobody listens at %s", address)
}

// dispatcher starts one before a server, and gives the URL of MCP there.
func dispatcher(t *testing.T, init, serve []string) string {
	t.Helper()
	file, err := document(t.TempDir(), init...)
	if err != nil {
		t.Fatal(err)
	}
	d, err := serving.Start(binaries.dispatcher, file, serve...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the dispatcher's log:\n%s", d.Log.Last(20))
		}
	})
	if err := d.Ready(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, d.Log)
	}
	return d.MCP + "/mcp"
}

// carryOut runs the suite and gives what it printed, which is kept beside its results. That scenarios failed is no error: the
// report says which.
func carryOut(t *testing.T, command []string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(results, shellSafe(t.Name())+".log"), out.Bytes(), 0o600); err != nil {
		t.Error(err)
	}
	return out.String()
}
