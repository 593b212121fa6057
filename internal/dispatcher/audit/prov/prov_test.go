// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package prov_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/dispatcher/audit"
	"toolgate.dev/toolgate/internal/dispatcher/audit/prov"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// hostile is what a client might put where a name is due.
const hostile = "a\"b\\c\n\r\t\x00\x01\x7f > . <x> é 名 \ufffe \U0001F600 \xff ' ^^ @en"

// all are records of every shape.
func all() []audit.Record {
	at := time.Date(2026, 11, 28, 3, 0, 0, 123456789, time.UTC)
	base := audit.Record{
		Time: at, Run: "00aa11bb22cc33dd", TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", Caller: "anonymous@10.0.0.7", Client: "desk/1.0",
		Server: "files", Method: "tools/call", Tool: "write_file", ToolDigest: "v1:sha256:01", RegistryDigest: "sha256:02",
		ArgumentsDigest: "hmac-sha256:03", ArgumentsBytes: 12,
	}
	with := func(seq uint64, edit func(*audit.Record)) audit.Record {
		r := base
		r.Sequence, r.Previous = seq, fmt.Sprintf("sha256:%02d", seq)
		edit(&r)
		return r
	}
	return []audit.Record{
		with(1, func(r *audit.Record) { r.Outcome = audit.Started }),
		with(2, func(r *audit.Record) {
			r.Outcome, r.StartedAs, r.Duration, r.Parent = audit.Success, 1, 1.25, "00f067aa0ba902b7"
			r.ResultDigest, r.ResultBytes = "hmac-sha256:04", 34
			r.Arguments, r.Result = json.RawMessage(`{"path":"/data/x","token":"(redacted)"}`), json.RawMessage(`{"content":[]}`)
			r.Stages = []policy.StageResult{{Stage: policy.StageTool, Verdict: policy.Pass}, {Stage: policy.StageRules, Verdict: policy.Warn, Message: "m"}}
		}),
		with(3, func(r *audit.Record) {
			r.Outcome, r.Kind, r.Reason, r.Rule, r.Duration = audit.Rejected, policy.Denied, "RuleRejected", "set/rule", 0.000001
			r.Stages = []policy.StageResult{{Stage: policy.StageGate, Verdict: policy.Refuse, Message: "no"}}
		}),
		{Time: at, Run: base.Run, Sequence: 4, Outcome: audit.Gap, Lost: 7},
		{Time: at, Run: base.Run, Sequence: 5, Caller: hostile, Client: hostile, Server: hostile, Method: hostile, Tool: hostile,
			TraceID: hostile, Reason: hostile, Rule: hostile, Outcome: audit.Failed, ArgumentsDigest: hostile, Duration: 1e21},
		{Outcome: audit.Rejected, Sequence: 6},
		with(7, func(r *audit.Record) { r.Method, r.Tool, r.Outcome = "elicitation/create", "", audit.Success }),
	}
}

func document(t *testing.T, records []audit.Record) string {
	t.Helper()
	var out bytes.Buffer
	w := prov.NewWriter(&out)
	for i := range records {
		if err := w.Write(&records[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestMapping(t *testing.T) {
	got := document(t, all())
	golden := filepath.Join("testdata", "records.ttl")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

// quad is one triple as the independent reader gives it.
type quad struct{ Subject, Predicate, Object, Datatype string }

// read gives what another implementation reads in a document: the npm package n3, in its strict mode for Turtle.
func read(t *testing.T, document string) []quad {
	t.Helper()
	folder := os.Getenv("TOOLGATE_NPM")
	if folder == "" {
		t.Skip("TOOLGATE_NPM is not set: it names the folder that hack/image/npm.sh prints")
	}
	reader, err := filepath.Abs(filepath.Join("testdata", "read.cjs"))
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "node", reader, filepath.Join(folder, "n3", "node_modules", "n3"))
	command.Stdin = strings.NewReader(document)
	var errs bytes.Buffer
	command.Stderr = &errs
	out, err := command.Output()
	if err != nil {
		t.Fatalf("the reader refuses it: %v\n%s\n%s", err, errs.String(), document)
	}
	var quads []quad
	if err := json.Unmarshal(out, &quads); err != nil {
		t.Fatal(err)
	}
	return quads
}

func TestAnotherReaderReadsTheSame(t *testing.T) {
	const (
		mcp, provNS, ours = "http://nkllon.com/ontology/mcp#", "http://www.w3.org/ns/prov#", "https://toolgate.dev/ns/audit#"
		xsd               = "http://www.w3.org/2001/XMLSchema#"
		record, activity  = "urn:toolgate:record:00aa11bb22cc33dd.2", "urn:toolgate:activity:00aa11bb22cc33dd.1"
	)
	quads := read(t, document(t, all()))
	has := func(want quad) {
		t.Helper()
		for _, q := range quads {
			if q == want {
				return
			}
		}
		t.Errorf("it does not hold %+v", want)
	}
	has(quad{record, mcp + "traceId", "4bf92f3577b34da6a3ce929d0e0e4736", xsd + "string"})
	has(quad{record, mcp + "sourceAgent", "urn:toolgate:caller:anonymous%4010.0.0.7", ""})
	has(quad{record, mcp + "targetAgent", "urn:toolgate:server:files", ""})
	has(quad{record, mcp + "interactionType", "tools/call", xsd + "string"})
	has(quad{record, mcp + "status", "success", xsd + "string"})
	has(quad{record, mcp + "durationMs", "1.25", xsd + "decimal"})
	has(quad{record, provNS + "generatedAtTime", "2026-11-28T03:00:00.123456789Z", xsd + "dateTime"})
	has(quad{record, provNS + "wasGeneratedBy", activity, ""})
	has(quad{record, ours + "stages", "tool=pass, rules=warn", xsd + "string"})
	has(quad{activity, provNS + "wasAssociatedWith", "urn:toolgate:server:files", ""})
	has(quad{record + "#arguments", provNS + "value", `{"path":"/data/x","token":"(redacted)"}`, xsd + "string"})
	has(quad{"urn:toolgate:record:00aa11bb22cc33dd.4", ours + "lostRecords", "7", xsd + "integer"})
	has(quad{"urn:toolgate:record:00aa11bb22cc33dd.7", mcp + "sourceAgent", "urn:toolgate:server:files", ""})
	// What a client chose comes out as it went in, but for bytes that are no text.
	has(quad{"urn:toolgate:record:00aa11bb22cc33dd.5", ours + "tool", strings.ToValidUTF8(hostile, "\ufffd"), xsd + "string"})
	if empty := read(t, document(t, nil)); len(empty) != 0 {
		t.Errorf("an empty document holds %v", empty)
	}
}
