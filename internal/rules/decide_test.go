// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/rules"
)

// on, off and failing are conditions that hold, do not hold, and can't be evaluated.
const (
	on      = `true`
	off     = `false`
	failing = `args.missing == 1`
)

func at(p int) *int { return &p }

func rule(name string, action rules.Action, when string, priority *int) rules.Rule {
	return rules.Rule{Name: name, Action: action, When: when, Priority: priority, Message: name}
}

func set(name string, typ rules.Type, priority int, rs ...rules.Rule) rules.Set {
	return rules.Set{Name: name, Type: typ, Priority: priority, Format: rules.FormatCEL, Rules: rs}
}

func audit(s rules.Set) rules.Set {
	s.Enforcement = rules.Audit
	return s
}

func broken(s rules.Set) rules.Set {
	s.Broken = "the RuleSet is missing"
	return s
}

// TestVerdict has a case for each sentence of the design on verdicts.
func TestVerdict(t *testing.T) {
	for name, tc := range map[string]struct {
		sets         []rules.Set
		want         rules.Action
		wantBy       string // set/rule
		wantWarnings []string
		wantAudited  []string
	}{
		"without sets nothing is said": {},
		"a rule that does not apply says nothing": {
			sets: []rules.Set{set("a", rules.TypePolicy, 0, rule("r", rules.Reject, off, nil))},
		},
		"a rule that applies decides": {
			sets: []rules.Set{set("a", rules.TypePolicy, 0, rule("r", rules.Reject, on, nil))},
			want: rules.Reject, wantBy: "a/r",
		},
		"within a class the highest priority decides": {
			sets: []rules.Set{
				set("a", rules.TypePolicy, 1, rule("r", rules.Reject, on, nil)),
				set("b", rules.TypePolicy, 2, rule("r", rules.Allow, on, nil)),
			},
			want: rules.Allow, wantBy: "b/r",
		},
		"the rule's priority goes before the set's": {
			sets: []rules.Set{
				set("a", rules.TypePolicy, 1, rule("r", rules.Reject, on, at(9))),
				set("b", rules.TypePolicy, 5, rule("r", rules.Allow, on, nil)),
			},
			want: rules.Reject, wantBy: "a/r",
		},
		"a rule's priority of 0 is a priority": {
			sets: []rules.Set{set("a", rules.TypePolicy, 5, rule("x", rules.Reject, on, at(0)), rule("y", rules.Allow, on, nil))},
			want: rules.Allow, wantBy: "a/y",
		},
		"on a tie the stricter action decides": {
			sets: []rules.Set{set("a", rules.TypePolicy, 5, rule("x", rules.Allow, on, nil), rule("y", rules.RequireConfirmation, on, nil),
				rule("z", rules.Warn, on, nil))},
			want: rules.RequireConfirmation, wantBy: "a/y", wantWarnings: []string{"a/z"},
		},
		"reject is stricter than confirmation": {
			sets: []rules.Set{set("a", rules.TypePolicy, 5, rule("x", rules.RequireConfirmation, on, nil), rule("y", rules.Reject, on, nil))},
			want: rules.Reject, wantBy: "a/y",
		},
		"then names decide, the set's first": {
			sets: []rules.Set{
				set("b", rules.TypePolicy, 0, rule("a", rules.Reject, on, nil)),
				set("a", rules.TypePolicy, 0, rule("z", rules.Reject, on, nil), rule("y", rules.Reject, on, nil)),
			},
			want: rules.Reject, wantBy: "a/y",
		},
		"a lower class never weakens a higher one's verdict": {
			sets: []rules.Set{
				set("a", rules.TypeSafety, 0, rule("r", rules.Reject, on, nil)),
				set("b", rules.TypePolicy, 99, rule("r", rules.Allow, on, nil)),
				set("c", rules.TypeValidation, 99, rule("r", rules.Allow, on, nil)),
			},
			want: rules.Reject, wantBy: "a/r",
		},
		"a lower class adds to a higher one's verdict": {
			sets: []rules.Set{
				set("a", rules.TypeSafety, 99, rule("r", rules.Allow, on, nil)),
				set("b", rules.TypeValidation, 0, rule("r", rules.Reject, on, nil)),
			},
			want: rules.Reject, wantBy: "b/r",
		},
		"policy goes before validation": {
			sets: []rules.Set{
				set("a", rules.TypeValidation, 9, rule("r", rules.Allow, on, nil)),
				set("b", rules.TypePolicy, 0, rule("r", rules.RequireConfirmation, on, nil)),
			},
			want: rules.RequireConfirmation, wantBy: "b/r",
		},
		"of equal verdicts the highest class is named": {
			sets: []rules.Set{
				set("a", rules.TypeValidation, 9, rule("r", rules.Reject, on, nil)),
				set("z", rules.TypeSafety, 0, rule("r", rules.Reject, on, nil)),
			},
			want: rules.Reject, wantBy: "z/r",
		},
		"priorities do not reach into another class": {
			sets: []rules.Set{
				set("a", rules.TypePolicy, 99, rule("r", rules.Allow, on, nil)),
				set("b", rules.TypeValidation, 1, rule("r", rules.RequireConfirmation, on, nil)),
			},
			want: rules.RequireConfirmation, wantBy: "b/r",
		},
		"an error counts as a match for Reject": {
			sets: []rules.Set{set("a", rules.TypePolicy, 0, rule("r", rules.Reject, failing, nil))},
			want: rules.Reject, wantBy: "a/r",
		},
		"an error counts as a match for RequireConfirmation": {
			sets: []rules.Set{set("a", rules.TypePolicy, 0, rule("r", rules.RequireConfirmation, failing, nil))},
			want: rules.RequireConfirmation, wantBy: "a/r",
		},
		"an error counts as a match for Warn": {
			sets: []rules.Set{set("a", rules.TypePolicy, 0, rule("r", rules.Warn, failing, nil))},
			want: rules.Warn, wantBy: "a/r", wantWarnings: []string{"a/r"},
		},
		"an error counts as no match for Allow": {
			sets: []rules.Set{set("a", rules.TypePolicy, 0, rule("x", rules.Allow, failing, at(9)), rule("y", rules.Reject, on, nil))},
			want: rules.Reject, wantBy: "a/y",
		},
		"a Warn settles between rules by its priority": {
			sets: []rules.Set{set("a", rules.TypePolicy, 0, rule("x", rules.Warn, on, at(9)), rule("y", rules.Reject, on, nil))},
			want: rules.Warn, wantBy: "a/x", wantWarnings: []string{"a/x"},
		},
		"a Warn that fails lifts nothing": {
			sets: []rules.Set{set("a", rules.TypePolicy, 0, rule("x", rules.Warn, failing, at(9)), rule("y", rules.Reject, on, nil))},
			want: rules.Reject, wantBy: "a/y", wantWarnings: []string{"a/x"},
		},
		"a confirmation that fails lifts nothing": {
			sets: []rules.Set{set("a", rules.TypePolicy, 0, rule("x", rules.RequireConfirmation, failing, at(9)), rule("y", rules.Reject, on, nil))},
			want: rules.Reject, wantBy: "a/y",
		},
		"a confirmation that fails is asked for, whatever else is allowed": {
			sets: []rules.Set{set("a", rules.TypePolicy, 0, rule("x", rules.RequireConfirmation, failing, nil), rule("y", rules.Allow, on, at(9)),
				rule("z", rules.Warn, failing, at(9)))},
			want: rules.RequireConfirmation, wantBy: "a/x", wantWarnings: []string{"a/z"},
		},
		"every Warn warns, whatever decides": {
			sets: []rules.Set{
				set("b", rules.TypeValidation, 0, rule("w", rules.Warn, on, nil)),
				set("a", rules.TypeSafety, 9, rule("r", rules.Reject, on, nil), rule("w", rules.Warn, on, at(1))),
			},
			want: rules.Reject, wantBy: "a/r", wantWarnings: []string{"a/w", "b/w"},
		},
		"a set of a type that is not built denies what it governs": {
			sets: []rules.Set{broken(set("a", rules.TypeRouting, 9))},
			want: rules.Reject, wantBy: "a/",
		},
		"a broken set denies what it governs": {
			sets: []rules.Set{broken(set("a", rules.TypeValidation, 0, rule("r", rules.Allow, on, nil)))},
			want: rules.Reject, wantBy: "a/",
		},
		"no Allow lifts a broken set": {
			sets: []rules.Set{broken(set("a", rules.TypePolicy, 0)), set("b", rules.TypePolicy, 99, rule("r", rules.Allow, on, nil)),
				set("c", rules.TypeSafety, 99, rule("r", rules.Allow, on, nil))},
			want: rules.Reject, wantBy: "a/",
		},
		"a set that does not compile denies": {
			sets: []rules.Set{broken(set("a", rules.TypePolicy, 0, rule("r", rules.Allow, `args.(`, nil)))},
			want: rules.Reject, wantBy: "a/",
		},
		"a set in Audit mode only reports": {
			sets: []rules.Set{
				audit(set("a", rules.TypeSafety, 9, rule("x", rules.Reject, on, nil), rule("y", rules.Reject, off, nil),
					rule("z", rules.Allow, on, nil), rule("w", rules.Warn, failing, nil))),
				set("b", rules.TypePolicy, 0, rule("r", rules.Allow, on, nil)),
			},
			want: rules.Allow, wantBy: "b/r", wantAudited: []string{"a/x", "a/w"},
		},
		"a broken set in Audit mode only reports": {
			sets:        []rules.Set{broken(audit(set("a", rules.TypeSafety, 0)))},
			wantAudited: []string{"a/"},
		},
		"require applies when the condition does not hold": {
			sets: []rules.Set{set("a", rules.TypePolicy, 0, rules.Rule{Name: "r", Action: rules.Reject, Require: off})},
			want: rules.Reject, wantBy: "a/r",
		},
		"require does not apply when the condition holds": {
			sets: []rules.Set{set("a", rules.TypePolicy, 0, rules.Rule{Name: "r", Action: rules.Reject, Require: on})},
		},
		"require that can't be evaluated rejects": {
			sets: []rules.Set{set("a", rules.TypePolicy, 0, rules.Rule{Name: "r", Action: rules.Reject, Require: failing})},
			want: rules.Reject, wantBy: "a/r",
		},
		"a schema applies when the arguments do not conform": {
			sets: []rules.Set{{Name: "a", Type: rules.TypeValidation, Format: rules.FormatJSONSchema, Rules: []rules.Rule{
				{Name: "r", Action: rules.Reject, Schema: []byte(`{"required":["ticket"]}`)}}}},
			want: rules.Reject, wantBy: "a/r",
		},
		"a schema does not apply when the arguments conform": {
			sets: []rules.Set{{Name: "a", Type: rules.TypeValidation, Format: rules.FormatJSONSchema, Rules: []rules.Rule{
				{Name: "r", Action: rules.Reject, Schema: []byte(`{"required":["path"]}`)}}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := rules.Decide(compile(t, tc.sets...), call(`{"path":"/a"}`))
			by := d.Set + "/" + d.Rule
			if d.Set == "" {
				by = ""
			}
			if d.Action != tc.want || by != tc.wantBy {
				t.Errorf("verdict %q by %q, want %q by %q (%+v)", d.Action, by, tc.want, tc.wantBy, d)
			}
			if d.Action != rules.ActionNone && d.Message == "" {
				t.Error("a verdict without a message")
			}
			if diff := cmp.Diff(tc.wantWarnings, names(d.Warnings)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantAudited, names(d.Audited)); diff != "" {
				t.Errorf("audited (-want +got):\n%s", diff)
			}
		})
	}
}

func names(hits []rules.Hit) []string {
	var s []string
	for _, h := range hits {
		s = append(s, h.Set+"/"+h.Rule)
	}
	return s
}

// TestEvaluateTraces: the dry run gives the same verdict, and every rule with its outcome.
func TestEvaluateTraces(t *testing.T) {
	sets := compile(t, set("a", rules.TypePolicy, 1,
		rule("applies", rules.Reject, on, nil), rule("does-not", rules.Warn, off, nil), rule("fails", rules.Allow, failing, at(7))),
		audit(set("b", rules.TypeSafety, 0, rule("r", rules.Warn, on, nil))))
	in := call(`{}`)
	d := rules.Evaluate(sets, in)
	var got []string
	for _, h := range d.Trace {
		got = append(got, strings.Join([]string{h.Set, h.Rule, string(h.Enforcement), string(h.Action), string(h.Outcome), h.Error}, " "))
	}
	want := []string{
		"b r Audit Warn Applied ",
		"a fails Enforce Allow Failed no such key: missing",
		"a applies Enforce Reject Applied ",
		"a does-not Enforce Warn NotApplied ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("trace (-want +got):\n%s", diff)
	}
	d.Trace = nil
	if diff := cmp.Diff(rules.Decide(sets, in), d); diff != "" {
		t.Errorf("the dry run decides otherwise:\n%s", diff)
	}
	if _, err := json.Marshal(d); err != nil {
		t.Error(err)
	}
}

// TestDefaults: rules see the arguments with defaults as args, as sent as rawArgs; conditions on either can be written.
func TestDefaults(t *testing.T) {
	in := call(`{}`)
	in.Args = []byte(`{"force":true}`)
	for name, s := range map[string]rules.Set{
		"cel":        oneRule(`args.force && !has(rawArgs.force)`),
		"jsonSchema": {Name: "s", Type: rules.TypePolicy, Format: rules.FormatJSONSchema, Rules: []rules.Rule{{Name: "r", Action: rules.Reject, Schema: []byte(`{"properties":{"force":{"const":false}}}`)}}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := rules.Decide(compile(t, s), in); d.Action != rules.Reject || d.Error != "" {
				t.Errorf("%+v", d)
			}
		})
	}
}

// TestArgumentsThatCannotBeRead: rules that look at them fail closed, others work.
func TestArgumentsThatCannotBeRead(t *testing.T) {
	for name, tc := range map[string]struct{ args, want string }{
		"not an object":                {`[1]`, "not an object"},
		"no JSON":                      {`{"a":`, "not one JSON value"},
		"a number that no type holds":  {`{"a":[{"b":1e400}]}`, "/a/0/b"},
		"a whole number over 64 bits":  {`{"path":12345678901234567890123}`, "/path"},
		"a fraction that is not exact": {`{"path":0.1000000000000000055511151231257827021}`, "/path"},
		"nested too deep":              {`{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, "nested deeper"},
	} {
		t.Run(name, func(t *testing.T) {
			in := call(tc.args)
			d := rules.Decide(compile(t, oneRule(`args.path == 0`)), in)
			if d.Action != rules.Reject || !strings.Contains(d.Error, tc.want) {
				t.Errorf("%+v", d)
			}
			if d := rules.Decide(compile(t, oneRule(`tool.name == "other"`)), in); d.Action != rules.ActionNone {
				t.Errorf("a rule that does not look at arguments: %+v", d)
			}
		})
	}
}
