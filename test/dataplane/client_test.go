// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// The revisions of MCP that a client may speak.
const (
	modern = "2026-07-28"
	latest = "2025-11-25"
	older  = "2025-06-18"
	oldest = "2025-03-26"
)

// client speaks to a dispatcher in the bytes that the test chooses. Without a session each message stands for itself.
type client struct {
	t       testing.TB
	url     string
	accept  string // both kinds of answers if empty
	session string
	ids     atomic.Int64
	web     *http.Client // that of all tests if nil
}

// anonymous gives a client without a session.
func (d *dispatcher) anonymous() *client { return &client{t: d.t, url: d.mcp + "/mcp"} }

// session begins a session in a revision.
func (d *dispatcher) session(version string) *client {
	d.t.Helper()
	c := d.anonymous()
	a := c.post(initialize(version))
	if a.session == "" || a.Error != nil {
		d.t.Fatalf("initialize: %d %s", a.status, a.body)
	}
	c.session = a.session
	c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

func initialize(version string) string {
	return `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"` + version +
		`","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
}

// answer is one HTTP response, and the message in it.
type answer struct {
	status  int
	session string
	body    []byte
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// refusal is the machine-readable part of a refusal.
type refusal struct {
	Kind, Stage, Reason, Server, Tool, Path string
	Violations                              []struct{ Path, Keyword string }
}

// refusal gives that of an error, or of a result with isError; the zero value where there is none.
func (a *answer) refusal() refusal {
	var r refusal
	if a.Error != nil {
		_ = json.Unmarshal(a.Error.Data, &r) // an error of the server has none
		return r
	}
	var result struct {
		IsError bool `json:"isError"`
		Meta    struct {
			Refusal refusal `json:"toolgate.dev/refusal"`
		} `json:"_meta"`
	}
	if json.Unmarshal(a.Result, &result) == nil && result.IsError {
		return result.Meta.Refusal
	}
	return r
}

// code is that of the error, 0 where there is none.
func (a *answer) code() int {
	if a.Error == nil {
		return 0
	}
	return a.Error.Code
}

// post sends one body, with headers beside the usual ones, given as name and value in turn.
func (c *client) post(body string, headers ...string) *answer {
	c.t.Helper()
	a, err := c.send(body, headers...)
	if err != nil {
		c.t.Fatal(err)
	}
	return a
}

// send is post for goroutines that must not end the test.
func (c *client) send(body string, headers ...string) (*answer, error) {
	request, err := http.NewRequest(http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", cmp.Or(c.accept, "application/json, text/event-stream"))
	if c.session != "" {
		request.Header.Set("Mcp-Session-Id", c.session)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	resp, err := cmp.Or(c.web, web).Do(request)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // what matters was read
	a := &answer{status: resp.StatusCode, session: resp.Header.Get("Mcp-Session-Id")}
	if a.body, err = message(resp); err != nil || len(a.body) == 0 {
		return a, err
	}
	if err := json.Unmarshal(a.body, a); err != nil {
		return nil, fmt.Errorf("%s: %w: %.300s", resp.Status, err, a.body)
	}
	return a, nil
}

// message reads the answer of a response: its body, or the last event of its stream.
func message(resp *http.Response) ([]byte, error) {
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "text/event-stream" {
		return io.ReadAll(resp.Body)
	}
	reader := bufio.NewReader(resp.Body)
	var last []byte
	for {
		line, err := reader.ReadBytes('\n')
		if data, found := bytes.CutPrefix(line, []byte("data: ")); found {
			last = bytes.TrimSuffix(data, []byte("\n"))
		}
		if errors.Is(err, io.EOF) {
			return last, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// call calls a tool.
func (c *client) call(tool, arguments string) *answer {
	c.t.Helper()
	a, err := c.tryCall(tool, arguments)
	if err != nil {
		c.t.Fatal(err)
	}
	return a
}

// tryCall is call for goroutines that must not end the test.
func (c *client) tryCall(tool, arguments string) (*answer, error) {
	return c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, c.ids.Add(1), tool, arguments))
}

// tools gives the definitions of tools/list by name, in the bytes of the answer.
func (c *client) tools() (names []string, definitions map[string]json.RawMessage) {
	c.t.Helper()
	a := c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, c.ids.Add(1)))
	var list struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(a.Result, &list); err != nil {
		c.t.Fatalf("tools/list: %v: %s", err, a.body)
	}
	definitions = map[string]json.RawMessage{}
	for _, d := range list.Tools {
		name := nameOf(c.t, d)
		names = append(names, name)
		definitions[name] = d
	}
	return names, definitions
}

func nameOf(t testing.TB, definition []byte) string {
	t.Helper()
	var tool struct{ Name string }
	if err := json.Unmarshal(definition, &tool); err != nil {
		t.Fatal(err)
	}
	return tool.Name
}

// modernCall calls a tool as revision 2026-07-28 has it.
func (c *client) modernCall(tool, arguments string) *answer {
	c.t.Helper()
	return c.modern("tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, tool, arguments), "Mcp-Name", tool)
}

// modern sends a request of revision 2026-07-28; members are those of its params.
func (c *client) modern(method, members string, headers ...string) *answer {
	c.t.Helper()
	a, err := c.tryModern(method, members, headers...)
	if err != nil {
		c.t.Fatal(err)
	}
	return a
}

// tryModern is modern for goroutines that must not end the test.
func (c *client) tryModern(method, members string, headers ...string) (*answer, error) {
	if members != "" {
		members += ","
	}
	return c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":%q,`+
		`"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"}}}}`,
		c.ids.Add(1), method, members, modern), append(headers, "Mcp-Protocol-Version", modern, "Mcp-Method", method)...)
}
