// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/dispatcher/dispatchertest"
	"toolgate.dev/toolgate/internal/dispatcher/explain"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/rest"
	"toolgate.dev/toolgate/internal/registry"
)

const listed = `[` + dispatchertest.Echo + `,` + dispatchertest.Remove + `]`

// TestOffline: the word is that of a dispatcher with this document before a server that lists these tools.
func TestOffline(t *testing.T) {
	for name, tc := range map[string]struct {
		tools, tool, arguments string
		edit                   func(*registry.Document)
		revision               string
		want                   rest.Verdict
		wantReason             string
		wantErr                string
	}{
		"a tool that reads":                                  {tools: listed, tool: "echo", arguments: `{"text":"x"}`, want: rest.VerdictAllow},
		"by its qualified name":                              {tools: listed, tool: "my_files.echo", arguments: `{"text":"x"}`, want: rest.VerdictAllow},
		"a result of tools/list":                             {tools: `{"tools":` + listed + `}`, tool: "echo", arguments: `{"text":"x"}`, want: rest.VerdictAllow},
		"a whole response":                                   {tools: `{"jsonrpc":"2.0","id":1,"result":{"tools":` + listed + `}}`, tool: "echo", arguments: `{"text":"x"}`, want: rest.VerdictAllow},
		"no arguments, where some must be":                   {tools: listed, tool: "echo", want: rest.VerdictDeny, wantReason: "InvalidArguments"},
		"a tool that destroys":                               {tools: listed, tool: "remove", arguments: `{"path":"/"}`, want: rest.VerdictDeny, wantReason: "Untrusted"},
		"a tool that destroys, on trust":                     {tools: listed, tool: "remove", arguments: `{"path":"/"}`, edit: func(d *registry.Document) { d.Policy.Trust.Trusted = true }, want: rest.VerdictAllow},
		"a key that is there twice":                          {tools: listed, tool: "echo", arguments: `{"text":"x","text":"y"}`, want: rest.VerdictDeny, wantReason: "NotStrictJSON"},
		"arguments larger than a request":                    {tools: listed, tool: "echo", arguments: `{"text":"` + strings.Repeat("x", 2000) + `"}`, edit: func(d *registry.Document) { d.Policy.Limits.MaxRequestBytes = 1024 }, want: rest.VerdictDeny, wantReason: "NotStrictJSON"},
		"arguments larger than a request that names no size": {tools: listed, tool: "echo", arguments: `{"text":"` + strings.Repeat("x", 5<<20) + `"}`, edit: func(d *registry.Document) { d.Policy.Limits.MaxRequestBytes = 0 }, want: rest.VerdictDeny, wantReason: "NotStrictJSON"},
		"its revision by name":                               {tools: listed, tool: "echo", arguments: `{"text":"x"}`, revision: dispatchertest.Revision, want: rest.VerdictAllow},
		"a revision that is none":                            {tools: listed, tool: "echo", revision: "r9", wantErr: `"r9" is not one of the registry document: r1`},
		"no revision, where there are several":               {tools: listed, tool: "echo", edit: func(d *registry.Document) { d.Revisions["r0"] = registry.Revision{} }, wantErr: "r0, r1"},
		"a list that is no list":                             {tools: `{"tools":{}}`, tool: "echo", wantErr: "no array of tools"},
		"an error in place of a list":                        {tools: `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}`, tool: "echo", wantErr: "no array of tools"},
		"a list that is no JSON":                             {tools: `[`, tool: "echo", wantErr: "the list of tools"},
	} {
		t.Run(name, func(t *testing.T) {
			doc := dispatchertest.Document(dispatchertest.NewServer(dispatchertest.Echo, dispatchertest.Remove))
			if tc.edit != nil {
				tc.edit(doc)
			}
			call := explain.Call{Tool: tc.tool}
			if tc.arguments != "" {
				call.Arguments = []byte(tc.arguments)
			}
			got, err := explain.Offline(doc, tc.revision, []byte(tc.tools), call, time.Unix(1_800_000_000, 0))
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("got %v, want %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Verdict != tc.want || got.Reason != tc.wantReason || len(got.Stages) == 0 {
				t.Errorf("got %+v, want %s %s", got, tc.want, tc.wantReason)
			}
		})
	}
}

// TestRemote: the dispatcher gets the name and the arguments as they are, wherever its URL points.
func TestRemote(t *testing.T) {
	for name, tc := range map[string]struct{ path, tool, arguments, want string }{
		"its root":                    {"", "t", `{"a":1}`, `{"tool_name":"t","arguments":{"a":1}}`},
		"with a slash":                {"/", "t", `{"a":1}`, `{"tool_name":"t","arguments":{"a":1}}`},
		"where MCP clients go":        {"/mcp", "t", ``, `{"tool_name":"t","arguments":{}}`},
		"behind a path":               {"/team/mcp/", "t", `{"n":9007199254740993}`, `{"tool_name":"t","arguments":{"n":9007199254740993}}`},
		"a name that is no plain one": {"", "a\"b\\\n", `{}`, `{"tool_name":"a\"b\\\n","arguments":{}}`},
	} {
		t.Run(name, func(t *testing.T) {
			var path, body string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				data, _ := io.ReadAll(r.Body)
				path, body = r.URL.Path, string(data)
				_ = json.NewEncoder(w).Encode(rest.Evaluation{ToolName: "t", Verdict: rest.VerdictConfirm})
			}))
			defer server.Close()
			call := explain.Call{Tool: tc.tool}
			if tc.arguments != "" {
				call.Arguments = []byte(tc.arguments)
			}
			got, err := explain.Remote(t.Context(), server.Client(), server.URL+tc.path, call)
			if err != nil || got.Verdict != rest.VerdictConfirm {
				t.Fatalf("got %+v, %v", got, err)
			}
			want := strings.TrimSuffix(strings.TrimSuffix(tc.path, "/"), "/mcp") + "/api/mcp/rules/evaluate"
			if diff := cmp.Diff([]string{want, tc.want}, []string{path, body}); diff != "" {
				t.Errorf("what the dispatcher was asked (-want +got):\n%s", diff)
			}
		})
	}
}

// Every stage has words for people, and every verdict a headline that none of the others has.
func TestText(t *testing.T) {
	for _, stage := range []policy.Stage{policy.StageParse, policy.StageLimits, policy.StageMethod, policy.StageTool, policy.StagePin, policy.StageState,
		policy.StageArguments, policy.StageGate, policy.StageRules, policy.StageConfirm, policy.StageUpstream, policy.StageOutput} {
		text := explain.Text(rest.Evaluation{Stages: []policy.StageResult{{Stage: stage, Verdict: policy.Pass}}})
		if !strings.HasSuffix(text, "?\n") {
			t.Errorf("%s has no words: %q", stage, text)
		}
	}
	for name, tc := range map[string]struct {
		evaluation rest.Evaluation
		want       string
	}{
		"allowed":   {rest.Evaluation{ToolName: "t", Verdict: rest.VerdictAllow}, "t: the call would be let through\n\n"},
		"confirmed": {rest.Evaluation{ToolName: "t", Verdict: rest.VerdictConfirm}, "t: the call would wait for a person to confirm it\n\n"},
		"refused": {
			rest.Evaluation{ToolName: "t", Verdict: rest.VerdictDeny, Kind: policy.ParseError, Reason: "R",
				Stages: []policy.StageResult{{Stage: policy.StageParse, Verdict: policy.Refuse, Message: "one\ntwo"}}},
			"t: the call would be refused (" + string(policy.ParseError) + ", R)\n\n  parse         refuse  is it strict JSON?\n" +
				strings.Repeat(" ", 24) + "one\n" + strings.Repeat(" ", 24) + "two\n",
		},
		"not known": {rest.Evaluation{ToolName: "t", Verdict: "maybe"}, "t: the verdict is \"maybe\", which is not known here\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, explain.Text(tc.evaluation)); diff != "" {
				t.Errorf("the text (-want +got):\n%s", diff)
			}
		})
	}
}
