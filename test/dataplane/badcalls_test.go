// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"slices"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/test/dataplane/scripted"
)

// mark stands in every bad message, so that any byte of one that reached the server would be seen.
const mark = "MARKED-0xBAD"

// Tools for bad calls.
const (
	greet    = `{"name":"greet","inputSchema":{"type":"object","properties":{"name":{"type":"string"},"loud":{"type":"boolean"},"deep":{"type":"object"}},"required":["name"],"additionalProperties":false},"annotations":{"readOnlyHint":true}}`
	remove   = `{"name":"remove","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}}`
	disabled = `{"name":"disabled","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`
	waiting  = `{"name":"waiting","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`
	changed  = `{"name":"changed","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`
	unlisted = `{"name":"unlisted","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`
	bare     = `{"name":"bare","annotations":{"readOnlyHint":true}}`
	twice    = `{"name":"twice","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`
	asTask   = `{"name":"as-task","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"},"annotations":{"readOnlyHint":true}}`
)

// badCall is one message that must not reach the server, and what its sender hears.
type badCall struct {
	body string
	// kind and reason are those of docs/errors.md; code is 0 where the refusal is a result with isError.
	kind, reason string
	code, status int
}

func inCall(params string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":` + params + `}`
}

func withArguments(arguments string) string {
	return inCall(`{"name":"greet","arguments":` + arguments + `}`)
}

func notJSON(body string) badCall { return badCall{body, "ParseError", "NotStrictJSON", -32700, 400} }
func noMessage(body string) badCall {
	return badCall{body, "InvalidRequest", "InvalidMessage", -32600, 400}
}
func misfit(body, reason string) badCall {
	return badCall{body, "SchemaError", reason, 0, 200}
}
func denied(tool, reason string) badCall {
	return badCall{inCall(`{"name":"` + tool + `","arguments":{"name":"` + mark + `"}}`), "Denied", reason, 0, 200}
}

// badCalls are the rows G-01 to G-12, G-17 to G-19 of the faults of other proxies, and their kin.
var badCalls = map[string]badCall{
	"not JSON":                                notJSON(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet" "` + mark + `"}}`),
	"cut off":                                 notJSON(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + mark),
	"two messages":                            notJSON(withArguments(`{"name":"a"}`) + withArguments(`{"name":"`+mark+`"}`)),
	"a comment":                               notJSON(`/*` + mark + `*/` + withArguments(`{"name":"a"}`)),
	"invalid UTF-8":                           notJSON(withArguments(`{"name":"` + mark + "\xff\"}")),
	"overlong UTF-8":                          notJSON(withArguments(`{"name":"` + mark + "\xc0\xaf\"}")),
	"a raw NUL":                               notJSON(withArguments(`{"name":"` + mark + "\x00\"}")),
	"a byte order mark":                       notJSON("\xef\xbb\xbf" + withArguments(`{"name":"`+mark+`"}`)),
	"a lone surrogate":                        notJSON(withArguments(`{"name":"` + mark + `\ud800"}`)),
	"a NUL in a key":                          notJSON(withArguments(`{"name":"` + mark + `","a\u0000b":1}`)),
	"G-06 a duplicate key in the message":     notJSON(`{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{"name":"greet","arguments":{"name":"` + mark + `"}}}`),
	"G-06 a duplicate key in params":          notJSON(inCall(`{"name":"greet","name":"remove","arguments":{"name":"` + mark + `"}}`)),
	"G-06 a duplicate key in arguments":       notJSON(withArguments(`{"name":"a","name":"` + mark + `"}`)),
	"G-06 a duplicate key deep down":          notJSON(withArguments(`{"name":"` + mark + `","deep":{"a":[{"b":1,"b":2}]}}`)),
	"G-06 a duplicate key, one escaped":       notJSON(withArguments(`{"name":"a","n\u0061me":"` + mark + `"}`)),
	"G-07 NaN":                                notJSON(withArguments(`{"name":"` + mark + `","loud":NaN}`)),
	"G-07 Infinity":                           notJSON(withArguments(`{"name":"` + mark + `","loud":-Infinity}`)),
	"G-01 Name beside name":                   noMessage(inCall(`{"name":"greet","Name":"remove","arguments":{"name":"` + mark + `"}}`)),
	"G-01 G-05 Name before name":              noMessage(inCall(`{"Name":"remove","name":"greet","arguments":{"name":"` + mark + `"}}`)),
	"G-01 NAME alone":                         noMessage(inCall(`{"NAME":"greet","arguments":{"name":"` + mark + `"}}`)),
	"G-03 METHOD beside method":               noMessage(`{"jsonrpc":"2.0","id":1,"method":"ping","METHOD":"tools/call","params":{"name":"` + mark + `"}}`),
	"G-03 paramſ with a long s":               noMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet"},"paramſ":{"name":"` + mark + `"}}`),
	"G-01 a Kelvin sign in _meta":             noMessage(inCall(`{"name":"greet","arguments":{"name":"` + mark + `"},"_meta":{"progressTo\u212aen":1}}`)),
	"G-04 mixed case throughout":              noMessage(`{"Jsonrpc":"2.0","ID":1,"Method":"tools/call","Params":{"name":"` + mark + `"}}`),
	"G-08 a batch":                            noMessage(`[` + withArguments(`{"name":"`+mark+`"}`) + `]`),
	"G-08 an empty batch":                     noMessage(`[]`),
	"G-08 a batch after white space":          noMessage("\r\n\t [" + withArguments(`{"name":"`+mark+`"}`) + `]`),
	"G-08 a batch after a byte order mark":    notJSON("\xef\xbb\xbf[" + withArguments(`{"name":"`+mark+`"}`) + `]`),
	"G-10 a batch of notification and call":   noMessage(`[{"jsonrpc":"2.0","method":"notifications/initialized"},` + withArguments(`{"name":"`+mark+`"}`) + `]`),
	"G-11 a batch of answers":                 noMessage(`[{"jsonrpc":"2.0","id":1,"result":{"x":"` + mark + `"}}]`),
	"G-12 a batch of many":                    noMessage(`[` + strings.Repeat(withArguments(`{"name":"`+mark+`"}`)+`,`, 200) + `{}]`),
	"a string":                                noMessage(`"` + mark + `"`),
	"no version":                              noMessage(`{"id":1,"method":"tools/call","params":{"name":"` + mark + `"}}`),
	"another version":                         noMessage(`{"jsonrpc":"1.0","id":1,"method":"tools/call","params":{"name":"` + mark + `"}}`),
	"params that are a list":                  noMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["` + mark + `"]}`),
	"a request and an answer in one":          noMessage(`{"jsonrpc":"2.0","id":1,"method":"ping","result":{"x":"` + mark + `"}}`),
	"G-19 an id that is null":                 noMessage(`{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"greet","arguments":{"name":"` + mark + `"}}}`),
	"G-19 an id with a fraction":              noMessage(`{"jsonrpc":"2.0","id":1.5,"method":"tools/call","params":{"name":"greet","arguments":{"name":"` + mark + `"}}}`),
	"G-19 an id that is an object":            noMessage(`{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{"name":"greet","arguments":{"name":"` + mark + `"}}}`),
	"an unknown method":                       {`{"jsonrpc":"2.0","id":1,"method":"tools/execute","params":{"x":"` + mark + `"}}`, "MethodNotFound", "UnknownMethod", -32601, 200},
	"a method of tasks":                       {`{"jsonrpc":"2.0","id":1,"method":"tasks/result","params":{"taskId":"` + mark + `"}}`, "MethodNotFound", "UnknownMethod", -32601, 200},
	"a method in another case":                {`{"jsonrpc":"2.0","id":1,"method":"Tools/Call","params":{"name":"greet","arguments":{"name":"` + mark + `"}}}`, "MethodNotFound", "UnknownMethod", -32601, 200},
	"a call without params":                   {`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, "InvalidParams", "", -32602, 200},
	"a call without a name":                   {inCall(`{"arguments":{"name":"` + mark + `"}}`), "InvalidParams", "", -32602, 200},
	"an unknown tool":                         {inCall(`{"name":"` + mark + `","arguments":{}}`), "ToolNotFoundError", "UnknownTool", -32602, 200},
	"a tool in another case":                  {inCall(`{"name":"Greet","arguments":{"name":"` + mark + `"}}`), "ToolNotFoundError", "UnknownTool", -32602, 200},
	"a tool of the server, not of the policy": {inCall(`{"name":"unlisted-by-policy","arguments":{"name":"` + mark + `"}}`), "ToolNotFoundError", "UnknownTool", -32602, 200},
	"G-18 no arguments where some are needed": misfit(withArguments(`{}`), "InvalidArguments"),
	"G-18 arguments absent":                   misfit(inCall(`{"name":"greet"}`), "InvalidArguments"),
	"G-18 arguments that are null":            misfit(inCall(`{"name":"greet","arguments":null}`), "InvalidArguments"),
	"arguments that are a list":               misfit(withArguments(`["`+mark+`"]`), "InvalidArguments"),
	"an argument of another type":             misfit(withArguments(`{"name":5,"loud":true}`), "InvalidArguments"),
	"G-100 a boolean as a string":             misfit(withArguments(`{"name":"`+mark+`","loud":"false"}`), "InvalidArguments"),
	"an argument that is not declared":        misfit(withArguments(`{"name":"a","`+mark+`":1}`), "InvalidArguments"),
	"an argument in another case":             misfit(withArguments(`{"name":"a","NAME":"`+mark+`"}`), "AmbiguousKey"),
	"G-17 a destructive tool":                 denied("remove", "Untrusted"),
	"a disabled tool":                         denied("disabled", "Disabled"),
	"a tool that waits for admission":         denied("waiting", "NotAdmitted"),
	"a tool whose definition has changed":     denied("changed", "DefinitionChanged"),
	"a tool that the server does not list":    denied("unlisted", "Gone"),
	"a tool without a schema":                 denied("bare", "NoInputSchema"),
	"a name that the server lists twice":      denied("twice", "DuplicateName"),
	"a tool that wants to be a task":          denied("as-task", "TaskRequired"),
}

// badPolicy makes each tool be refused for its own reason.
func badPolicy(t *testing.T, c *child) *registry.Document {
	doc := document(t, c.definitions()...)
	doc.Policy.Trust = registry.Trust{}
	rev := registry.Revision{}
	for _, tool := range doc.Revisions[revision].Tools {
		switch tool.Name {
		case "disabled":
			tool.Withheld = "Disabled"
		case "waiting":
			tool.Digest = ""
		case "changed":
			tool.Digest = "v1:sha256:" + strings.Repeat("0", 64)
		case "unlisted-by-policy":
			continue
		case "twice":
			if slices.ContainsFunc(rev.Tools, func(t registry.Tool) bool { return t.Name == "twice" }) {
				continue
			}
		}
		rev.Tools = append(rev.Tools, tool)
	}
	rev.Tools = append(rev.Tools, registry.Tool{Name: "unlisted", Digest: "v1:sha256:" + strings.Repeat("1", 64)})
	doc.Revisions[revision] = rev
	return doc
}

func TestBadCallsAreAnsweredAndReachNobody(t *testing.T) {
	byPolicy := strings.Replace(unlisted, "unlisted", "unlisted-by-policy", 1)
	tools := []string{greet, remove, disabled, waiting, changed, bare, asTask, byPolicy, twice, strings.Replace(twice, "true", "false", 1)}
	for transport, start := range map[string]func(*testing.T, *child) *dispatcher{
		"stdio": func(t *testing.T, c *child) *dispatcher { return serve(t, badPolicy(t, c), c.command()...) },
		"HTTP": func(t *testing.T, c *child) *dispatcher {
			upstream := overHTTP(t, c).Upstream
			doc := badPolicy(t, c)
			doc.Upstream = upstream
			return serve(t, doc)
		},
	} {
		t.Run(transport, func(t *testing.T) {
			c := newChild(t, scripted.Good, tools...)
			d := start(t, c).ready()
			s := d.session(latest)
			// What has arrived after the session's first call is all that belongs to its start.
			if a := s.call("greet", `{"name":"first"}`); a.Error != nil || a.refusal().Kind != "" {
				t.Fatalf("a good call: %s", a.body)
			}
			for name, tc := range badCalls {
				t.Run(name, func(t *testing.T) { checkBadCall(t, c, s, tc) })
			}
			if a := s.call("greet", `{"name":"last"}`); a.Error != nil || a.refusal().Kind != "" || !strings.Contains(c.read(), `"last"`) {
				t.Errorf("a good call after the bad ones: %s", a.body)
			}
			if strings.Contains(c.read(), mark) {
				t.Error("a part of a bad call has reached the server")
			}
		})
	}
}

func checkBadCall(t *testing.T, c *child, s *client, tc badCall) {
	before := afterStart(c)
	a, err := s.send(tc.body)
	if err != nil {
		t.Fatal(err)
	}
	got := a.refusal()
	if a.status != tc.status || a.code() != tc.code || got.Kind != tc.kind || tc.reason != "" && got.Reason != tc.reason {
		t.Errorf("want %d, code %d, %s/%s, got %d %s", tc.status, tc.code, tc.kind, tc.reason, a.status, a.body)
	}
	if after := afterStart(c); after != before {
		t.Errorf("the server got %q", strings.TrimPrefix(after, before))
	}
}

// afterStart is what a server has read but for the notification that ends the start of a session: nobody waits for it, so it may
// arrive at any time.
func afterStart(c *child) string {
	lines := strings.SplitAfter(c.read(), "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool { return strings.Contains(line, `"notifications/initialized"`) }), "")
}

// TestBadCallsOfAnEarlierRevision wants arguments that do not fit to be a JSON-RPC error, as revisions before 2025-11-25
// have it.
func TestBadCallsOfAnEarlierRevision(t *testing.T) {
	c := newChild(t, scripted.Good, greet)
	d := serve(t, document(t, c.definitions()...), c.command()...).ready()
	for _, version := range []string{older, oldest} {
		t.Run(version, func(t *testing.T) {
			s := d.session(version)
			s.call("greet", `{"name":"first"}`)
			checkBadCall(t, c, s, badCall{withArguments(`{}`), "SchemaError", "InvalidArguments", -32602, 200})
			checkBadCall(t, c, s, noMessage(`[`+withArguments(`{"name":"`+mark+`"}`)+`]`)) // a revision that had batches, once
		})
	}
}
