// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dataplane tests the dispatcher as its users have it: the real binary with a registry file and no Kubernetes, before
// scripted servers (package scripted) and real ones from npm. It looks at what goes in and comes out, and at nothing between.
//
// The real servers are those of hack/image/npm.sh, whose folder TOOLGATE_NPM names; without it those tests are skipped.
package dataplane

import (
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"toolgate.dev/toolgate/test/dataplane/asking"
	"toolgate.dev/toolgate/test/dataplane/scripted"
	"toolgate.dev/toolgate/test/dataplane/serving"
)

// soon bounds every wait: nothing here takes longer, on the slowest machine, unless it is broken.
const soon = 60 * time.Second

// binaries are what the tests start.
var binaries struct{ dispatcher, self string }

// web is how the tests speak HTTP. Connections are kept.
var web = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: soon}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == scripted.Argument {
		os.Exit(scripted.Main(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == asking.Argument {
		os.Exit(asking.Main(os.Args[2:]))
	}
	if len(os.Args) > 2 && os.Args[1] == relayArgument {
		os.Exit(relay(os.Args[2]))
	}
	os.Exit(run(m))
}

// run runs the tests with the dispatcher that TOOLGATE_DISPATCHER names, such as one that looks for races, or with one that
// it builds.
func run(m *testing.M) int {
	folder, err := os.MkdirTemp("", "dataplane-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder) //nolint:errcheck // a folder of temporary files
	if binaries.self, err = os.Executable(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if binaries.dispatcher, err = serving.Binary(folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	web.CloseIdleConnections()
	return code
}

// await waits until done says true.
func await(t testing.TB, what string, done func() bool) {
	t.Helper()
	bound := time.NewTimer(soon)
	defer bound.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-bound.C:
			t.Fatalf("it did not come about within %s that %s", soon, what)
		case <-tick.C:
		}
	}
}

// must gives a value, or ends the test.
func must[T any](t testing.TB) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
