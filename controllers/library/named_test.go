// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package library_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/controllers/library"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/registry/shard"
	"toolgate.dev/toolgate/internal/rules"
)

// large is a set of many rules, as one server has it.
func large(reach rules.Reach, toolScoped ...string) rules.Set {
	set := rules.Set{Name: "large", Generation: 1, Type: rules.TypeSafety, Format: rules.FormatCEL, Reach: reach, ToolScoped: toolScoped}
	for i := range 100 {
		set.Rules = append(set.Rules, rules.Rule{Name: fmt.Sprintf("rule-%d", i), When: strings.Repeat("args.path == '/etc/passwd' || ", 10) + "false"})
	}
	return set
}

// TestANameIsTheSameWhoeverComesBefore names sets with one namer and with one each.
func TestANameIsTheSameWhoeverComesBefore(t *testing.T) {
	sets := map[string]rules.Set{
		"the whole server":           large(""),
		"its tools":                  large(rules.ReachTools),
		"its tools, and one by name": large(rules.ReachTools, "a"),
		"one by name":                large("", "a"),
		"two by name":                large("", "a", "b"),
		"one with the name of two":   large("", `a","b`),
	}
	var namer library.Namer
	seen := map[library.Named]string{}
	for name, set := range sets {
		got := namer.Name(set)
		if got != new(library.Namer).Name(set) {
			t.Errorf("%s: it has another name after others", name)
		}
		if other, taken := seen[got]; taken {
			t.Errorf("%s has the name of %s", name, other)
		}
		seen[got] = name
	}
	other := large("")
	other.Rules[99].When = "true"
	if _, taken := seen[new(library.Namer).Name(other)]; taken {
		t.Error("another rule has no other name")
	}
}

func TestWhatCannotBeEncodedIsInNoDocument(t *testing.T) {
	set := large("")
	set.Rules[0].Schema = []byte("{")
	if got := new(library.Namer).Name(set); got != (library.Named{}) {
		t.Errorf("it is named %v", got)
	}
}

// TestADocumentIsReadAgainOnlyWhereItIsAnother counts what a second reading takes.
func TestADocumentIsReadAgainOnlyWhereItIsAnother(t *testing.T) {
	l, none := library.New(), shard.Files{}.Load
	in := input()
	data := func() map[string]string {
		return map[string]string{registry.FileName: string(encoded(t, render(t, l, in)))}
	}
	first := data()
	held := l.ReadData(key, first, none)
	if held.Sequence == 0 {
		t.Fatal("the document can't be read")
	}
	if n := testing.AllocsPerRun(10, func() { l.ReadData(key, first, none) }); n > 0 {
		t.Errorf("reading it again takes %v allocations", n)
	}
	in.RuleSets[1].Generation++
	second := data()
	for name, tc := range map[string]struct {
		data map[string]string
		want library.Held
	}{
		"another one":           {second, read(l, key, []byte(second[registry.FileName]))},
		"the first once more":   {first, held},
		"none":                  {nil, library.Held{}},
		"what says nothing":     {map[string]string{registry.FileName: "{"}, read(l, key, []byte("{"))},
		"files of somebody":     {map[string]string{"theirs": "x"}, library.Held{}},
		"the first, and others": {map[string]string{registry.FileName: first[registry.FileName], "theirs": "x"}, held},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, l.ReadData(key, tc.data, none), cmp.AllowUnexported(library.Held{}, library.Named{})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestADocumentWhoseShardsComeLaterIsReadOnceTheyAreThere reads a document in shards before and after its shards can be.
func TestADocumentWhoseShardsComeLaterIsReadOnceTheyAreThere(t *testing.T) {
	files, err := render(t, library.New(), many(2000)).Next(library.Held{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	data := map[string]string{}
	for _, name := range []string{registry.FileName, shard.RootFile} {
		data[name] = string(files[name])
	}
	l := library.New()
	if held := l.ReadData(key, data, shard.Files{}.Load); held.Content != "" {
		t.Fatal("a document without its shards says something")
	}
	if held := l.ReadData(key, data, files.Load); held.Content == "" {
		t.Error("its shards are there, and it says nothing")
	}
}

// BenchmarkNamer names a RuleSet of a hundred rules for fifty servers, each of which is asked for by four.
func BenchmarkNamer(b *testing.B) {
	sets := make([]rules.Set, 50)
	for i := range sets {
		sets[i] = large("", fmt.Sprintf("tool-%d", i))
	}
	held := library.Held{}
	for b.Loop() {
		var namer library.Namer
		for _, set := range sets {
			named := namer.Name(set)
			for range 4 {
				_ = held.Has(named)
			}
		}
	}
}
