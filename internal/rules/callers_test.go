// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/rules"
)

// TestCallers has a case for each sentence on whom a set of some callers governs.
func TestCallers(t *testing.T) {
	ann := rules.CallerInfo{Kind: "User", Name: "ann", Groups: []string{"dev", "ops"}}
	robot := rules.CallerInfo{Kind: "ServiceAccount", Name: "robot", Namespace: "team-a"}
	for name, tc := range map[string]struct {
		callers rules.Callers
		caller  rules.CallerInfo
		action  rules.Action
		when    string
		want    rules.Action
		says    string
	}{
		"a caller by name":                        {callers: rules.Callers{Names: []string{"bob", "ann"}}, caller: ann, want: rules.Reject},
		"no other caller":                         {callers: rules.Callers{Names: []string{"an", "Ann"}}, caller: ann},
		"a caller by glob":                        {callers: rules.Callers{Names: []string{"a*"}}, caller: ann, want: rules.Reject},
		"a caller in one of the groups":           {callers: rules.Callers{Groups: []string{"ops", "sec"}}, caller: ann, want: rules.Reject},
		"groups by glob":                          {callers: rules.Callers{Groups: []string{"*ps"}}, caller: ann, want: rules.Reject},
		"no caller without a group":               {callers: rules.Callers{Groups: []string{"*"}}, caller: robot},
		"a service account by its namespace":      {callers: rules.Callers{Namespaces: []string{"team-*"}}, caller: robot, want: rules.Reject},
		"no caller without a namespace":           {callers: rules.Callers{Namespaces: []string{"*"}}, caller: ann},
		"all members must agree":                  {callers: rules.Callers{Names: []string{"ann"}, Groups: []string{"sec"}}, caller: ann},
		"and then they do":                        {callers: rules.Callers{Names: []string{"robot"}, Namespaces: []string{"team-a"}}, caller: robot, want: rules.Reject},
		"a caller who may be anybody":             {callers: rules.Callers{Names: []string{"bob"}}, want: rules.Reject, says: "m (the caller has not proved who it is, so that it may be one whom the rule set selects)"},
		"whom no rule governs that does not hold": {callers: rules.Callers{Names: []string{"bob"}}, when: off},
		"who is asked to confirm as bob would be": {callers: rules.Callers{Names: []string{"bob"}}, action: rules.RequireConfirmation, want: rules.RequireConfirmation},
		"and is allowed nothing for it":           {callers: rules.Callers{Names: []string{"bob"}}, action: rules.Allow},
	} {
		t.Run(name, func(t *testing.T) {
			s := set("s", rules.TypePolicy, 0, rule("m", rules.Reject, on, nil))
			s.Callers = &tc.callers
			if tc.action != "" {
				s.Rules[0].Action = tc.action
			}
			if tc.when != "" {
				s.Rules[0].When = tc.when
			}
			in := call(`{}`)
			in.Caller = tc.caller
			d := rules.Decide(compile(t, s), in)
			if d.Action != tc.want || tc.says != "" && d.Message != tc.says {
				t.Errorf("%q: %s, want %q", d.Action, d.Message, tc.want)
			}
		})
	}
}

// TestABrokenSetOfSomeCallers denies them, and whoever may be one of them.
func TestABrokenSetOfSomeCallers(t *testing.T) {
	s := broken(set("s", rules.TypePolicy, 0))
	s.Callers = &rules.Callers{Names: []string{"ann"}}
	for caller, want := range map[string]rules.Action{"ann": rules.Reject, "bob": rules.ActionNone, "": rules.Reject} {
		in := call(`{}`)
		in.Caller = rules.CallerInfo{Name: caller}
		if d := rules.Decide(compile(t, s), in); d.Action != want {
			t.Errorf("caller %q: %q, want %q", caller, d.Action, want)
		}
	}
}

// TestASchemaSaysWhatIsWrongToACallerWhoMayBeAnybody too.
func TestASchemaSaysWhatIsWrongToACallerWhoMayBeAnybody(t *testing.T) {
	s := rules.Set{Name: "s", Type: rules.TypePolicy, Format: rules.FormatJSONSchema, Callers: &rules.Callers{Groups: []string{"dev"}},
		Rules: []rules.Rule{{Name: "r", Action: rules.Reject, Schema: []byte(`{"required":["ticket"]}`)}}}
	in := call(`{}`)
	in.Caller = rules.CallerInfo{}
	d := rules.Decide(compile(t, s), in)
	if d.Action != rules.Reject || !strings.Contains(d.Message, `"ticket"`) || !strings.Contains(d.Message, "has not proved who it is") {
		t.Errorf("%+v", d)
	}
}
