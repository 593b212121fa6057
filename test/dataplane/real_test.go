// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// exchange is one request and its params; SERVER-FOLDER stands for a folder that the server may use.
type exchange struct{ method, params string }

func toolCall(tool, arguments string) exchange {
	return exchange{"tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments)}
}

// TestRealServers compares what real servers answer through the dispatcher, byte by byte, with what they answer directly.
// Each has a registry document that `registry init` has written.
func TestRealServers(t *testing.T) {
	shared := t.TempDir()
	if err := os.WriteFile(filepath.Join(shared, "a.txt"), []byte("one\r\ntwo\u2028\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	inShared := func(tool, format string) exchange { return toolCall(tool, fmt.Sprintf(format, shared)) }
	for name, tc := range map[string]struct {
		command   func(t *testing.T) []string
		exchanges []exchange
		wrong     exchange // a call with arguments that do not fit
	}{
		"everything": {
			command: func(t *testing.T) []string { return everything(t, "stdio") },
			exchanges: []exchange{
				toolCall("echo", "{\"message\":\"h\u00e9\u00a0llo \\u2028 👩\u200d👧 \\u0000\"}"),
				toolCall("get-sum", `{"a":1.50,"b":-0}`),
				toolCall("get-tiny-image", `{}`),
				toolCall("get-annotated-message", `{"messageType":"error","includeImage":true}`),
				toolCall("get-structured-content", `{"location":"Chicago"}`),
				toolCall("get-resource-links", `{"count":4}`),
				{"prompts/list", `{}`}, {"prompts/get", `{"name":"simple-prompt"}`},
				{"prompts/get", `{"name":"args-prompt","arguments":{"city":"Wien","state":"W"}}`},
				{"resources/list", `{}`}, {"resources/templates/list", `{}`},
				{"completion/complete", `{"ref":{"type":"ref/prompt","name":"completable-prompt"},"argument":{"name":"department","value":"S"}}`},
			},
			wrong: toolCall("get-structured-content", `{"location":"Wien"}`),
		},
		"filesystem": {
			command: func(t *testing.T) []string { return npm(t, "filesystem", "mcp-server-filesystem", shared) },
			exchanges: []exchange{
				toolCall("list_allowed_directories", `{}`),
				inShared("write_file", `{"path":"%s/b.txt","content":"\u00a0 \u2028 x"}`),
				inShared("list_directory", `{"path":"%s"}`), inShared("read_text_file", `{"path":"%s/a.txt"}`), inShared("read_text_file", `{"path":"%s/b.txt"}`),
				toolCall("read_text_file", `{"path":"/etc/hostname"}`), // refused by the server itself
			},
			wrong: inShared("read_text_file", `{"file":"%s/a.txt"}`),
		},
		"memory": {
			command: func(t *testing.T) []string {
				file := filepath.Join(t.TempDir(), "memory.jsonl")
				return append([]string{"/usr/bin/env", "MEMORY_FILE_PATH=" + file}, npm(t, "memory", "mcp-server-memory")...)
			},
			exchanges: []exchange{
				toolCall("create_entities", `{"entities":[{"name":"Ada","entityType":"person","observations":["first"]},{"name":"Bob","entityType":"person","observations":[]}]}`),
				toolCall("create_relations", `{"relations":[{"from":"Ada","to":"Bob","relationType":"knows"}]}`),
				toolCall("read_graph", `{}`), toolCall("search_nodes", `{"query":"ada"}`), toolCall("delete_entities", `{"entityNames":["Bob"]}`), toolCall("read_graph", `{}`),
			},
			wrong: toolCall("create_entities", `{"entities":[{"name":"Ada"}]}`),
		},
		"sequential-thinking": {
			command: func(t *testing.T) []string { return npm(t, "sequential-thinking", "mcp-server-sequential-thinking") },
			exchanges: []exchange{
				toolCall("sequentialthinking", `{"thought":"one","nextThoughtNeeded":true,"thoughtNumber":1,"totalThoughts":2}`),
				toolCall("sequentialthinking", `{"thought":"two","nextThoughtNeeded":false,"thoughtNumber":2,"totalThoughts":2}`),
			},
			wrong: toolCall("sequentialthinking", `{"thought":"one","nextThoughtNeeded":true,"thoughtNumber":0,"totalThoughts":2}`),
		},
		"time, which prints a banner": {
			command: func(t *testing.T) []string { return npm(t, "time", "time-mcp") },
			exchanges: []exchange{
				toolCall("days_in_month", `{"date":"2026-02-01"}`),
				toolCall("convert_time", `{"sourceTimezone":"Asia/Shanghai","targetTimezone":"Europe/London","time":"2026-01-02 03:04:05"}`),
				toolCall("get_week_year", `{"date":"2026-11-28"}`),
			},
			wrong: toolCall("convert_time", `{"time":"2026-01-02 03:04:05"}`),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := tc.command(t)
			doc := initialized(t, append([]string{"--"}, command...)...)
			oracle := speakTo(t, tc.command(t)) // with a memory of its own
			s := serve(t, doc, command...).ready().session(latest)
			checkTools(t, oracle, s)
			for _, e := range tc.exchanges {
				want := oracle.ask(e.method, e.params)
				a := s.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, s.ids.Add(1), e.method, e.params))
				if string(a.Result) != string(want) {
					t.Errorf("%s %s:\n%s\nwant\n%s", e.method, e.params, a.body, want)
				}
			}
			a := s.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, s.ids.Add(1), tc.wrong.method, tc.wrong.params))
			if r := a.refusal(); r.Kind != "SchemaError" || len(r.Violations) == 0 {
				t.Errorf("%s: %s", tc.wrong.params, a.body)
			}
			t.Logf("%d answers equal to those without a dispatcher", len(tc.exchanges))
		})
	}
}

// checkTools compares tools/list with the server's own.
func checkTools(t *testing.T, oracle *direct, s *client) {
	t.Helper()
	var list struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(oracle.ask("tools/list", `{}`), &list); err != nil {
		t.Fatal(err)
	}
	want := map[string]json.RawMessage{}
	for _, d := range list.Tools {
		if !taskRequired(t, d) {
			want[nameOf(t, d)] = d
		}
	}
	names, got := s.tools()
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), names); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	for _, name := range names {
		sameDefinition(t, want[name], got[name])
	}
}
