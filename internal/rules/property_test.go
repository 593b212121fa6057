// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"toolgate.dev/toolgate/internal/rules"
)

// strict ranks verdicts; more lets less through.
func strict(a rules.Action) int {
	return slices.Index([]rules.Action{rules.ActionNone, rules.Allow, rules.Warn, rules.RequireConfirmation, rules.Reject}, a)
}

func drawRule(t *rapid.T, name string) rules.Rule {
	r := rules.Rule{
		Name:   name,
		Action: rapid.SampledFrom([]rules.Action{rules.Reject, rules.RequireConfirmation, rules.Warn, rules.Allow}).Draw(t, "action"),
		When:   rapid.SampledFrom([]string{on, on, off, failing}).Draw(t, "when"),
	}
	if rapid.Bool().Draw(t, "hasPriority") {
		r.Priority = at(rapid.IntRange(-1, 2).Draw(t, "priority"))
	}
	return r
}

func drawSet(t *rapid.T, name string) rules.Set {
	s := set(name, rapid.SampledFrom([]rules.Type{rules.TypeSafety, rules.TypePolicy, rules.TypeValidation}).Draw(t, "type"),
		rapid.IntRange(-1, 2).Draw(t, "setPriority"))
	s.Enforcement = rapid.SampledFrom([]rules.Enforcement{"", "", rules.Enforce, rules.Audit}).Draw(t, "enforcement")
	if rapid.IntRange(0, 9).Draw(t, "broken") == 0 {
		s.Broken = "gone"
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "rules") {
		s.Rules = append(s.Rules, drawRule(t, fmt.Sprintf("r%d", i)))
	}
	return s
}

func drawSets(t *rapid.T) []rules.Set {
	var sets []rules.Set
	for i := range rapid.IntRange(1, 5).Draw(t, "sets") {
		sets = append(sets, drawSet(t, fmt.Sprintf("s%d", i)))
	}
	return sets
}

func decide(t interface{ Fatalf(string, ...any) }, sets []rules.Set) rules.Decision {
	var compiled []*rules.Compiled
	for _, s := range sets {
		c, errs := rules.Compile(s)
		if len(errs) > 0 {
			t.Fatalf("%v", errs)
		}
		compiled = append(compiled, c)
	}
	return rules.Decide(compiled, call(`{"path":"/a"}`))
}

// TestOrderHasNoInfluence: permuting sets and rules changes nothing at all.
func TestOrderHasNoInfluence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sets := drawSets(t)
		want := decide(t, sets)
		shuffled := rapid.Permutation(sets).Draw(t, "shuffled")
		for i := range shuffled {
			shuffled[i].Rules = rapid.Permutation(shuffled[i].Rules).Draw(t, "rules")
		}
		if diff := cmp.Diff(want, decide(t, shuffled)); diff != "" {
			t.Fatalf("order changes the decision:\n%s", diff)
		}
	})
}

// TestAddingNeverLoosens: a Reject more, whether it applies, does not or fails, never loosens the verdict; nor does a set
// that is broken, a whole set of a lower class, or anything in Audit mode.
func TestAddingNeverLoosens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sets := drawSets(t)
		before := decide(t, sets)
		added := drawSet(t, "added")
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			for i := range added.Rules {
				added.Rules[i].Action = rules.Reject
			}
		case 1:
			added.Broken = "gone"
		case 2:
			added.Enforcement = rules.Audit
		case 3:
			added.Type = rules.TypeValidation // the lowest: must not weaken the others
			sets = slices.DeleteFunc(sets, func(s rules.Set) bool { return s.Type == rules.TypeValidation })
			before = decide(t, sets)
		}
		after := decide(t, append(sets, added))
		if strict(after.Action) < strict(before.Action) {
			t.Fatalf("adding %+v loosens %s to %s", added, before.Action, after.Action)
		}
	})
}

// TestErrorsNeverLoosen: when conditions that decided can no longer be evaluated, an Allow is lost and nothing else.
func TestErrorsNeverLoosen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sets := drawSets(t)
		before := decide(t, sets)
		for i := range sets {
			for j := range sets[i].Rules {
				if sets[i].Rules[j].Action == rules.Allow && before.Action == rules.Allow {
					continue // to lose the Allow that decides tightens, though it is no stricter verdict
				}
				if sets[i].Rules[j].When == on && rapid.Bool().Draw(t, "fail") {
					sets[i].Rules[j].When = failing
				}
			}
		}
		after := decide(t, sets)
		if strict(after.Action) < strict(before.Action) {
			t.Fatalf("errors loosen %s to %s", before.Action, after.Action)
		}
	})
}

// TestFailingIsTheStricterOfBoth: a rule that restricts and can't be evaluated gives no looser verdict than if it had applied,
// nor than if it had not. Likewise for a set of whose callers nobody knows whether they are among those whom it selects.
func TestFailingIsTheStricterOfBoth(t *testing.T) {
	for name, fail := range map[string]func(*rules.Set, int){
		"a condition that fails":     func(s *rules.Set, rule int) { s.Rules[rule].When = failing },
		"a caller whom nobody knows": func(s *rules.Set, _ int) { s.Callers = &rules.Callers{Groups: []string{"dev"}} },
	} {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			sets := drawSets(t)
			s := rapid.IntRange(0, len(sets)-1).Draw(t, "set")
			sets[s].Rules = []rules.Rule{drawRule(t, "one")}
			sets[s].Rules[0].Action = rapid.SampledFrom([]rules.Action{rules.Reject, rules.RequireConfirmation, rules.Warn}).Draw(t, "restricts")
			verdict := func(when string) rules.Decision {
				sets[s].Rules[0].When = when
				return decide(t, sets)
			}
			unless, when := verdict(off), verdict(on)
			fail(&sets[s], 0)
			var compiled []*rules.Compiled
			for _, s := range sets {
				c, _ := rules.Compile(s)
				compiled = append(compiled, c)
			}
			in := call(`{"path":"/a"}`)
			in.Caller = rules.CallerInfo{}
			after := rules.Decide(compiled, in)
			if strict(after.Action) < strict(when.Action) || strict(after.Action) < strict(unless.Action) {
				t.Fatalf("%s, which would be %s when it applies and %s when it does not", after.Action, when.Action, unless.Action)
			}
		}))
	}
}

// TestConcurrency: compiled sets decide many calls at once, small and large.
func TestConcurrency(t *testing.T) {
	sets := compile(t, append(fourSets(),
		oneRule(`args.path.matches("^/x") || args.list.exists(x, x.find("[0-9]+") == "7") || tool.hints.readOnly`),
		rules.Set{Name: "j", Type: rules.TypePolicy, Format: rules.FormatJSONSchema, Rules: []rules.Rule{
			{Name: "r", Action: rules.Warn, Message: "{args.path}", Schema: []byte(`{"properties":{"path":{"maxLength":3}}}`)}}})...)
	big := `"a"`
	for range 12 {
		big += "," + big
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			args := `{"path":"/home","mode":1,"list":["a"]}`
			if i%2 == 0 {
				args = `{"path":"/home","mode":1,"list":[` + big + `]}`
			}
			for range 50 {
				d := rules.Evaluate(sets, call(args))
				if d.Action != rules.Warn || d.Message == "" {
					t.Errorf("%s by %s: %q", d.Action, d.Set, d.Error)
					return
				}
			}
		})
	}
	wg.Wait()
}
