// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/catalog"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/rules"
)

// faulty is a catalogue with something wrong with each of its definitions, if at all.
type faulty struct {
	View
	err error
}

func (f faulty) Lookup(name string) (catalog.Tool, error) {
	t, err := f.View.Lookup(name)
	if err == nil {
		err = f.err
	}
	return t, err
}

func TestDecideCall(t *testing.T) {
	cases := map[string]struct {
		tool, args string
		trusted    bool
		change     func(*registry.Document)
		view       func(catalogue)
		task       bool
		fault      error // of what the connection lists

		wantKind   Kind
		wantReason string
		wantStage  Stage
		wantPath   string
		wantRule   string
		wantText   string
	}{
		"a read-only tool with fitting arguments passes": {tool: "read_file", args: `{"path":"a"}`},
		"absent arguments are an empty object":           {tool: "sum"},
		"an unknown tool is unknown even to a trusted server": {
			tool: "nope", trusted: true, wantKind: ToolNotFound, wantReason: "UnknownTool", wantStage: StageTool, wantText: "tools/list",
		},
		"a tool that the server lists but nobody registered is unknown": {
			tool: "read_file", args: `{"path":"a"}`,
			change:   func(d *registry.Document) { d.Revisions[revision] = registry.Revision{} },
			wantKind: ToolNotFound, wantReason: "UnknownTool", wantStage: StageTool,
		},
		"another revision's tools are unknown": {
			tool: "read_file", args: `{"path":"a"}`,
			change: func(d *registry.Document) {
				d.Revisions = map[string]registry.Revision{"r2": d.Revisions[revision]}
			},
			wantKind: ToolNotFound, wantReason: "UnknownTool", wantStage: StageTool,
		},
		"a known tool without an admitted digest is denied": {
			tool: "read_file", args: `{"path":"a"}`, trusted: true,
			change:   func(d *registry.Document) { entry(d, "read_file").Digest = "" },
			wantKind: Denied, wantReason: "NotAdmitted", wantStage: StagePin,
		},
		"a changed definition is denied": {
			tool: "read_file", args: `{"path":"a"}`, trusted: true,
			view: func(c catalogue) {
				tool := c["read_file"]
				tool.Digest = "v1:sha256:" + strings.Repeat("0", 64)
				c["read_file"] = tool
			},
			wantKind: Denied, wantReason: "DefinitionChanged", wantStage: StagePin,
		},
		"where nothing is pinned, any definition passes": {
			tool: "read_file", args: `{"path":"a"}`,
			change: func(d *registry.Document) { d.Policy.Discovery.PinningOff, entry(d, "read_file").Digest = true, "" },
		},
		"where nothing is pinned, a definition that is known to keep the contract passes": {
			tool: "read_file", args: `{"path":"a"}`,
			change: func(d *registry.Document) {
				e := entry(d, "read_file")
				d.Policy.Discovery.PinningOff, e.Digest, e.Digests = true, "", []string{e.Digest, "v1:sha256:x"}
			},
		},
		"where nothing is pinned, one that nobody has held against the contract is denied": {
			tool: "read_file", args: `{"path":"a"}`, trusted: true,
			change: func(d *registry.Document) {
				e := entry(d, "read_file")
				d.Policy.Discovery.PinningOff, e.Digest, e.Digests = true, "", []string{"v1:sha256:x"}
			},
			wantKind: Denied, wantReason: "NotAdmitted", wantStage: StagePin, wantText: "what was promised of it",
		},
		"a tool that this connection does not list is denied": {
			tool: "read_file", args: `{"path":"a"}`, view: func(c catalogue) { delete(c, "read_file") },
			wantKind: Denied, wantReason: "Gone", wantStage: StagePin,
		},
		"a withheld tool says why": {
			tool: "read_file", args: `{"path":"a"}`, trusted: true,
			change: func(d *registry.Document) {
				e := entry(d, "read_file")
				e.Withheld, e.Message = "DuplicateName", "two objects name it."
			},
			wantKind: Denied, wantReason: "DuplicateName", wantStage: StagePin, wantText: "two objects name it",
		},
		"a disabled tool is denied": {
			tool: "read_file", args: `{"path":"a"}`, trusted: true,
			change:   func(d *registry.Document) { entry(d, "read_file").Withheld = "Disabled" },
			wantKind: Denied, wantReason: "Disabled", wantStage: StageState,
		},
		"a tool that must be a task is denied": {
			tool: "crawl", wantKind: Denied, wantReason: "TaskRequired", wantStage: StagePin,
		},
		"a schema that cannot be checked denies its tool": {
			tool: "odd", args: `{}`, wantKind: Denied, wantReason: "InvalidSchema", wantStage: StageArguments,
		},
		"a schema by which no result can be checked denies its tool before it is called": {
			tool: "odd_result", args: `{}`, wantKind: Denied, wantReason: "InvalidSchema", wantStage: StageArguments, wantText: "output schema",
		},
		"so it does where results are not checked": {
			tool: "odd_result", args: `{}`, change: func(d *registry.Document) { d.Policy.Validation.Results = registry.Off },
			wantKind: Denied, wantReason: "InvalidSchema", wantStage: StageArguments, wantText: "output schema",
		},
		"a tool that the server lists twice is denied, whatever the document says": {
			tool: "read_file", args: `{"path":"a"}`, trusted: true, fault: ErrDuplicateName,
			wantKind: Denied, wantReason: "DuplicateName", wantStage: StagePin,
		},
		"a tool without a schema is denied, whatever the document says": {
			tool: "read_file", args: `{"path":"a"}`, trusted: true, fault: catalog.ErrNoInputSchema,
			wantKind: Denied, wantReason: "NoInputSchema", wantStage: StagePin,
		},
		"a definition that can't be read is denied, whatever the document says": {
			tool: "read_file", args: `{"path":"a"}`, trusted: true, fault: errors.New("/inputSchema is no object"),
			wantKind: Denied, wantReason: "InvalidSchema", wantStage: StagePin, wantText: "/inputSchema is no object",
		},
		"a missing argument names itself": {
			tool: "read_file", args: `{}`, wantKind: SchemaError, wantReason: "InvalidArguments", wantStage: StageArguments, wantText: "path",
		},
		"a wrong type names path and type": {
			tool: "read_file", args: `{"path":7}`,
			wantKind: SchemaError, wantReason: "InvalidArguments", wantStage: StageArguments, wantPath: "/path", wantText: "string",
		},
		"a string is never taken for a number": {
			tool: "read_file", args: `{"path":"a","head":"5"}`,
			wantKind: SchemaError, wantReason: "InvalidArguments", wantStage: StageArguments, wantPath: "/head", wantText: "integer",
		},
		"null is not an object": {tool: "sum", args: `null`, wantKind: SchemaError, wantReason: "InvalidArguments", wantStage: StageArguments},
		"a key that folds to a declared one is ambiguous": {
			tool: "read_file", args: `{"path":"a","Path":"/etc/shadow"}`,
			wantKind: SchemaError, wantReason: "AmbiguousKey", wantStage: StageArguments, wantPath: "/Path",
		},
		"ambiguous keys are refused although validation is off": {
			tool: "read_file", args: `{"PATH":"a"}`,
			change:   func(d *registry.Document) { d.Policy.Validation.Arguments = registry.Off },
			wantKind: SchemaError, wantReason: "AmbiguousKey", wantStage: StageArguments, wantPath: "/PATH",
		},
		"validation Off lets wrong arguments through": {
			tool: "read_file", args: `{"path":7}`,
			change: func(d *registry.Document) { d.Policy.Validation.Arguments = registry.Off },
		},
		"validation Warn lets wrong arguments through": {
			tool: "read_file", args: `{"path":7}`,
			change: func(d *registry.Document) { d.Policy.Validation.Arguments = registry.Warn },
		},
		"a destructive tool of an untrusted server is blocked": {
			tool: "write_file", args: `{"path":"a","content":""}`, wantKind: Denied, wantReason: "Untrusted", wantStage: StageGate,
		},
		"a destructive tool of a trusted server passes": {tool: "write_file", args: `{"path":"a","content":""}`, trusted: true},
		"a tool without annotations counts as destructive": {
			tool: "run", wantKind: Denied, wantReason: "Untrusted", wantStage: StageGate, wantText: "does not say",
		},
		"a tool without annotations may be called where people say so": {
			tool: "run", change: func(d *registry.Document) { d.Policy.Gating.UnannotatedSafe = true },
		},
		"an additive tool passes": {tool: "append"},
		"an additive tool is blocked where everything that mutates is": {
			tool: "append", change: func(d *registry.Document) { d.Policy.Gating.Mutating = true },
			wantKind: Denied, wantReason: "Untrusted", wantStage: StageGate, wantText: "not read-only",
		},
		"a hint of a person makes a read-only tool destructive": {
			tool: "read_file", args: `{"path":"a"}`,
			change:   func(d *registry.Document) { entry(d, "read_file").Hints = &registry.Hints{Destructive: ptr(true)} },
			wantKind: Denied, wantReason: "Untrusted", wantStage: StageGate, wantText: "by decision",
		},
		"a hint of a person makes a destructive tool safe": {
			tool: "write_file", args: `{"path":"a","content":""}`,
			change: func(d *registry.Document) { entry(d, "write_file").Hints = &registry.Hints{Destructive: ptr(false)} },
		},
		"arguments are checked before the gate": {
			tool: "write_file", args: `{}`, wantKind: SchemaError, wantReason: "InvalidArguments", wantStage: StageArguments,
		},
		"a rule rejects with its message": {
			tool: "read_file", args: `{"path":"/etc/shadow"}`,
			change: func(d *registry.Document) {
				d.RuleSets = []rules.Set{celSet(rules.Rule{
					Name: "inside", Action: rules.Reject, Require: `args.path.startsWith("/data/")`, Message: "Only files under /data can be read.",
				})}
			},
			wantKind: Denied, wantReason: "RuleRejected", wantStage: StageRules, wantRule: "limits/inside", wantText: "under /data",
		},
		"a rule sees defaults that the caller left out": {
			tool: "read_file", args: `{"path":"a"}`,
			change: func(d *registry.Document) {
				d.RuleSets = []rules.Set{celSet(rules.Rule{Name: "few", Action: rules.Reject, When: `args.head == 10`})}
			},
			wantKind: Denied, wantReason: "RuleRejected", wantStage: StageRules, wantRule: "limits/few",
		},
		"no rule lifts the gate": {
			tool: "write_file", args: `{"path":"a","content":""}`,
			change: func(d *registry.Document) {
				d.RuleSets = []rules.Set{celSet(rules.Rule{Name: "all", Action: rules.Allow, When: `true`})}
			},
			wantKind: Denied, wantReason: "Untrusted", wantStage: StageGate,
		},
		"a rule that cannot be evaluated rejects": {
			tool: "read_file", args: `{"path":"a"}`,
			change: func(d *registry.Document) {
				d.RuleSets = []rules.Set{celSet(rules.Rule{Name: "typo", Action: rules.Reject, When: `args.paht == "x"`})}
			},
			wantKind: Denied, wantReason: "RuleRejected", wantStage: StageRules, wantRule: "limits/typo",
		},
		"a broken set denies what it governs": {
			tool: "read_file", args: `{"path":"a"}`,
			change: func(d *registry.Document) {
				d.RuleSets = []rules.Set{{Name: "limits", Type: rules.TypePolicy, Format: rules.FormatCEL, Broken: "RuleSet limits does not exist"}}
			},
			wantKind: Denied, wantReason: "RuleRejected", wantStage: StageRules, wantRule: "limits",
		},
		"a confirmation that nobody can give is a refusal": {
			tool: "read_file", args: `{"path":"a"}`, trusted: true,
			change: func(d *registry.Document) {
				d.RuleSets = []rules.Set{celSet(rules.Rule{Name: "ask", Action: rules.RequireConfirmation, When: `true`})}
			},
			wantKind: NeedsConfirmation, wantReason: "NeedsConfirmation", wantStage: StageConfirm, wantRule: "limits/ask",
		},
		"tools that are not exposed are no method": {
			tool: "read_file", args: `{"path":"a"}`, trusted: true,
			change:   func(d *registry.Document) { d.Policy.Expose.Tools = false },
			wantKind: MethodNotFound, wantReason: "NotExposed", wantStage: StageMethod,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			view := allDefinitions(t)
			e := engine(t, view, tc.change)
			if tc.view != nil {
				tc.view(view)
			}
			call := Call{Method: "tools/call", Tool: tc.tool, ProtocolVersion: "2025-11-25", Now: time.Unix(1, 0)}
			if tc.args != "" {
				call.Arguments = []byte(tc.args)
			}
			got := e.Decide(faulty{view, tc.fault}, call, tc.trusted)
			if tc.wantKind == "" {
				if got.Refusal != nil {
					t.Fatalf("refused: %+v", got.Refusal)
				}
				if got.Tool.Digest == "" || got.Timeout != 30*time.Second {
					t.Errorf("got tool %q and time-out %v, want the definition and 30 s", got.Tool.Digest, got.Timeout)
				}
				return
			}
			if got.Refusal == nil {
				t.Fatalf("let through, want %s", tc.wantKind)
			}
			want := Refusal{Kind: tc.wantKind, Reason: tc.wantReason, Stage: tc.wantStage, Path: tc.wantPath, Rule: tc.wantRule, Tool: tc.tool}
			have := *got.Refusal
			have.Message, have.Violations = "", nil
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("refusal (-want +got):\n%s", diff)
			}
			if !strings.Contains(got.Refusal.Message, tc.wantText) {
				t.Errorf("message %q does not contain %q", got.Refusal.Message, tc.wantText)
			}
			wantVerdict := Refuse
			if tc.wantKind == NeedsConfirmation {
				wantVerdict = Confirm
			}
			if last := got.Stages[len(got.Stages)-1]; last.Stage != tc.wantStage || last.Verdict != wantVerdict {
				t.Errorf("last stage %+v, want %s to %s", last, tc.wantStage, wantVerdict)
			}
			for _, way := range []string{"spec.", "trust:", "kubectl", "confirm"} {
				if tc.wantKind == Denied && tc.wantRule == "" && strings.Contains(got.Refusal.Message, way) {
					t.Errorf("message %q tells the caller how to approve itself (%q)", got.Refusal.Message, way)
				}
			}
		})
	}
}

func TestDecideOtherMethods(t *testing.T) {
	cases := map[string]struct {
		call     Call
		change   func(*registry.Document)
		wantKind Kind
		wantRule string
	}{
		"an exposed method passes": {call: Call{Method: "resources/read", URI: "file:///a"}},
		"ping always passes":       {call: Call{Method: "ping"}},
		"a method that is not exposed is unknown": {
			call: Call{Method: "prompts/get"}, wantKind: MethodNotFound,
		},
		"a vendor's method is unknown": {call: Call{Method: "acme/run"}, wantKind: MethodNotFound},
		"tasks are unknown":            {call: Call{Method: "tasks/result"}, wantKind: MethodNotFound},
		"case does not make a method":  {call: Call{Method: "Tools/call"}, wantKind: MethodNotFound},
		"a passed-through method passes": {
			call: Call{Method: "acme/run"}, change: func(d *registry.Document) { d.Policy.Passthrough = []string{"acme/run"} },
		},
		"a rule governs another method": {
			call: Call{Method: "resources/read", URI: "file:///secret"},
			change: func(d *registry.Document) {
				set := celSet(rules.Rule{Name: "secret", Action: rules.Reject, When: `call.uri.contains("secret")`})
				set.Methods = []string{"resources/read"}
				d.RuleSets = []rules.Set{set}
			},
			wantKind: Denied, wantRule: "limits/secret",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := engine(t, allDefinitions(t), tc.change)
			got := e.Decide(nil, tc.call, false).Refusal
			if tc.wantKind == "" {
				if got != nil {
					t.Fatalf("refused: %+v", got)
				}
				return
			}
			if got == nil || got.Kind != tc.wantKind || got.Rule != tc.wantRule {
				t.Errorf("got %+v, want %s by %q", got, tc.wantKind, tc.wantRule)
			}
		})
	}
}

func TestTrustLapses(t *testing.T) {
	start := time.Unix(1000, 0)
	cases := map[string]struct {
		trust    registry.Trust
		now      time.Time
		lastPoll time.Time
		want     bool
	}{
		"untrusted is untrusted":           {trust: registry.Trust{}, now: start, lastPoll: start},
		"trusted is trusted":               {trust: registry.Trust{Trusted: true, MaxStalenessSeconds: 600}, now: start, lastPoll: start, want: true},
		"trust ends when it expires":       {trust: registry.Trust{Trusted: true, ExpiresAt: 1000}, now: start, lastPoll: start},
		"trust holds until it expires":     {trust: registry.Trust{Trusted: true, ExpiresAt: 1001}, now: start, lastPoll: start, want: true},
		"trust lapses without a manager":   {trust: registry.Trust{Trusted: true, MaxStalenessSeconds: 600}, now: start.Add(601 * time.Second), lastPoll: start},
		"trust outlives a short absence":   {trust: registry.Trust{Trusted: true, MaxStalenessSeconds: 600}, now: start.Add(600 * time.Second), lastPoll: start, want: true},
		"trust without a bound never ends": {trust: registry.Trust{Trusted: true}, now: start.Add(1e6 * time.Second), lastPoll: time.Time{}, want: true},
		"a dispatcher that was never polled does not trust": {
			trust: registry.Trust{Trusted: true, MaxStalenessSeconds: 600}, now: start.Add(1e9 * time.Second), lastPoll: time.Time{},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := engine(t, catalogue{}, func(d *registry.Document) { d.Policy.Trust = tc.trust })
			if got := e.Trusted(tc.now, tc.lastPoll); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestCheckResult(t *testing.T) {
	cases := map[string]struct {
		result         string
		mode           registry.Mode
		wantRefused    bool
		wantViolations int
	}{
		"a fitting result passes":             {result: `{"content":[],"structuredContent":{"sum":3}}`, mode: registry.Enforce},
		"an error result is exempt":           {result: `{"content":[],"isError":true}`, mode: registry.Enforce},
		"a missing structuredContent is told": {result: `{"content":[]}`, mode: registry.Warn, wantViolations: 1},
		"a missing structuredContent refuses": {result: `{"content":[]}`, mode: registry.Enforce, wantRefused: true, wantViolations: 1},
		"a wrong structuredContent refuses":   {result: `{"content":[],"structuredContent":{"sum":"3"}}`, mode: registry.Enforce, wantRefused: true, wantViolations: 1},
		"off looks at nothing":                {result: `{"structuredContent":{"sum":"3"}}`, mode: registry.Off},
		"isError false is no exemption":       {result: `{"content":[],"isError":false,"structuredContent":{}}`, mode: registry.Enforce, wantRefused: true, wantViolations: 1},
		"isError as text is no exemption":     {result: `{"content":[],"isError":"true","structuredContent":{}}`, mode: registry.Enforce, wantRefused: true, wantViolations: 2},
		"no content is told":                  {result: `{"structuredContent":{"sum":3}}`, mode: registry.Warn, wantViolations: 1},
		"no content refuses":                  {result: `{"structuredContent":{"sum":3}}`, mode: registry.Enforce, wantRefused: true, wantViolations: 1},
		"no content is passed":                {result: `{"structuredContent":{"sum":3}}`, mode: registry.Off},
		"nothing at all is told":              {result: `{}`, mode: registry.Warn, wantViolations: 2},
		"an error without content is told":    {result: `{"isError":true}`, mode: registry.Warn, wantViolations: 1},
		"a block without a type is told":      {result: `{"content":[{"text":"a"}],"isError":true}`, mode: registry.Warn, wantViolations: 1},
		"content as text always refuses":      {result: `{"content":"done","structuredContent":{"sum":3}}`, mode: registry.Off, wantRefused: true, wantViolations: 1},
		"content as null always refuses":      {result: `{"content":null,"isError":true}`, mode: registry.Off, wantRefused: true, wantViolations: 1},
		"a block as text always refuses":      {result: `{"content":["done"]}`, mode: registry.Off, wantRefused: true, wantViolations: 1},
		"a vendor block passes":               {result: `{"content":[{"type":"x-graph"}],"structuredContent":{"sum":3}}`, mode: registry.Enforce},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := engine(t, allDefinitions(t), func(d *registry.Document) { d.Policy.Validation.Results = tc.mode })
			refusal, violations := e.CheckResult(parse(t, sumTool), []byte(tc.result))
			if (refusal != nil) != tc.wantRefused || len(violations) != tc.wantViolations {
				t.Errorf("got %+v and %d violations, want refused %v and %d", refusal, len(violations), tc.wantRefused, tc.wantViolations)
			}
		})
	}
}

func TestRefusalOnEverySurface(t *testing.T) {
	call := func(version string, task bool) Call {
		return Call{Method: "tools/call", ProtocolVersion: version, Task: task}
	}
	for _, kind := range []Kind{
		ParseError, InvalidRequest, InvalidParams, MethodNotFound, HeaderMismatch, MissingCapability, UnsupportedVersion, SessionNotFound,
		NotAllowed, ToolNotFound, SchemaError, Denied, NeedsConfirmation, RateLimited, TransportError, TimeoutError, SerializationError,
	} {
		if kind.Code() == 0 || kind.HTTPModern() == 0 || kind.HTTPLegacy() == 0 || kind.HTTPREST() == 0 || kind.ErrorType() == "" {
			t.Errorf("%s has a hole in its row", kind)
		}
		if c := kind.Code(); c > -32020 && c <= -32000 && kind != SessionNotFound {
			t.Errorf("%s uses %d, which revision 2026-07-28 forbids", kind, c)
		}
	}
	r := &Refusal{Kind: SchemaError, Stage: StageArguments, Tool: "t", Path: "/a", Message: "say \"hi\"\n"}
	if !r.AsResult(call("2025-11-25", false)) || r.AsResult(call("2025-06-18", false)) || r.AsResult(call("2025-11-25", true)) {
		t.Error("arguments that do not fit are a result from 2025-11-25 on, for calls that are no tasks")
	}
	denied := &Refusal{Kind: Denied}
	if !denied.AsResult(call("2024-11-05", false)) || denied.AsResult(Call{Method: "resources/read"}) {
		t.Error("a denial is a result for tools/call alone")
	}
	var result struct {
		Content []struct{ Type, Text string }
		IsError bool
		Meta    map[string]map[string]any `json:"_meta"`
	}
	if err := json.Unmarshal(r.Result("files", "trace"), &result); err != nil {
		t.Fatal(err)
	}
	details := result.Meta[metaRefusal]
	if !result.IsError || result.Content[0].Text != r.Message || details["path"] != "/a" || details["traceId"] != "trace" || details["server"] != "files" {
		t.Errorf("got %+v", result)
	}
}
