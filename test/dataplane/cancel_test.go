// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolgate.dev/toolgate/test/dataplane/asking"
)

// TestClientsGiveUp lets clients of both eras hear of the progress of a call to servers of both, and give it up then: the
// server has to know, and what comes afterwards works (G-80, G-81).
func TestClientsGiveUp(t *testing.T) {
	for transport, start := range askingOver {
		for _, era := range []asking.Era{asking.Legacy, asking.Modern} {
			for _, version := range []string{latest, older, modern} {
				t.Run(transport+", server "+string(era)+", client "+version, func(t *testing.T) {
					t.Parallel()
					d, record := start(t, era, open)
					s, h := d.ready().sdk(version)
					giveUp(t, s, h)
					await(t, "the server knows that nobody waits", func() bool { return strings.Contains(record(), "slow was given up") })
					d.recorded("cancelled")
					result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{}})
					if got := said(t, result, err); !strings.Contains(got, "Ada Lovelace") {
						t.Errorf("a call afterwards: %q", got)
					}
				})
			}
		}
	}
}

// giveUp cancels a call without end when the client has heard of its progress.
func giveUp(t *testing.T, s *mcp.ClientSession, h *heard) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	params := &mcp.CallToolParams{Name: "slow", Arguments: map[string]any{}}
	params.SetProgressToken("mine")
	go func() {
		_, err := s.CallTool(ctx, params)
		ended <- err
	}()
	select {
	case got := <-h.progress:
		if got != "mine 1/2" {
			t.Errorf("progress %q", got)
		}
	case err := <-ended:
		t.Fatalf("a call without end has ended: %v", err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call that was given up: %v", err)
	}
}
