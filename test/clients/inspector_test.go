// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/registry"
)

// TestInspector lists and calls with the Inspector's command line, in both eras and without a dispatcher.
func TestInspector(t *testing.T) {
	succeeded := 0
	for name, s := range servers(t) {
		if t.Run(name, func(t *testing.T) { inspect(t, s) }) && !s.fails {
			succeeded++
		}
	}
	if t.Logf("%d servers whose successful results are equal with and without a dispatcher, in both eras", succeeded); succeeded < 10 {
		t.Error("ten are wanted")
	}
}

func inspect(t *testing.T, s server) {
	command := s.command()
	url := serve(t, registry.IsolationSession, command...)
	list, call := []string{"--method", "tools/list"}, []string{"--method", "tools/call", "--tool-name", s.tool, "--tool-args-json", s.arguments}
	listed, _ := inspector(t, slices.Concat(command, list)...)
	want := directly(t, s, "legacy", call)
	for _, era := range []string{"legacy", "modern"} {
		through := []string{"--server-url", url, "--transport", "http", "--protocol-era", era}
		got, log := inspector(t, slices.Concat(through, list)...)
		defined, seen := tools(t, listed, era == "modern"), tools(t, got, era == "modern")
		if era == "modern" {
			// The Inspector itself orders the members of schemas in another way in this era. Some servers list more to clients
			// that can be asked, which without a session is known of each call alone: such tools are listed to all.
			maps.DeleteFunc(seen, func(name, _ string) bool { return defined[name] == "" })
			if s.modern {
				want = directly(t, s, era, call)
			}
		}
		if diff := cmp.Diff(defined, seen); diff != "" || len(defined) == 0 {
			t.Errorf("%s: tools (-direct +through):\n%s\n%s", era, diff, log)
		}
		got, log = inspector(t, slices.Concat(through, call)...)
		if diff := cmp.Diff(want, texts(t, got)); diff != "" {
			t.Errorf("%s: %s %s (-direct +through):\n%s\n%s", era, s.tool, s.arguments, diff, log)
		}
	}
}

// directly calls without a dispatcher.
func directly(t *testing.T, s server, era string, call []string) map[string]string {
	t.Helper()
	out, log := inspector(t, slices.Concat(s.command(), []string{"--protocol-era", era}, call)...)
	want := texts(t, out)
	if failed := want["isError"] == "true"; want["content"] == "" || failed != s.fails {
		t.Fatalf("%s, without a dispatcher: %s %s: %s\n%s", era, s.tool, s.arguments, out, log)
	}
	return want
}

// texts gives the bytes of the members of a result that the Inspector printed, but of the one that only one era has.
func texts(t *testing.T, out []byte) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name, value := range result(t, out) {
		if name != "resultType" {
			all[name] = string(value)
		}
	}
	return all
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
