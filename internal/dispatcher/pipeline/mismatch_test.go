// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/dispatcher/dispatchertest"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
)

// TestAMismatchOfHeadersIsTriedOnceMore lets a server refuse a call because it has another definition of the tool than the
// connection knew. The call is decided on again before it is sent again.
func TestAMismatchOfHeadersIsTriedOnceMore(t *testing.T) {
	another := strings.Replace(dispatchertest.Echo, "Says it again.", "Says it again, and more.", 1)
	for name, tc := range map[string]struct {
		era        upstream.Era
		mismatches int
		becomes    string
		wantCalls  int
		wantReason string
		wantError  bool
	}{
		"the second try succeeds":           {era: upstream.Modern, mismatches: 1, wantCalls: 2},
		"there is no third":                 {era: upstream.Modern, mismatches: 9, wantCalls: 2, wantError: true},
		"the definition is not admitted":    {era: upstream.Modern, mismatches: 1, becomes: another, wantCalls: 1, wantReason: "DefinitionChanged"},
		"the tool is gone":                  {era: upstream.Modern, mismatches: 1, becomes: dispatchertest.Plain, wantCalls: 1, wantReason: "Gone"},
		"older servers mean something else": {era: upstream.Legacy, mismatches: 1, wantCalls: 1, wantError: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, nil)
			f.server.Said.Era = tc.era
			calls := 0
			f.server.Answer = func(context.Context, *dispatchertest.Conn, upstream.Call) (upstream.Reply, error) {
				if calls++; calls > tc.mismatches {
					return upstream.Reply{Result: []byte(`{"content":[]}`)}, nil
				}
				if tc.becomes != "" {
					f.server.Definitions[0] = tc.becomes
				}
				return upstream.Reply{Error: &jsonrpc.Error{Code: -32020, Message: "mismatch"}}, nil
			}
			f.Discovery = dispatchertest.NewServer(dispatchertest.Echo, dispatchertest.Remove, dispatchertest.Plain)
			answer := f.call("echo", `{"text":"x"}`)
			if calls != tc.wantCalls || reason(answer) != tc.wantReason || (answer.Error != nil) != tc.wantError {
				t.Errorf("%d calls, %q, %+v; want %d and %q", calls, reason(answer), answer.Error, tc.wantCalls, tc.wantReason)
			}
		})
	}
}
