// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/rules/cost"
)

// TestEveryFunctionIsBounded: package cost knows each function of the environment, and no other.
func TestEveryFunctionIsBounded(t *testing.T) {
	env, err := environment()
	if err != nil {
		t.Fatal(err)
	}
	bounded := cost.Functions()
	for name := range env.Functions() {
		if !slices.Contains(bounded, name) {
			t.Errorf("%s has no bound", name)
		}
	}
	for _, name := range bounded {
		if !env.HasFunction(name) {
			t.Errorf("%s is bounded, but is no function", name)
		}
	}
}

// TestBoundsHold: whatever passes the bound allocates little on values that were chosen to make it explode: small ones of
// the size that is assumed, and large ones, for which it passes or fails with an error.
func TestBoundsHold(t *testing.T) {
	small := `{"n":1000000000,"s":"` + strings.Repeat("a", AssumedSize) + `","l":[` + strings.Repeat(`"b",`, AssumedSize-8) + `"b"]}`
	large := `{"n":9223372036854775807,"s":"` + strings.Repeat("a", 300_000) + `","l":[` + strings.Repeat(`"b",`, 30_000) + `"b"]}`
	for _, text := range []string{
		`"%.100f".format([1.5]) != "" && "%s %s".format([args, args.s]) != ""`,
		`args.s.replace("a", args.s) != ""`,
		`args.s.replace("", "xyz").split("").size() > 0`,
		`args.l.map(x, args.l).size() > 0`,
		`args.l.map(x, args.l).flatten().size() > 0`,
		`args.s.split("").map(c, args.s).size() > 0`,
		`args.s.split("").join(",") != ""`,
		`[args.s, args.s].join(args.s) != ""`,
		`strings.quote(args.s) != "" && base64.encode(bytes(args.s)) != "" && json.encode(args) != ""`,
		`args.s.findAll("").size() > 0`,
		`args.s.findAll("a").map(x, args.l).size() > 0`,
		`args.transformMap(k, v, args).size() > 0`,
		`args.l.transformList(i, v, args.l).size() > 0`,
		`args == rawArgs && args.l == rawArgs.l && args.l in [args.l]`,
		`args.l.sort() == args.l || args.l.sortBy(x, x) == args.l`,
		`args.l.distinct().size() == 1`,
		`sets.equivalent(args.l, args.l)`,
		`args.?s.orValue("").lowerAscii().trim().reverse().substring(1) != ""`,
		`args.l.all(x, x.matches("(a|b|c)+(a|b|c)+(a|b|c)+d"))`,
		`args.s.indexOf(args.s) == 0 && args.s.lastIndexOf("b") < 0`,
		`lists.range(10000).map(x, args.s).size() > 0`,
		`args.l.filter(x, args.l.exists(y, y == x)).size() > 0`,
	} {
		t.Run(text, func(t *testing.T) {
			e, errs := Condition(text)
			if len(errs) > 0 {
				t.Logf("refused: %s", errs[0].Message)
				return
			}
			for _, args := range []string{small, large} {
				a := NewActivation(&Input{RawArgs: []byte(args)})
				if a.decoded(varArgs).size == 0 {
					t.Fatal("no arguments")
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				_, err := e.eval(a)
				runtime.ReadMemStats(&after)
				if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 128 {
					t.Errorf("%d MiB for %d bytes (%v)", allocated, len(args), err)
				}
			}
		})
	}
}

// TestEstimateIsQuick: bounding an expression is linear in it, whatever is nested.
func TestEstimateIsQuick(t *testing.T) {
	text := "true"
	for i := range 12 {
		text = fmt.Sprintf("[1].all(x%d, %s)", i, text)
	}
	if _, errs := Condition(text); len(errs) > 0 {
		t.Error(errs)
	}
}
