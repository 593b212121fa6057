// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"testing"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/dispatchertest"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/requests"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/registry"
)

// limited gives the tool echo limits of its own.
func limited(limits registry.ToolLimits) func(*registry.Document) {
	return func(d *registry.Document) {
		tools := d.Revisions[dispatchertest.Revision].Tools
		for i := range tools {
			if tools[i].Name == "echo" {
				tools[i].Limits = limits
			}
		}
	}
}

func TestAToolMayBeCalledSoOftenByEachCaller(t *testing.T) {
	f := newFixture(t, limited(registry.ToolLimits{RequestsPerMinute: 2}))
	for i, want := range []string{"", "SchemaViolation", "RequestsPerMinute"} {
		arguments := `{"text":"x"}`
		if i == 1 {
			arguments = `{}` // a refused call costs as much
		}
		a := f.call("echo", arguments)
		switch {
		case want == "" && a.Refusal != nil:
			t.Fatalf("refused: %+v", a.Refusal)
		case want != "" && a.Refusal == nil:
			t.Fatalf("call %d was let through", i)
		case i == 2 && (a.Refusal.Reason != want || a.Refusal.Kind != policy.RateLimited || a.Refusal.Tool != "echo"):
			t.Fatalf("refused otherwise: %+v", a.Refusal)
		}
	}
	if a := f.call("plain", `{}`); reason(a) == "RequestsPerMinute" {
		t.Error("another tool pays for it")
	}
	other := f.Do(context.Background(), &requests.Request{
		Call:   policy.Call{Method: "tools/call", Tool: "echo", Arguments: []byte(`{"text":"x"}`), ProtocolVersion: "2025-11-25"},
		Params: []byte(`{"name":"echo","arguments":{"text":"x"}}`), Source: f, Caller: requests.Caller{Address: "10.0.0.2"},
	})
	if other.Refusal != nil {
		t.Errorf("another caller pays for it: %+v", other.Refusal)
	}
	f.now = f.now.Add(time.Minute)
	if a := f.call("echo", `{"text":"x"}`); a.Refusal != nil {
		t.Errorf("refused a minute later: %+v", a.Refusal)
	}
}

func TestAToolMayBeUnderWaySoManyTimes(t *testing.T) {
	f := newFixture(t, limited(registry.ToolLimits{MaxConcurrent: 1}))
	within := ""
	f.server.Answer = func(context.Context, *dispatchertest.Conn, upstream.Call) (upstream.Reply, error) {
		if within == "" {
			within = "asked"
			within = reason(f.call("echo", `{"text":"y"}`))
		}
		return upstream.Reply{Result: []byte(`{"content":[]}`)}, nil
	}
	if a := f.call("echo", `{"text":"x"}`); a.Refusal != nil {
		t.Fatalf("refused: %+v", a.Refusal)
	}
	if within != "MaxConcurrent" {
		t.Errorf("a second one within the first: %q", within)
	}
	if a := f.call("echo", `{"text":"x"}`); a.Refusal != nil {
		t.Errorf("refused after the first has ended: %+v", a.Refusal)
	}
}
