// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"

	"toolgate.dev/toolgate/test/dataplane/serving"
)

// TestOneShotSessions begins sessions, makes one call in each and ends them: 1,000 by make soak, and fewer in make test. Each has
// a process of its own, and nothing is left of any.
func TestOneShotSessions(t *testing.T) {
	sessions := 50
	if os.Getenv("SOAK") != "" {
		sessions = 1000
	}
	accounts, s := newAccounts(), overStdio(t)
	d, err := serving.StartAudited(accounts, binaries.dispatcher, document(t, s), s.flags...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Stop() }() // where the test has failed before
	if err := d.Ready(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, d.Log)
	}
	oneShots(t, d, 2*callers)
	rested := rest(t, d, usage{})
	oneShots(t, d, sessions)
	after := rest(t, d, rested)
	t.Logf("%d sessions of one call each; at rest before: %v, after: %v", sessions, rested, after)
	end(t, d, accounts)
}

// oneShots carries out so many sessions, some at once.
func oneShots(t *testing.T, d *serving.Dispatcher, sessions int) {
	t.Helper()
	left := make(chan int, sessions)
	for i := range sessions {
		left <- i
	}
	close(left)
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			c := &caller{url: d.MCP + "/mcp", keepsSession: true, answered: answered.of(d)}
			for i := range left {
				if err := c.oneShot(); err != nil {
					t.Errorf("session %d: %v", i, err)
				}
			}
		})
	}
	group.Wait()
}

// oneShot is one session with one call.
func (c *caller) oneShot() error {
	if err := c.begin(); err != nil || c.session == "" {
		return fmt.Errorf("no session began: %w", err)
	}
	defer c.end()
	status, body, _, err := c.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work","arguments":{}}}`)
	if err != nil || status != http.StatusOK {
		return fmt.Errorf("the call was answered by %d %s: %w", status, body, err)
	}
	c.answered.Add(1)
	return nil
}
