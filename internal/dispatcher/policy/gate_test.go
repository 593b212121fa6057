// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"
	"testing"
	"time"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/rules"
)

func TestConfirmation(t *testing.T) {
	byCaller := func(d *registry.Document) {
		d.Policy.Gating.Confirm, d.Policy.Confirm.By = true, registry.ConfirmByCaller
	}
	with := func(r rules.Rule) func(*registry.Document) {
		return func(d *registry.Document) { byCaller(d); d.RuleSets = []rules.Set{celSet(r)} }
	}
	yes := rules.Confirmation{By: "Caller"}
	cases := map[string]struct {
		change    func(*registry.Document)
		tool      string
		confirmed rules.Confirmation
		trusted   bool
		wantKind  Kind
		wantText  string
	}{
		"the gate asks where it may":                 {change: byCaller, tool: "write_file", wantKind: NeedsConfirmation, wantText: "need a person's confirmation"},
		"a confirmed call passes the gate":           {change: byCaller, tool: "write_file", confirmed: yes},
		"trust needs no confirmation":                {change: byCaller, tool: "write_file", trusted: true},
		"a reading tool needs no confirmation":       {change: byCaller, tool: "read_file"},
		"a Block cannot be confirmed away":           {tool: "write_file", confirmed: yes, wantKind: Denied, wantText: "blocked"},
		"one confirmation serves gate and rules":     {change: with(rules.Rule{Name: "ask", Action: rules.RequireConfirmation, When: `true`}), tool: "write_file", confirmed: yes},
		"a rule asks where the gate does not":        {change: with(rules.Rule{Name: "ask", Action: rules.RequireConfirmation, When: `true`, Message: "Mind the files."}), tool: "read_file", wantKind: NeedsConfirmation, wantText: "Mind the files."},
		"a confirmation lifts no Reject":             {change: with(rules.Rule{Name: "no", Action: rules.Reject, When: `true`}), tool: "write_file", confirmed: yes, wantKind: Denied},
		"rules see who confirmed":                    {change: with(rules.Rule{Name: "other", Action: rules.Reject, When: `confirmed.by == "Caller"`}), tool: "read_file", confirmed: yes, wantKind: Denied},
		"rules see that nobody has":                  {change: with(rules.Rule{Name: "any", Action: rules.Reject, When: `confirmed.by != ""`}), tool: "read_file"},
		"an approver cannot be asked, and that says": {change: func(d *registry.Document) { d.Policy.Gating.Confirm = true }, tool: "write_file", wantKind: NeedsConfirmation, wantText: "approvers cannot be asked yet"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			view := allDefinitions(t)
			e := engine(t, view, tc.change)
			call := Call{Method: "tools/call", Tool: tc.tool, Arguments: []byte(`{"path":"a","content":""}`), Confirmed: tc.confirmed, Now: time.Unix(1, 0)}
			if tc.tool == "read_file" {
				call.Arguments = []byte(`{"path":"a"}`)
			}
			got := e.Decide(view, call, tc.trusted)
			if tc.wantKind == "" {
				if got.Refusal != nil {
					t.Errorf("refused: %+v", got.Refusal)
				}
				return
			}
			if got.Refusal == nil || got.Refusal.Kind != tc.wantKind || !strings.Contains(got.Refusal.Message, tc.wantText) {
				t.Errorf("got %+v, want %s %q", got.Refusal, tc.wantKind, tc.wantText)
			}
		})
	}
}

// A tool that can be confirmed is not blocked, and so it is listed where blocked tools are hidden.
func TestListingOfWhatCanBeConfirmed(t *testing.T) {
	view := allDefinitions(t)
	e := engine(t, view, func(d *registry.Document) { d.Policy.Gating = registry.Gating{Confirm: true, HideBlocked: true} })
	for _, tool := range e.Listing(view, false) {
		if tool.Tool.Name == "write_file" && !tool.Blocked {
			return
		}
	}
	t.Error("write_file is not listed, or called blocked")
}
