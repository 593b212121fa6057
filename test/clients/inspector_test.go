// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/registry"
)

// server is a real server from npm, and one call that needs no network. Arguments that do not fit show that a server without
// such a call is called at all: the dispatcher refuses them, and nothing reaches the server.
type server struct {
	program   string
	args      []string
	tool      string
	arguments string
	misfit    bool
}

// TestInspector lists and calls with the Inspector's command line, in both eras and without a dispatcher.
func TestInspector(t *testing.T) {
	more, extra := os.Getenv("TOOLGATE_NPM"), os.Getenv("TOOLGATE_CLIENTS")
	shared := t.TempDir()
	for name, s := range map[string]server{
		"everything":          {more + "/everything/node_modules/.bin/mcp-server-everything", []string{"stdio"}, "echo", `{"message":"h\u00e9 \u2028 👩\u200d👧"}`, false},
		"filesystem":          {more + "/filesystem/node_modules/.bin/mcp-server-filesystem", []string{shared}, "list_allowed_directories", `{}`, false},
		"memory":              {more + "/memory/node_modules/.bin/mcp-server-memory", nil, "search_nodes", `{"query":"nobody-has-this-name"}`, false},
		"sequential-thinking": {more + "/sequential-thinking/node_modules/.bin/mcp-server-sequential-thinking", nil, "sequentialthinking", `{"thought":"one","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}`, false},
		"time":                {more + "/time/node_modules/.bin/time-mcp", nil, "days_in_month", `{"date":"2026-02-01"}`, false},
		"eslint":              {extra + "/eslint/node_modules/.bin/mcp", nil, "lint-files", `{"filePaths":[]}`, true},
		"commands":            {extra + "/commands/node_modules/.bin/mcp-server-commands", nil, "run_command", `{"workdir":5}`, true},
		"git":                 {extra + "/git/node_modules/.bin/git-mcp-server", nil, "git_log", `{"path":7}`, true},
		"context7":            {extra + "/context7/node_modules/.bin/context7-mcp", nil, "query-docs", `{}`, true},
		"notion":              {extra + "/notion/node_modules/.bin/notion-mcp-server", nil, "API-get-user", `{}`, true},
		"chart":               {extra + "/chart/node_modules/.bin/mcp-server-chart", nil, "generate_bar_chart", `{}`, true},
		"playwright":          {extra + "/playwright/node_modules/.bin/playwright-mcp", nil, "browser_close", `{}`, false},
	} {
		t.Run(name, func(t *testing.T) { inspect(t, s) })
	}
}

func inspect(t *testing.T, s server) {
	command := append([]string{node(), s.program}, s.args...)
	url := serve(t, registry.IsolationSession, command...)
	call := []string{"--method", "tools/call", "--tool-name", s.tool, "--tool-args-json", s.arguments}
	listed, _ := inspector(t, append(slices.Clone(command), "--method", "tools/list")...)
	for _, era := range []string{"legacy", "modern"} {
		through := []string{"--server-url", url, "--transport", "http", "--protocol-era", era}
		got, log := inspector(t, append(slices.Clone(through), "--method", "tools/list")...)
		want, seen := tools(t, listed, era == "modern"), tools(t, got, era == "modern")
		if era == "modern" {
			// The Inspector itself orders the members of schemas in another way in this era. Some servers list more to clients
			// that can be asked, which without a session is known of each call alone: such tools are listed to all.
			maps.DeleteFunc(seen, func(name, _ string) bool { return want[name] == "" })
		}
		if diff := cmp.Diff(want, seen); diff != "" || len(want) == 0 {
			t.Errorf("%s: tools (-direct +through):\n%s\n%s", era, diff, log)
		}
		got, log = inspector(t, append(slices.Clone(through), call...)...)
		if s.misfit {
			if !strings.Contains(string(got)+string(log), "Invalid arguments for tool") {
				t.Errorf("%s: arguments that do not fit: %s %s", era, got, log)
			}
			continue
		}
		direct, _ := inspector(t, append(slices.Clone(command), call...)...)
		if want, got := string(result(t, direct)["content"]), string(result(t, got)["content"]); got != want || want == "" {
			t.Errorf("%s: %s %s:\n%s\nwithout a dispatcher\n%s", era, s.tool, s.arguments, got, want)
		}
	}
}

func inspector(t *testing.T, args ...string) (stdout, stderr []byte) {
	t.Helper()
	return carryOut(t, append([]string{node(), installed("inspector/node_modules/.bin/mcp-inspector"), "--cli"}, append(args, "--format", "json")...)...)
}

// result gives the members of the result that the Inspector printed.
func result(t *testing.T, out []byte) map[string]json.RawMessage {
	t.Helper()
	var printed struct {
		Result map[string]json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal(out, &printed); err != nil {
		t.Fatalf("%v: %.500s", err, out)
	}
	return printed.Result
}

// tools gives each definition in the Inspector's bytes, by name. What says whether a tool may be a task is not compared: the
// dispatcher does not serve that, nor tools that must be one. Sorted compares values, without the order of members.
func tools(t *testing.T, out []byte, sorted bool) map[string]string {
	t.Helper()
	var list []json.RawMessage
	if err := json.Unmarshal(result(t, out)["tools"], &list); err != nil {
		t.Fatalf("%v: %.500s", err, out)
	}
	all := map[string]string{}
	for _, raw := range list {
		var tool struct {
			Name      string
			Execution json.RawMessage
		}
		if err := json.Unmarshal(raw, &tool); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(tool.Execution), `"required"`) {
			continue
		}
		text := string(raw)
		if tool.Execution != nil {
			text = strings.Replace(text, `,"execution":`+string(tool.Execution), "", 1)
		}
		if all[tool.Name] = text; sorted {
			all[tool.Name] = inOrder(t, text)
		}
	}
	return all
}

// inOrder sorts the members of every object.
func inOrder(t *testing.T, text string) string {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
