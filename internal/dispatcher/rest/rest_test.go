// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/dispatcher/audit"
	"toolgate.dev/toolgate/internal/dispatcher/dispatchertest"
	"toolgate.dev/toolgate/internal/dispatcher/edge"
	"toolgate.dev/toolgate/internal/dispatcher/metrics"
	"toolgate.dev/toolgate/internal/dispatcher/pipeline"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/rules"
)

type anonymous struct{ *dispatchertest.Server }

func (a anonymous) Conn(ctx context.Context) (upstream.Conn, func(), error) { return a.Anonymous(ctx) }

func newHandler(t *testing.T, change func(*registry.Document)) (*Handler, *dispatchertest.Server) {
	t.Helper()
	server := dispatchertest.NewServer(dispatchertest.Echo, dispatchertest.Remove)
	now := func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }
	log := slog.New(slog.DiscardHandler)
	p := pipeline.New(pipeline.Config{Discovery: server, Audit: audit.New(&bytes.Buffer{}), Metrics: metrics.New(), Log: log, Now: now})
	doc := dispatchertest.Document(server)
	if change != nil {
		change(doc)
	}
	p.Apply(dispatchertest.Snapshot(t, doc))
	return New(Config{Pipeline: p, Anonymous: anonymous{server}, Log: log, Now: now, Guard: &edge.Guard{Document: p.Document},
		Health: func() Health {
			return Health{HealthState: registry.HealthState{State: "Healthy", ResponseTimeMs: 4}, Checked: now()}
		}}), server
}

var traceIDs = regexp.MustCompile(`"(trace_id|traceId)":"[0-9a-f]{32}"`)

func ask(h *Handler, method, path, body string) (int, string) {
	r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Header().Get("Content-Type") != "application/json" {
		return w.Code, "Content-Type " + w.Header().Get("Content-Type")
	}
	return w.Code, strings.TrimSuffix(traceIDs.ReplaceAllString(w.Body.String(), `"$1":"{trace}"`), "\n")
}

// TestAListIsDecidedOn by rules, as tools/list is.
func TestAListIsDecidedOn(t *testing.T) {
	h, _ := newHandler(t, func(d *registry.Document) {
		d.RuleSets = []rules.Set{{Name: "limits", Type: rules.TypePolicy, Format: rules.FormatCEL, Broken: "RuleSet limits does not exist", Methods: rules.AnyMethod()}}
	})
	for _, path := range []string{"/api/mcp/tools", "/api/mcp/tools/echo"} {
		if status, body := ask(h, "GET", path, ""); status != http.StatusForbidden || !strings.Contains(body, `"reason":"RuleRejected"`) {
			t.Errorf("%s: %d %s, want 403 and why", path, status, body)
		}
	}
}

// unread is a server whose tools nobody has read yet.
type unread struct{ *dispatchertest.Server }

func (unread) Catalogue() *upstream.Catalogue { return nil }

func TestNoListBeforeTheCatalogueIsRead(t *testing.T) {
	h, server := newHandler(t, nil)
	h.Pipeline.Discovery = unread{server}
	for _, path := range []string{"/api/mcp/tools", "/api/mcp/tools/echo"} {
		status, body := ask(h, "GET", path, "")
		if status != http.StatusBadGateway || !strings.Contains(body, `"reason":"CatalogueNotRead"`) {
			t.Errorf("%s: %d %s, want 502 and why", path, status, body)
		}
	}
}

func TestShapes(t *testing.T) {
	cases := map[string]struct {
		method, path, body string
		wantStatus         int
		want               string
	}{
		"health": {"GET", "/api/mcp/health", "", 200,
			`{"server_id":"my-files","status":"healthy","last_check":"2026-01-02T03:04:05Z","response_time_ms":4,"error_message":null}`},
		"one tool by its own name": {"GET", "/api/mcp/tools/remove", "", 200,
			`{"name":"remove","description":"","inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]},"outputSchema":null,` +
				`"metadata":{"module":"my-files","destructive":true,"deprecated_in":null,"version":null,"cache_ttl":300}}`},
		"an unknown tool": {"GET", "/api/mcp/tools/nope", "", 404,
			`{"error":{"code":"MCP_TOOL_NOT_FOUND","message":"No such tool. GET /api/mcp/tools names those that there are.","details":{"server_id":"my-files","endpoint":"/api/mcp/tools/nope","reason":"UnknownTool","error_type":"ResourceNotFound"},"trace_id":"{trace}","timestamp":"2026-01-02T03:04:05Z"}}`},
		"a call by the qualified name": {"POST", "/api/mcp/tools/invoke", `{"tool_name":"my_files.echo","arguments":{"text":"<&>", "n":9007199254740993}}`, 200,
			`{"status":"success","data":{"name":"echo","arguments":{"text":"<&>", "n":9007199254740993}},"error":null,"explanation":null}`},
		"a call by the plain name": {"POST", "/api/mcp/tools/invoke", `{"tool_name":"echo","arguments":{"text":"x"}}`, 200,
			`{"status":"success","data":{"name":"echo","arguments":{"text":"x"}},"error":null,"explanation":null}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h, _ := newHandler(t, nil)
			status, got := ask(h, tc.method, tc.path, tc.body)
			if diff := cmp.Diff(tc.want, got); diff != "" || status != tc.wantStatus {
				t.Errorf("status %d, want %d; want -, got +:\n%s", status, tc.wantStatus, diff)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	cases := map[string]struct {
		method, path, body string
		wantStatus         int
		wantType           string
	}{
		"wrong arguments":                        {"POST", "/api/mcp/tools/invoke", `{"tool_name":"echo","arguments":{}}`, 422, "ValidationError"},
		"a destructive tool":                     {"POST", "/api/mcp/tools/invoke", `{"tool_name":"remove","arguments":{"path":"/"}}`, 403, "PermissionError"},
		"an unknown tool":                        {"POST", "/api/mcp/tools/invoke", `{"tool_name":"nope","arguments":{}}`, 404, "ResourceNotFound"},
		"a qualified name of another server":     {"POST", "/api/mcp/tools/invoke", `{"tool_name":"other.echo","arguments":{"text":"x"}}`, 404, "ResourceNotFound"},
		"another member":                         {"POST", "/api/mcp/tools/invoke", `{"tool_name":"echo","arguments":{"text":"x"},"extra":1}`, 400, "ValidationError"},
		"a member in another case":               {"POST", "/api/mcp/tools/invoke", `{"tool_name":"echo","Tool_Name":"remove"}`, 400, "ValidationError"},
		"a duplicate member":                     {"POST", "/api/mcp/tools/invoke", `{"tool_name":"echo","tool_name":"remove"}`, 400, "ValidationError"},
		"no tool name":                           {"POST", "/api/mcp/tools/invoke", `{"arguments":{}}`, 400, "ValidationError"},
		"an array":                               {"POST", "/api/mcp/tools/invoke", `[]`, 400, "ValidationError"},
		"not JSON":                               {"POST", "/api/mcp/tools/invoke", `{`, 400, "ValidationError"},
		"a path that is none":                    {"GET", "/api/mcp/nothing", ``, 404, "ResourceNotFound"},
		"a method that the path does not answer": {"DELETE", "/api/mcp/tools", ``, 404, "ResourceNotFound"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h, server := newHandler(t, nil)
			status, got := ask(h, tc.method, tc.path, tc.body)
			if status != tc.wantStatus || !strings.Contains(got, `"error_type":"`+tc.wantType+`"`) {
				t.Errorf("status %d, want %d with %s: %s", status, tc.wantStatus, tc.wantType, got)
			}
			if received := server.Received(); received != "" {
				t.Errorf("the server received %q", received)
			}
		})
	}
}

func TestResults(t *testing.T) {
	cases := map[string]struct {
		reply      upstream.Reply
		err        error
		wantStatus int
		want       string
	}{
		"content alone": {reply: upstream.Reply{Result: []byte(`{"content":[{"type":"text","text":"a"}]}`)}, wantStatus: 200,
			want: `{"status":"success","data":{"content":[{"type":"text","text":"a"}]},"error":null,"explanation":null}`},
		"structured content that is no object": {reply: upstream.Reply{Result: []byte(`{"content":[],"structuredContent":[1]}`)}, wantStatus: 200,
			want: `{"status":"success","data":{"content":[],"structuredContent":[1]},"error":null,"explanation":null}`},
		"a status of the server's own": {reply: upstream.Reply{Result: []byte(`{"content":[],"structuredContent":{},"_meta":{"toolgate.dev/status":"no_change_needed"}}`)}, wantStatus: 200,
			want: `{"status":"no_change_needed","data":{},"error":null,"explanation":null}`},
		"a status that nobody defined": {reply: upstream.Reply{Result: []byte(`{"content":[],"structuredContent":{},"_meta":{"toolgate.dev/status":"failure"}}`)}, wantStatus: 200,
			want: `{"status":"success","data":{},"error":null,"explanation":null}`},
		"a tool error": {reply: upstream.Reply{Result: []byte(`{"content":[{"type":"text","text":"disk full"}],"isError":true}`)}, wantStatus: 200,
			want: `{"status":"failure","data":null,"error":{"error_type":"ToolExecutionError","error_message":"disk full","error_details":{"content":[{"type":"text","text":"disk full"}]}},"explanation":"disk full"}`},
		"an error told in a word": {reply: upstream.Reply{Result: []byte(`{"content":[{"type":"text","text":"disk full"}],"isError":"true"}`)}, wantStatus: 200,
			want: `{"status":"failure","data":null,"error":{"error_type":"ToolExecutionError","error_message":"disk full","error_details":{"content":[{"type":"text","text":"disk full"}]}},"explanation":"disk full"}`},
		"no error": {reply: upstream.Reply{Result: []byte(`{"content":[],"isError":null}`)}, wantStatus: 200,
			want: `{"status":"success","data":{"content":[]},"error":null,"explanation":null}`},
		"a JSON-RPC error": {reply: upstream.Reply{Error: &jsonrpc.Error{Code: -32603, Message: "boom"}}, wantStatus: 200,
			want: `{"status":"failure","data":null,"error":{"error_type":"ToolExecutionError","error_message":"boom","error_details":{"code":-32603,"data":null}},"explanation":"boom"}`},
		"a server that died": {err: &upstream.Error{Reason: registry.FailExited, Message: "The server's process ended."}, wantStatus: 502,
			want: `{"error":{"code":"MCP_CONNECTION_ERROR","message":"The server's process ended.","details":{"server_id":"my-files","endpoint":"/api/mcp/tools/invoke","reason":"ServerExited","error_type":"ToolExecutionError"},"trace_id":"{trace}","timestamp":"2026-01-02T03:04:05Z"}}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h, server := newHandler(t, nil)
			server.Answer = func(context.Context, *dispatchertest.Conn, upstream.Call) (upstream.Reply, error) {
				return tc.reply, tc.err
			}
			status, got := ask(h, "POST", "/api/mcp/tools/invoke", `{"tool_name":"echo","arguments":{"text":"x"}}`)
			if diff := cmp.Diff(tc.want, got); diff != "" || status != tc.wantStatus {
				t.Errorf("status %d, want %d; want -, got +:\n%s", status, tc.wantStatus, diff)
			}
		})
	}
}

// A server may name a tool as if it were qualified; the name that it is listed under reaches it and no other.
func TestAListedNameIsNotTakenApart(t *testing.T) {
	h, server := newHandler(t, nil)
	server.Definitions = append(server.Definitions, strings.Replace(dispatchertest.Echo, `"echo"`, `"my_files.echo"`, 1))
	h.Pipeline.Apply(dispatchertest.Snapshot(t, dispatchertest.Document(server)))
	for name, want := range map[string]string{"my_files.echo": "my_files.echo", "my_files.my_files.echo": "my_files.echo", "echo": "echo"} {
		_, got := ask(h, "POST", "/api/mcp/tools/invoke", `{"tool_name":"`+name+`","arguments":{"text":"x"}}`)
		if !strings.Contains(got, `"data":{"name":"`+want+`"`) {
			t.Errorf("%s: %s, want a call of %s", name, got, want)
		}
	}
}

func TestEvaluateCallsNothing(t *testing.T) {
	h, server := newHandler(t, nil)
	for call, want := range map[string]string{
		`{"tool_name":"echo","arguments":{"text":"x"}}`:   "allow",
		`{"tool_name":"echo","arguments":{}}`:             "deny",
		`{"tool_name":"remove","arguments":{"path":"/"}}`: "deny",
		`{"tool_name":"nope"}`:                            "deny",
	} {
		status, got := ask(h, "POST", "/api/mcp/rules/evaluate", call)
		var body Evaluation
		if err := json.Unmarshal([]byte(got), &body); err != nil || status != 200 || string(body.Verdict) != want || len(body.Stages) == 0 {
			t.Errorf("%s: status %d, %s; want %s", call, status, got, want)
		}
	}
	if received := server.Received(); received != "" {
		t.Errorf("a dry run reached the server: %q", received)
	}
}

func TestTheRateCountsOnREST(t *testing.T) {
	h, _ := newHandler(t, func(d *registry.Document) { d.Policy.Limits.RequestsPerMinute = 2 })
	for i, want := range []int{200, 200, 429} {
		if status, body := ask(h, "GET", "/api/mcp/health", ""); status != want {
			t.Errorf("request %d: %d %s, want %d", i+1, status, body, want)
		}
	}
}

func TestMediaTypeIsRequired(t *testing.T) {
	h, _ := newHandler(t, nil)
	r := httptest.NewRequest(http.MethodPost, "http://localhost/api/mcp/tools/invoke", strings.NewReader(`{}`))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusUnsupportedMediaType {
		t.Errorf("got %d, want 415", w.Code)
	}
}
