// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"toolgate.dev/toolgate/test/dataplane/serving"
)

// clientArgument makes the test binary the client that the suite starts.
const clientArgument = "conformance-client"

// What the suite and the test tell the client by its environment.
const (
	scenarioVariable   = "MCP_CONFORMANCE_SCENARIO"
	dispatcherVariable = "TOOLGATE_DISPATCHER"
	clientVariable     = "TOOLGATE_EVERYTHING_CLIENT"
)

// authorization begins the names of scenarios about OAuth. They are not run through a dispatcher: a client that finds the
// authorization server of another URL than the one it used must not go on (RFC 9728, section 3.3), and a proxy must not pass
// a client's token to another resource (MCP, Authorization, Token Handling). Who may call is between each pair of neighbours.
const authorization = "auth/"

// TestClient lets the everything-client do what each scenario asks, with a dispatcher between it and the suite's server.
func TestClient(t *testing.T) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			t.Setenv(dispatcherVariable, binaries.dispatcher)
			t.Setenv(clientVariable, binaries.client)
			folder := filepath.Join(results, shellSafe(t.Name()))
			output := carryOut(t, suite("client", "--command", binaries.self+" "+clientArgument, "--requirements", revision,
				"--timeout", "60000", "-o", folder))
			var through []*scenario
			left := 0
			for _, s := range parse(output) {
				if strings.HasPrefix(s.name, authorization) {
					left++
					continue
				}
				through = append(through, s)
			}
			report(t, folder, through)
			t.Logf("%d scenarios about OAuth were left out: they are between a client and the server it calls itself", left)
		})
	}
}

// runClient is the client that the suite starts with its server's URL: a dispatcher before that, and the everything-client
// before the dispatcher.
func runClient(url string) (exit int) {
	if strings.HasPrefix(os.Getenv(scenarioVariable), authorization) {
		return 0
	}
	binaries.dispatcher, binaries.client = os.Getenv(dispatcherVariable), os.Getenv(clientVariable)
	if err := clientThrough(url); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func clientThrough(url string) error {
	folder, err := os.MkdirTemp("", "conformance-client-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // a folder of temporary files
	file, err := document(folder, "--url", url)
	if err != nil {
		return err
	}
	d, err := serving.Start(binaries.dispatcher, file)
	if err != nil {
		return err
	}
	defer func() {
		if err := d.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		fmt.Fprint(os.Stderr, d.Log)
	}()
	if err := d.Ready(context.Background()); err != nil {
		return err
	}
	client := exec.Command(binaries.client, d.MCP+"/mcp")
	client.Stdout, client.Stderr = os.Stdout, os.Stderr
	return client.Run()
}
