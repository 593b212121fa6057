// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/dispatcher/dispatchertest"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/registry"
)

// modernCall is a call of revision 2026-07-28 with its headers.
func (f *fixture) modernCall(method, name, params string, pairs ...string) (int, string) {
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s%s}}`, method, params, meta)
	all := append([]string{headerVersion, modernVersion, headerMethod, method}, pairs...)
	if name != "" {
		all = append(all, "Mcp-Name", name)
	}
	w := f.post(body, all...)
	return w.Code, w.Body.String()
}

// Arguments that a schema mirrors in headers must agree with them, numbers as numbers.
func TestMirroredArguments(t *testing.T) {
	const tool = `{"name":"route","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},` +
		`"deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"},"b":{"type":"boolean","x-mcp-header":"B"}}}}},` +
		`"annotations":{"readOnlyHint":true}}`
	cases := map[string]struct {
		arguments string
		headers   []string
		want      int
	}{
		"all agree":                          {`{"region":"eu","deep":{"n":42,"b":true}}`, []string{"Mcp-Param-Region", "eu", "Mcp-Param-N", "42", "Mcp-Param-B", "true"}, 200},
		"a number in another notation":       {`{"deep":{"n":42}}`, []string{"Mcp-Param-N", "42.0"}, 200},
		"an encoded text":                    {`{"region":"ü"}`, []string{"Mcp-Param-Region", "=?base64?w7w=?="}, 200},
		"absent on both sides":               {`{}`, nil, 200},
		"null counts as absent":              {`{"region":null}`, nil, 200},
		"another text":                       {`{"region":"eu"}`, []string{"Mcp-Param-Region", "us"}, 400},
		"a missing header":                   {`{"region":"eu"}`, nil, 400},
		"a header for nothing":               {`{}`, []string{"Mcp-Param-Region", "eu"}, 400},
		"another number":                     {`{"deep":{"n":42}}`, []string{"Mcp-Param-N", "43"}, 400},
		"a number that doubles cannot tell":  {`{"deep":{"n":9007199254740993}}`, []string{"Mcp-Param-N", "9007199254740992"}, 400},
		"an encoding that is none":           {`{"region":"eu"}`, []string{"Mcp-Param-Region", "=?base64?*?="}, 400},
		"a header that the schema has not":   {`{}`, []string{"Mcp-Param-Other", "x"}, 200},
		"a boolean in another way of saying": {`{"deep":{"b":true}}`, []string{"Mcp-Param-B", "1"}, 400},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, nil)
			f.server.Definitions = []string{tool}
			f.apply(func(d *registry.Document) { d.Policy.Validation.Arguments = registry.Off })
			status, body := f.modernCall("tools/call", "route", `"name":"route","arguments":`+tc.arguments+`,`, tc.headers...)
			if status != tc.want || (tc.want == 400) != strings.Contains(body, `"code":-32020`) {
				t.Errorf("%d %s, want %d", status, body, tc.want)
			}
			if tc.want == 400 && f.server.Received() != "" {
				t.Errorf("the server received %q", f.server.Received())
			}
		})
	}
}

// Some codes are bound to an HTTP status, also where the server itself gives them.
func TestStatusOfTheServersErrors(t *testing.T) {
	for code, want := range map[int64]int{-32021: 400, -32601: 404, -32603: 200, -32602: 200, 7: 200} {
		f := newFixture(t, nil)
		f.server.Answer = func(context.Context, *dispatchertest.Conn, upstream.Call) (upstream.Reply, error) {
			return upstream.Reply{Error: rpcError(code, "no", `{}`)}, nil
		}
		if status, body := f.modernCall("tools/call", "echo", `"name":"echo","arguments":{"text":"x"},`); status != want {
			t.Errorf("%d: %d %s, want %d", code, status, body, want)
		}
	}
}

// A modern server's word for "ask somebody" is not the end of a call, and must not look like it.
func TestUnfinishedResultsAreRefused(t *testing.T) {
	f := newFixture(t, nil)
	f.server.Said.Era, f.server.Said.ProtocolVersion = upstream.Modern, modernVersion
	results := map[string]string{
		`{"resultType":"input_required"}`:                              `"code":-32603`,
		`{"resultType":"input_required","inputRequests":{}}`:           `"reason":"ServerBusy"`,
		`{"resultType":"vendor"}`:                                      `"code":-32603`,
		`{"resultType":"task","taskId":"1"}`:                           `"code":-32603`,
		`{"resultType":"complete","content":[],"structuredContent":1}`: `"result":{"content":[],"structuredContent":1}`,
	}
	id := f.session()
	for result, want := range results {
		f.server.Answer = func(context.Context, *dispatchertest.Conn, upstream.Call) (upstream.Reply, error) {
			return upstream.Reply{Result: []byte(result)}, nil
		}
		if w := f.post(echoCall, headerSession, id); !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %s, want %s", result, w.Body, want)
		}
	}
}

func TestPassthrough(t *testing.T) {
	f := newFixture(t, func(d *registry.Document) { d.Policy.Passthrough = []string{"notifications/vendor", "vendor/ask"} })
	id := f.session()
	f.post(`{"jsonrpc":"2.0","id":1,"method":"vendor/ask","params":{ "a":1}}`, headerSession, id)
	f.post(`{"jsonrpc":"2.0","method":"notifications/vendor","params":{"b": 2}}`, headerSession, id)
	f.post(`{"jsonrpc":"2.0","id":2,"method":"vendor/other"}`, headerSession, id)
	f.modernCall("vendor/ask", "", `"c":3,`)
	want := "vendor/ask{ \"a\":1}\nnotifications/vendor{\"b\": 2}\nvendor/ask{\"c\":3}\n"
	if got := f.server.Received(); got != want {
		t.Errorf("the server received %q, want %q", got, want)
	}
}

// What Toolgate itself knows is never let through unchecked, whatever the document names and in whatever form it comes.
func TestPassthroughLiftsNothing(t *testing.T) {
	known := []string{"tools/call", "initialize", "server/discover", "resources/read"}
	f := newFixture(t, func(d *registry.Document) { d.Policy.Passthrough, d.Policy.Expose.Resources = known, false })
	id := f.session()
	for _, method := range known {
		f.post(`{"jsonrpc":"2.0","method":"`+method+`","params":{"name":"remove","uri":"a:b","arguments":{"path":"/"}}}`, headerSession, id)
	}
	for _, method := range known {
		if method != "initialize" {
			f.post(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{"name":"remove","uri":"a:b","arguments":{"path":"/"}}}`, headerSession, id)
		}
		if method != "server/discover" {
			f.modernCall(method, "", `"a":1,`)
		}
	}
	if got := f.server.Received(); got != "" {
		t.Errorf("the server received %q", got)
	}
}

// Of a header that comes twice one reader takes the first and another the last.
func TestRepeatedHeadersAreRefused(t *testing.T) {
	const modern = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"},"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	cases := map[string]struct {
		body, header, second string
		want                 int
	}{
		"the version":                   {modern, headerVersion, "2025-11-25", http.StatusBadRequest},
		"the method":                    {modern, headerMethod, "tools/list", http.StatusBadRequest},
		"the name":                      {modern, "Mcp-Name", "remove", http.StatusBadRequest},
		"the version of a session":      {echoCall, headerVersion, "2026-07-28", http.StatusBadRequest},
		"the session":                   {echoCall, headerSession, "another", http.StatusNotFound},
		"the media type":                {echoCall, "Content-Type", "text/plain", http.StatusUnsupportedMediaType},
		"an encoding after none at all": {echoCall, "Content-Encoding", "gzip", http.StatusUnsupportedMediaType},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, nil)
			h := headers(headerVersion, "2025-11-25", headerSession, f.session(), "Content-Encoding", "identity")
			if tc.body == modern {
				h = headers(headerVersion, modernVersion, headerMethod, "tools/call", "Mcp-Name", "echo")
			}
			h.Add(tc.header, tc.second)
			if w := f.send(http.MethodPost, h, tc.body); w.Code != tc.want {
				t.Errorf("%d %s, want %d", w.Code, w.Body, tc.want)
			}
			if got := f.server.Received(); got != "" {
				t.Errorf("the server received %q", got)
			}
		})
	}
}

// Ending a session gives up what is under way in it.
func TestDeleteEndsWhatIsUnderWay(t *testing.T) {
	f := newFixture(t, nil)
	began := make(chan struct{})
	f.server.Answer = func(ctx context.Context, _ *dispatchertest.Conn, _ upstream.Call) (upstream.Reply, error) {
		close(began)
		<-ctx.Done()
		return upstream.Reply{}, context.Cause(ctx)
	}
	id := f.session()
	answered := make(chan string)
	go func() { answered <- f.post(echoCall, headerSession, id).Body.String() }()
	<-began
	if w := f.send(http.MethodDelete, headers(headerSession, id), ""); w.Code != http.StatusNoContent {
		t.Errorf("DELETE: %d", w.Code)
	}
	if got := <-answered; got != "" {
		t.Errorf("the call was answered by %s", got)
	}
	eventually(t, func() bool { return strings.Contains(f.audit.String(), `"outcome":"cancelled"`) })
}
