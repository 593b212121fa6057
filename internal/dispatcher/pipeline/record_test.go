// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/audit"
	"toolgate.dev/toolgate/internal/dispatcher/dispatchertest"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/requests"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/rules"
)

// written are the records so far.
func (f *fixture) written(t *testing.T) []audit.Record {
	t.Helper()
	var records []audit.Record
	for line := range strings.Lines(f.audit.String()) {
		var r audit.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		records = append(records, r)
	}
	return records
}

func ruled(action rules.Action) func(*registry.Document) {
	return func(d *registry.Document) {
		trusted(d)
		d.RuleSets = []rules.Set{{Name: "set", Type: rules.TypeSafety, Format: rules.FormatCEL, Enforcement: rules.Enforce,
			Rules: []rules.Rule{{Name: "rule", Action: action, When: "true", Message: "no"}}}}
	}
}

// Row G-108 of corpus/dataplane.md: a denial was told to the client as a result, and so was audited as a success. Whatever
// the form in which a client is told, a denial is recorded as rejected, once, with what decided, and nothing else.
func TestCorpusG108ADenialIsNeverAuditedAsSuccess(t *testing.T) {
	for name, tc := range map[string]struct {
		change   func(*registry.Document)
		request  policy.Call
		wantKind policy.Kind
		wantRule string
	}{
		"the gate, told as a result":             {nil, policy.Call{Tool: "remove", Arguments: []byte(`{"path":"/"}`)}, policy.Denied, ""},
		"the gate, told as an error":             {nil, policy.Call{Tool: "remove", Arguments: []byte(`{"path":"/"}`), Task: true}, policy.Denied, ""},
		"arguments that do not fit, as a result": {nil, policy.Call{Tool: "echo", Arguments: []byte(`{}`)}, policy.SchemaError, ""},
		"arguments that do not fit, as an error": {nil, policy.Call{Tool: "echo", Arguments: []byte(`{}`), ProtocolVersion: "2025-06-18"}, policy.SchemaError, ""},
		"a rule":                                 {ruled(rules.Reject), policy.Call{Tool: "echo", Arguments: []byte(`{"text":"x"}`)}, policy.Denied, "set/rule"},
		"an unknown tool":                        {nil, policy.Call{Tool: "nope"}, policy.ToolNotFound, ""},
		"a tool that is withheld": {func(d *registry.Document) {
			d.Revisions[dispatchertest.Revision].Tools[0].Withheld = "Disabled"
		}, policy.Call{Tool: "echo", Arguments: []byte(`{"text":"x"}`)}, policy.Denied, ""},
		"a method that is not exposed": {func(d *registry.Document) { d.Policy.Expose.Prompts = false },
			policy.Call{Method: "prompts/get", Name: "p"}, policy.MethodNotFound, ""},
		"a method that nobody knows": {nil, policy.Call{Method: "vendor/do"}, policy.MethodNotFound, ""},
		"a limit": {func(d *registry.Document) { d.Policy.Limits.MaxConcurrent = 1 },
			policy.Call{Tool: "plain", Arguments: []byte(`{}`)}, policy.RateLimited, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, tc.change)
			call := tc.request
			if call.Method == "" {
				call.Method = "tools/call"
			}
			if call.ProtocolVersion == "" {
				call.ProtocolVersion = "2025-11-25"
			}
			if tc.wantKind == policy.RateLimited {
				place, refusal := f.callers.BeginCall("10.0.0.1", f.Limits().MaxConcurrent)
				if refusal != nil {
					t.Fatal(refusal)
				}
				defer place.End()
			}
			answer := f.Do(context.Background(), &requests.Request{Call: call, Params: []byte(`{}`), Source: f, Caller: requests.Caller{Address: "10.0.0.1"}})
			if answer.Refusal == nil || answer.Refusal.Kind != tc.wantKind {
				t.Fatalf("got %+v, want a refusal of kind %s", answer, tc.wantKind)
			}
			records := f.written(t)
			if len(records) != 1 || records[0].Outcome != audit.Rejected || records[0].Kind != tc.wantKind || records[0].Rule != tc.wantRule {
				t.Errorf("recorded as %+v", records)
			}
			if got := f.server.Received(); got != "" {
				t.Errorf("the server received %s", got)
			}
		})
	}
	t.Run("a message that never became a request", func(t *testing.T) {
		f := newFixture(t, nil)
		f.RecordRefusal(requests.Caller{}, "tools/call", &policy.Refusal{Kind: policy.ParseError, Stage: policy.StageParse, Reason: "NotStrictJSON"})
		if got := outcomes(f.audit.String()); got != "rejected" {
			t.Errorf("recorded as %s", got)
		}
	})
	t.Run("a server that fails a call itself", func(t *testing.T) {
		f := newFixture(t, nil)
		f.server.Answer = func(context.Context, *dispatchertest.Conn, upstream.Call) (upstream.Reply, error) {
			return upstream.Reply{Result: []byte(`{"content":[],"isError":true}`)}, nil
		}
		f.call("echo", `{"text":"x"}`)
		if got := outcomes(f.audit.String()); got != "tool_error" {
			t.Errorf("recorded as %s", got)
		}
	})
}

func TestWhatMustBeRecordedIsNotDoneUnrecorded(t *testing.T) {
	for name, tc := range map[string]struct {
		onFailure   registry.AuditFailure
		tool, args  string
		wantRefused bool
	}{
		"nothing said, a call that destroys":             {"", "remove", `{"path":"/"}`, true},
		"nothing said, a tool that says nothing":         {"", "plain", `{}`, true},
		"nothing said, a call that reads":                {"", "echo", `{"text":"x"}`, false},
		"BlockDestructive, a call that destroys":         {registry.AuditBlockDestructive, "remove", `{"path":"/"}`, true},
		"BlockDestructive, a call that reads":            {registry.AuditBlockDestructive, "echo", `{"text":"x"}`, false},
		"Block, a call that reads":                       {registry.AuditBlock, "echo", `{"text":"x"}`, true},
		"Block, a call that destroys":                    {registry.AuditBlock, "remove", `{"path":"/"}`, true},
		"Continue, a call that destroys":                 {registry.AuditContinue, "remove", `{"path":"/"}`, false},
		"Continue, a call that reads":                    {registry.AuditContinue, "echo", `{"text":"x"}`, false},
		"Block, a resource":                              {registry.AuditBlock, "", "", true},
		"BlockDestructive, a resource, which only reads": {registry.AuditBlockDestructive, "", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, func(d *registry.Document) {
				trusted(d)
				d.Policy.Audit.OnFailure = tc.onFailure
			})
			do := func() requests.Answer {
				if tc.tool != "" {
					return f.call(tc.tool, tc.args)
				}
				return f.Do(context.Background(), &requests.Request{Call: policy.Call{Method: "resources/read", URI: "x:y"}, Params: []byte(`{"uri":"x:y"}`),
					Source: f, Caller: requests.Caller{Address: "10.0.0.1"}})
			}
			f.audit.down = true
			answer := do()
			if got := reason(answer) == "NotRecorded"; got != tc.wantRefused {
				t.Errorf("refused is %v (%+v)", got, answer)
			}
			if reached := f.server.Received() != ""; reached == tc.wantRefused {
				t.Errorf("the server was reached is %v", reached)
			}
			f.audit.down = false
			if answer := do(); answer.Result == nil {
				t.Errorf("refused although it can be recorded: %+v", answer.Refusal)
			}
			if records := f.written(t); records[0].Outcome != audit.Gap || records[0].Lost == 0 {
				t.Errorf("the first record is %+v, want a gap", records[0])
			}
		})
	}
}

func TestPayloadsAreRecordedWhereAskedFor(t *testing.T) {
	const args = `{"path":"/x","note":"n","Pass_Word":"p","n":9007199254740993}`
	for name, tc := range map[string]struct {
		audit                      registry.Audit
		wantArguments, wantResults string
	}{
		"by default nothing is":   {registry.Audit{}, "", ""},
		"arguments alone":         {registry.Audit{Arguments: true}, `{"Pass_Word":"(redacted)","n":9007199254740993,"note":"n","path":"/x"}`, ""},
		"results alone":           {registry.Audit{Results: true}, "", `{"content":[{"text":"{\"token\":\"(redacted)\"}","type":"text"}]}`},
		"a name is left out":      {registry.Audit{Arguments: true, Redact: []string{"NOTE"}}, `{"Pass_Word":"(redacted)","n":9007199254740993,"note":"(redacted)","path":"/x"}`, ""},
		"a pointer is left out":   {registry.Audit{Arguments: true, Redact: []string{"/path"}}, `{"Pass_Word":"(redacted)","n":9007199254740993,"note":"n","path":"(redacted)"}`, ""},
		"redaction alone is none": {registry.Audit{Redact: []string{"/path"}}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, func(d *registry.Document) {
				trusted(d)
				d.Policy.Audit = tc.audit
			})
			f.server.Answer = func(context.Context, *dispatchertest.Conn, upstream.Call) (upstream.Reply, error) {
				return upstream.Reply{Result: []byte(`{"content":[{"type":"text","text":"{\"token\": \"t\"}"}]}`)}, nil
			}
			f.call("remove", args)
			records := f.written(t)
			if len(records) != 2 {
				t.Fatalf("got %d records", len(records))
			}
			started, ended := records[0], records[1]
			if string(started.Arguments) != tc.wantArguments || string(ended.Arguments) != tc.wantArguments || started.Result != nil || string(ended.Result) != tc.wantResults {
				t.Errorf("arguments %s and %s, result %s", started.Arguments, ended.Arguments, ended.Result)
			}
			if ended.StartedAs != started.Sequence || ended.ArgumentsDigest == "" || ended.ArgumentsBytes != len(args) {
				t.Errorf("ended as %+v", ended)
			}
		})
	}
}

func TestACallWhoseServerDiesHasAnUnknownOutcome(t *testing.T) {
	f := newFixture(t, trusted)
	f.server.Answer = func(context.Context, *dispatchertest.Conn, upstream.Call) (upstream.Reply, error) {
		return upstream.Reply{}, &upstream.Error{Reason: registry.FailExited, Message: "It ended."}
	}
	f.call("remove", `{"path":"/"}`)
	if got := outcomes(f.audit.String()); got != "started unknown" {
		t.Errorf("recorded as %s", got)
	}
}

func TestWhatAClientIsAskedIsRecorded(t *testing.T) {
	f := newFixture(t, func(d *registry.Document) { d.Policy.Audit = registry.Audit{Arguments: true, Results: true} })
	f.RecordAsk(requests.Caller{Address: "10.0.0.1"}, &requests.Trace{ID: "t", Parent: "p", Span: "s"}, upstream.Event{Method: "elicitation/create", Params: []byte(`{"message":"?","password":"x"}`)},
		upstream.Reply{Result: []byte(`{"action":"accept"}`)}, f.now.Add(-time.Second))
	records := f.written(t)
	if len(records) != 1 || string(records[0].Arguments) != `{"message":"?","password":"(redacted)"}` || string(records[0].Result) != `{"action":"accept"}` ||
		records[0].Duration != 1000 || records[0].TraceID != "t" || records[0].Parent != "s" || records[0].Outcome != audit.Success {
		t.Errorf("recorded as %+v", records)
	}
}
