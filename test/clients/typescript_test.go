// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/test/dataplane/asking"
)

// step is a call that a client makes, and what it wants of it.
type step struct {
	Tool      string `json:"tool"`
	Arguments any    `json:"arguments,omitempty"`
	Progress  bool   `json:"progress,omitempty"`
	Cancel    bool   `json:"cancel,omitempty"`

	says  string // part of the answer
	asked string // what the server asks meanwhile
}

// outcome is what came of a step.
type outcome struct {
	Text, Error string
	IsError     bool
	Progress    int
	Asked       []string
}

// TestTypeScriptClients lets clients of both generations and eras use a server of each era: tools, elicitation, sampling,
// progress and cancellation.
func TestTypeScriptClients(t *testing.T) {
	legacy := []step{
		{Tool: "echo", Arguments: map[string]any{"message": "hi"}, says: "Echo: hi"},
		{Tool: "trigger-elicitation-request", says: "Ada", asked: "elicitation/create"},
		{Tool: "trigger-sampling-request", Arguments: map[string]any{"prompt": "x", "maxTokens": 10}, says: "sampled", asked: "sampling/createMessage"},
		{Tool: "trigger-long-running-operation", Arguments: map[string]any{"duration": 1, "steps": 3}, Progress: true, says: "completed"},
		{Tool: "trigger-long-running-operation", Arguments: map[string]any{"duration": 30, "steps": 60}, Cancel: true},
		{Tool: "echo", Arguments: map[string]any{"message": "after"}, says: "Echo: after"},
	}
	modern := []step{
		{Tool: "test_simple_text", says: "simple text"},
		{Tool: "test_input_required_result_elicitation", says: "Ada", asked: "elicitation/create"},
		{Tool: "test_input_required_result_sampling", says: "sampled", asked: "sampling/createMessage"},
		{Tool: "test_tool_with_progress", Progress: true},
	}
	one := []step{
		{Tool: "slow", Cancel: true},
		{Tool: "greet", says: "Ada", asked: "elicitation/create"},
	}
	record := filepath.Join(t.TempDir(), "ran")
	everything := []string{node(), os.Getenv("TOOLGATE_NPM") + "/everything/node_modules/.bin/mcp-server-everything", "stdio"}
	for server, tc := range map[string]struct {
		command   []string
		isolation registry.Isolation
		steps     []step
	}{
		"a legacy server": {everything, registry.IsolationSession, legacy},
		// A shared connection to a server of both eras is a modern one.
		"a modern server": {[]string{binaries.everything}, registry.IsolationShared, modern},
		// These two speak nothing else, and tell of calls that were given up.
		"a server of the legacy era alone": {asking.Command(binaries.self, asking.Legacy, record), registry.IsolationSession, one},
		"a server of the modern era alone": {asking.Command(binaries.self, asking.Modern, record), registry.IsolationSession, one},
	} {
		url := serve(t, tc.isolation, tc.command...)
		for _, kind := range []string{"v1", "legacy", "modern"} {
			t.Run(kind+" before "+server, func(t *testing.T) {
				_ = os.Remove(record) // if there is one
				drive(t, kind, url, tc.steps)
				if tc.steps[0].Tool == "slow" {
					toldOf(t, record, "slow was given up")
				}
			})
		}
	}
}

// toldOf waits for a server to note something: it may hear of it after the client has gone on.
func toldOf(t *testing.T, record, want string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	bound := time.After(time.Minute)
	for {
		got, err := os.ReadFile(record)
		if err == nil && strings.Contains(string(got), want) {
			return
		}
		select {
		case <-tick.C:
		case <-bound:
			t.Fatalf("the server has noted %q, %v; want %q", got, err, want)
		}
	}
}

func drive(t *testing.T, kind, url string, steps []step) {
	sdk := map[bool]string{true: "sdk-v1", false: "sdk-v2"}[kind == "v1"]
	script, err := filepath.Abs("testdata/drive.mjs")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(steps)
	if err != nil {
		t.Fatal(err)
	}
	out, log := carryOut(t, node(), script, installed(sdk), kind, url, string(text))
	var got struct {
		Listed int
		Steps  []outcome
	}
	if err := json.Unmarshal(out, &got); err != nil || len(got.Steps) != len(steps) || got.Listed < 10 {
		t.Fatalf("%v: %s\n%.3000s", err, out, log)
	}
	for i, want := range steps {
		o := got.Steps[i]
		switch {
		case want.Cancel:
			if o.Error == "" || o.Progress == 0 {
				t.Errorf("%s was to be cancelled: %+v", want.Tool, o)
			}
		case o.Error != "" || o.IsError || !strings.Contains(o.Text, want.says) || want.Progress && o.Progress == 0 || !strings.Contains(strings.Join(o.Asked, " "), want.asked):
			t.Errorf("%s: %+v, want %q after %q", want.Tool, o, want.says, want.asked)
		}
	}
}
