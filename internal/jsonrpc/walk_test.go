// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestAccessorsReadWhatEncodingJSONReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := genSpace(t) + genJSON(4).Draw(t, "text") + genSpace(t)
		if err := Check([]byte(text), Limits{}); err != nil {
			t.Fatalf("Check(%s) = %v, want nil", text, err)
		}
		want, err := reference([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, decode([]byte(text))); diff != "" {
			t.Errorf("%s: -encoding/json +ours\n%s", text, diff)
		}
	})
}

func TestMemberFindsWhatMembersYields(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		obj := []byte(genObject(2).Draw(t, "object"))
		for key, want := range Members(obj) {
			if got, ok := Member(obj, key); !ok || !bytes.Equal(got, want) {
				t.Errorf("Member(%s, %q) = %s, %t, want %s", obj, key, got, ok, want)
			}
		}
		if _, ok := Member(obj, "no such key at all"); ok {
			t.Error("Member found a key that is not there")
		}
	})
}

func TestIterationStopsEarly(t *testing.T) {
	for key := range Members([]byte(`{"a":1,"b":2}`)) {
		if key != "a" {
			t.Errorf("first key %q, want a", key)
		}
		break
	}
	for element := range Elements([]byte(`[1,2]`)) {
		if string(element) != "1" {
			t.Errorf("first element %s, want 1", element)
		}
		break
	}
}

func TestAccessorsOnOtherTypes(t *testing.T) {
	for _, raw := range []string{"", " ", "null", "1", `"x"`, "true", "[]"} {
		if _, ok := Member([]byte(raw), "a"); ok {
			t.Errorf("Member of %q found something", raw)
		}
		for range Members([]byte(raw)) {
			t.Errorf("Members of %q yields something", raw)
		}
	}
	for _, raw := range []string{"", "null", "1.0", "1e2", `"1"`, "-", "9223372036854775808"} {
		if n, ok := Int([]byte(raw)); ok {
			t.Errorf("Int(%q) = %d, want none", raw, n)
		}
	}
	if n, ok := Int([]byte(" -9223372036854775808\n")); !ok || n != -9223372036854775808 {
		t.Errorf("Int of the least int64 = %d, %t", n, ok)
	}
	if _, ok := String([]byte("null")); ok {
		t.Error("String(null) is a string")
	}
	if _, ok := Bool([]byte(`"true"`)); ok {
		t.Error("Bool of a string is a boolean")
	}
}

func TestAppendStringRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.RuneFrom([]rune("\"\\/\b\f\n\r\t\x00\x1f\x7f<>&é\u2028\U0001f600")))).Draw(t, "s")
		text := AppendString(nil, s)
		if err := Check(text, Limits{}); err != nil {
			t.Fatalf("Check(%s) = %v", text, err)
		}
		if got, ok := String(text); !ok || got != strings.ToValidUTF8(s, "\ufffd") {
			t.Errorf("String(%s) = %q, want %q", text, got, s)
		}
	})
}

func TestReplaceMembers(t *testing.T) {
	set := func(key, raw string) Edit { return Edit{Key: key, Raw: []byte(raw)} }
	remove := func(key string) Edit { return Edit{Key: key} }
	for name, tc := range map[string]struct {
		obj   string
		edits []Edit
		want  string
	}{
		"nothing":                       {` { "a" : 1 , "b":[ ] } `, nil, ` { "a" : 1 , "b":[ ] } `},
		"a value":                       {"{ \"a\"\n:\t1 , \"b\" : 2 }", []Edit{set("a", `"x"`)}, "{ \"a\"\n:\t\"x\" , \"b\" : 2 }"},
		"a value whose key has escapes": {`{"\u0061":1,"b":2}`, []Edit{set("a", "9")}, `{"\u0061":9,"b":2}`},
		"the first removed":             {`{ "a":1, "b":2 }`, []Edit{remove("a")}, `{ "b":2 }`},
		"the last removed":              {`{"a":1,"b":2}`, []Edit{remove("b")}, `{"a":1}`},
		"the middle removed":            {`{"a":1,"b":{"c":2},"d":3}`, []Edit{remove("b")}, `{"a":1,"d":3}`},
		"all removed":                   {`{ "a":1 , "b":2 }`, []Edit{remove("a"), remove("b")}, `{}`},
		"one added":                     {`{"a":1}`, []Edit{set("b", "2")}, `{"a":1,"b":2}`},
		"one added to nothing":          {`{ }`, []Edit{set("a", "1")}, `{"a":1 }`},
		"one added after a removal":     {`{"a":1}`, []Edit{remove("a"), set("b", "2")}, `{"b":2}`},
		"several at once":               {`{"a":1,"b":2,"c":3}`, []Edit{set("d", "4"), remove("a"), set("c", "0")}, `{"b":2,"c":0,"d":4}`},
		"a missing one removed":         {`{"a":1}`, []Edit{remove("x")}, `{"a":1}`},
		"the last edit of a key holds":  {`{"a":1}`, []Edit{remove("a"), set("a", "2"), set("b", "1"), set("b", "2")}, `{"a":2,"b":2}`},
		"a new key that needs escapes":  {`{}`, []Edit{set("a\"\n", "1")}, `{"a\"\n":1}`},
		"the same key further down":     {`{"x":{"a":1},"y":"\"a\":1","a":2}`, []Edit{set("a", "3")}, `{"x":{"a":1},"y":"\"a\":1","a":3}`},
		"no object":                     {`null`, []Edit{set("a", "1")}, `{"a":1}`},
		"nil":                           {``, nil, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(ReplaceMembers([]byte(tc.obj), tc.edits...)); got != tc.want {
				t.Errorf("ReplaceMembers(%s) = %s, want %s", tc.obj, got, tc.want)
			}
		})
	}
}

func TestReplaceMembersKeepsTheRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		obj := genObject(3).Draw(t, "object")
		edits := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Edit {
			e := Edit{Key: genKey().Draw(t, "key")}
			if rapid.Bool().Draw(t, "set") {
				e.Raw = []byte(genJSON(1).Draw(t, "value"))
			}
			return e
		}), 0, 4).Draw(t, "edits")
		checkReplaced(t, []byte(obj), edits)
	})
}

// checkReplaced compares ReplaceMembers with an edit of the ordered list of members.
func checkReplaced(t interface{ Fatalf(string, ...any) }, obj []byte, edits []Edit) {
	type pair struct{ Key, Raw string }
	list := func(obj []byte) (all []pair) {
		for key, raw := range Members(obj) {
			all = append(all, pair{key, string(raw)})
		}
		return all
	}
	want := list(obj)
	for _, e := range edits {
		i := slices.IndexFunc(want, func(p pair) bool { return p.Key == e.Key })
		switch {
		case i >= 0:
			want[i].Raw = string(e.Raw)
		case e.Raw != nil:
			want = append(want, pair{e.Key, string(e.Raw)})
		}
	}
	want = slices.DeleteFunc(want, func(p pair) bool { return p.Raw == "" })
	replaced := ReplaceMembers(obj, edits...)
	if err := Check(replaced, Limits{}); err != nil {
		t.Fatalf("ReplaceMembers(%s, %s) = %s: %v", obj, edits, replaced, err)
	}
	got := list(replaced)
	byKey := func(a, b pair) int { return strings.Compare(a.Key, b.Key) }
	slices.SortStableFunc(want, byKey) // the order of added members is tested by example
	slices.SortStableFunc(got, byKey)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("ReplaceMembers(%s, %s) = %s: -want +got\n%s", obj, edits, replaced, diff)
	}
	if len(edits) == 0 && !bytes.Equal(replaced, obj) {
		t.Fatalf("ReplaceMembers(%s) without edits = %s", obj, replaced)
	}
}

func TestAppendCompactLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := genJSON(3).Draw(t, "text")
		got := string(AppendCompactLines([]byte("\n"), []byte(text)))
		want := "\n" + strings.NewReplacer("\r", " ", "\n", " ").Replace(text)
		if got != want {
			t.Errorf("AppendCompactLines(%q) = %q, want %q", text, got, want)
		}
		before, _ := reference([]byte(text))
		after, _ := reference([]byte(got))
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("%q: the value changed\n%s", text, diff)
		}
	})
}

// TestOddNumbersAndCharactersPass is row G-24 and G-27 of corpus/dataplane.md: what is forwarded is the sender's bytes.
func TestOddNumbersAndCharactersPass(t *testing.T) {
	arguments := `{ "big":9007199254740993,"zero":-0,"huge":1E400,"one":1.0,"long":0.12345678901234567890, "s":"\u00a0` + "\u00a0\u3000\u200d\ufffd\u202e" + `\/\u0041" }`
	m, err := Parse([]byte(call(`"name":"x","arguments":`+arguments)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	sent := AppendRequest(nil, m.ID, m.Method, ReplaceMembers(m.Params, Edit{Key: "_meta", Raw: []byte("{}")}))
	again, err := Parse(sent, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(again.Param("arguments")); got != arguments {
		t.Errorf("arguments = %s, want %s", got, arguments)
	}
	if !json.Valid(sent) {
		t.Errorf("%s is no JSON", sent)
	}
}

func TestPick(t *testing.T) {
	obj := []byte(` { "a" : 1, "b":{"a":2}, "\u0063":"x\\\"" , "d":[] } `)
	values := [][]byte{[]byte("of before"), nil, nil, nil}
	Pick(obj, []string{"c", "z", "b", "a"}, values)
	want := []string{`"x\\\""`, "", `{"a":2}`, "1"}
	for i, v := range values {
		if string(v) != want[i] {
			t.Errorf("value %d is %s, want %s", i, v, want[i])
		}
	}
	if Pick([]byte(`[1]`), []string{"a"}, values[:1]); values[0] != nil {
		t.Errorf("of an array came %s", values[0])
	}
}
