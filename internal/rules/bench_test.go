// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"fmt"
	"testing"

	"toolgate.dev/toolgate/internal/rules"
	"toolgate.dev/toolgate/internal/rules/expression"
)

const benchArgs = `{"path":"/home/ann/notes/today.txt","content":"a few words of text","mode":420,"flags":["a","b"],"opts":{"force":false}}`

func BenchmarkDecide(b *testing.B) {
	for name, sets := range map[string][]rules.Set{
		"tool only":            {oneRule(`tool.destructive && server.trust == "Untrusted" && tool.name == "x"`)},
		"one member":           {oneRule(`args.path == "/etc"`)},
		"two members":          {oneRule(`args.path.startsWith("/etc/") && args.mode > 0`)},
		"a pattern and a loop": {oneRule(`args.path.matches("^/etc/.*") || args.flags.exists(f, f == "z")`)},
		"json schema": {{Name: "s", Type: rules.TypePolicy, Format: rules.FormatJSONSchema, Rules: []rules.Rule{{Name: "r", Action: rules.Reject,
			Schema: []byte(`{"properties":{"path":{"type":"string","maxLength":100}}}`)}}}},
		"20 rules in 4 sets": fourSets(),
	} {
		b.Run(name, func(b *testing.B) {
			compiled := compile(b, sets...)
			in := call(benchArgs)
			b.ReportAllocs()
			for b.Loop() {
				if d := rules.Decide(compiled, in); d.Action != rules.ActionNone {
					b.Fatalf("%+v", d)
				}
			}
		})
	}
}

func fourSets() []rules.Set {
	var sets []rules.Set
	for s := range 4 {
		set := celSet(fmt.Sprintf("s%d", s))
		for r := range 5 {
			set.Rules = append(set.Rules, rules.Rule{Name: fmt.Sprintf("r%d", r), Action: rules.Reject,
				When: fmt.Sprintf(`args.path.startsWith("/etc%d/") && args.mode > 0`, r)})
		}
		sets = append(sets, set)
	}
	return sets
}

func BenchmarkCompile(b *testing.B) {
	set := oneRule(`args.path.startsWith("/etc/") && args.mode > 0`)
	for b.Loop() {
		if _, errs := rules.Compile(set); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}

// BenchmarkMostExpensive is near expression.MaxCost with values as large as assumed: what one rule may take at worst.
func BenchmarkMostExpensive(b *testing.B) {
	list := `["` + fmt.Sprintf("%01024d", 0) + `"`
	for range expression.AssumedSize - 1 {
		list += `,"` + fmt.Sprintf("%01024d", 0) + `"`
	}
	in := call(`{"list":` + list + `]}`)
	for name, text := range map[string]string{
		"a loop of patterns":        `args.list.all(x, !x.matches("[a-z0-8]*[1-9][a-y]"))`,
		"a loop of loops over ints": `args.list.all(x, ["a","b","c","d","e","f","g","h"].all(y, x != y))`,
	} {
		b.Run(name, func(b *testing.B) {
			compiled := compile(b, oneRule(text+` ? false : true`))
			for b.Loop() {
				if d := rules.Decide(compiled, in); d.Action != rules.ActionNone {
					b.Fatalf("%+v", d)
				}
			}
		})
	}
}
