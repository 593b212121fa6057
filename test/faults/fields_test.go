// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"regexp"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"toolgate.dev/toolgate/test/faults/rig"
	"toolgate.dev/toolgate/test/faults/specs"
)

// chosen are the scenarios of a sweep, with how many points of each are tried: SCENARIO is a regular expression of their
// names, PART=2/5 the second of five parts.
func chosen(t *testing.T, r *rig.Rig) []scenario {
	t.Helper()
	all := append(basic(), flows()...)
	for i := range all {
		all[i].most, all[i].kills = sized(t, 8, 20, 10_000), sized(t, 4, 5, 10_000)
	}
	if all = all[:sized(t, 1, len(all), len(all))]; sized(t, false, true, true) {
		all = append(all, fields(t, r)...)
	}
	name, err := regexp.Compile(os.Getenv("SCENARIO"))
	if err != nil {
		t.Fatal("SCENARIO:", err)
	}
	var out []scenario
	for i, s := range all {
		if name.MatchString(s.name) && inPart(t, i) {
			out = append(out, s)
		}
	}
	return out
}

// inPart says whether the i-th of many is in the part that is run.
func inPart(t *testing.T, i int) bool {
	t.Helper()
	var part, parts int
	if _, err := fmt.Sscanf(cmp.Or(os.Getenv("PART"), "1/1"), "%d/%d", &part, &parts); err != nil || part < 1 || part > parts {
		t.Fatal("PART is none like 2/5")
	}
	return i%parts == part-1
}

// fields are two scenarios for each leaf field of a spec: it is set, and it is taken away again.
func fields(t *testing.T, r *rig.Rig) []scenario {
	t.Helper()
	leaves, err := specs.Leaves(root)
	if err != nil {
		t.Fatal(err)
	}
	w := &walkers{Rig: r, trial: namespace(t, r), report: t.Errorf}
	if err := w.classes(t.Context()); err != nil {
		t.Fatal(err)
	}
	// A field without a valid change fails TestSpecWalk.
	if _, err := w.find(t.Context(), leaves, 1); err != nil {
		t.Fatal(err)
	}
	var out []scenario
	for _, c := range w.changes {
		kind, base := kindOf(c), specs.Base(kindOf(c), c.Base)
		with := specs.Merge(base, c.Set)
		without := specs.Merge(with, c.Unset)
		if fmt.Sprint(with) != fmt.Sprint(base) {
			out = append(out, scenario{name: c.Leaf + " is set", before: begins(kind, base), then: becomes(kind, with)})
		}
		if fmt.Sprint(with) != fmt.Sprint(without) {
			out = append(out, scenario{name: c.Leaf + " is removed", before: begins(kind, with), then: becomes(kind, without)})
		}
	}
	for i := range out {
		out[i].most, out[i].kills = sized(t, 1, 3, 10_000), sized(t, 0, 1, 10_000)
	}
	return out
}

// begins makes one object of each kind, one of them of a spec of its own.
func begins(kind string, spec specs.Object) step {
	return func(ctx context.Context, p person) error {
		all := trio{"MCPServer": specs.Base("MCPServer", "stdio"), "MCPTool": specs.Base("MCPTool", "tool"), "RuleSet": specs.Base("RuleSet", "cel")}
		all[kind] = spec
		for _, kind := range kindsInOrder {
			if err := p.create(ctx, object(kind, p.namespace, all[kind])); err != nil {
				return err
			}
		}
		return nil
	}
}

// becomes changes the spec of one of them.
func becomes(kind string, spec specs.Object) step {
	return func(ctx context.Context, p person) error {
		for {
			live := object(kind, p.namespace, nil)
			if err := p.Client.Get(ctx, client.ObjectKeyFromObject(live), live); err != nil {
				return fmt.Errorf("reading %s: %w", kind, err)
			}
			live.Object["spec"] = specs.Merge(spec, nil)
			if err := p.Client.Update(ctx, live); !apierrors.IsConflict(err) {
				return err
			}
		}
	}
}

// diceOf are the random numbers of one scenario, whichever others are run.
func diceOf(name string) *rand.Rand {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(name))
	return dice(hash.Sum64())
}
