// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

func TestFold(t *testing.T) {
	for input, want := range map[string]string{
		"":                    "",
		"progressToken":       "progresstoken",
		"paramſ":              "params",
		"to\u212aen":          "token",
		"\u0130d":             "id",
		"ıd":                  "id",
		"ΣΑΣ":                 Fold("σας"),
		"STRASSE":             "strasse",
		"already-folded_1.x/": "already-folded_1.x/",
	} {
		if got := Fold(input); got != want {
			t.Errorf("Fold(%q) = %q, want %q", input, got, want)
		}
	}
	if Fold("straße") == Fold("strasse") {
		t.Error("full case folding applied, want simple folding")
	}
}

// TestFoldAgreesWithEveryCaseMapping compares with the mappings that a reader could use, rune by rune.
func TestFoldAgreesWithEveryCaseMapping(t *testing.T) {
	const lastCased = 0x1ffff // no letter beyond has case
	for r := rune(0); r <= lastCased; r++ {
		if r >= 0xd800 && r < 0xe000 {
			continue
		}
		s := string(r)
		for _, other := range []rune{unicode.ToLower(r), unicode.ToUpper(r), unicode.SimpleFold(r)} {
			if Fold(string(other)) != Fold(s) {
				t.Errorf("Fold(%q) = %q, Fold(%q) = %q, want the same", other, Fold(string(other)), s, Fold(s))
			}
		}
		if strings.EqualFold(s, Fold(s)) != (r != '\u0130' && r != '\u0131') {
			t.Errorf("Fold(%q) = %q is not equal under folding", s, Fold(s))
		}
		if Fold(Fold(s)) != Fold(s) {
			t.Errorf("Fold(Fold(%q)) differs from Fold(%q)", s, s)
		}
	}
}

func TestDeclared(t *testing.T) {
	for name, tc := range map[string]struct {
		args      string
		declared  []string
		wantPath  string // "" if there is no collision
		wantOther string
	}{
		"declared keys":                            {`{"path":"a","c":1}`, []string{"path", "c"}, "", ""},
		"an undeclared key":                        {`{"Path":"a"}`, []string{"file"}, "", ""},
		"an undeclared key like a declared one":    {`{"Path":"a"}`, []string{"path"}, "/Path", "path"},
		"both of them":                             {`{"path":"a","PATH":"b"}`, []string{"path"}, "/PATH", "path"},
		"spelt with an escape and U+017F":          {`{"u\u017fer":1}`, []string{"user"}, "/uſer", "user"},
		"two undeclared keys":                      {`{"a":1,"b":2,"A":3}`, nil, "/A", "a"},
		"two declared keys that differ in case":    {`{"-c":1,"-C":2}`, []string{"-c", "-C"}, "", ""},
		"a third that is not declared":             {`{"ab":1,"AB":2,"Ab":3}`, []string{"ab", "AB"}, "/Ab", "AB"},
		"two keys of a nested object":              {`{"x":{"y":[0,{"Key":1,"kEy":2}]}}`, []string{"x"}, "/x/y/1/kEy", "Key"},
		"declared names do not hold further down":  {`{"x":{"Path":1}}`, []string{"x", "path"}, "", ""},
		"the same key in sibling objects":          {`{"x":[{"a":1},{"A":1}],"y":{"X":0}}`, []string{"x", "y"}, "", ""},
		"many keys":                                {manyKeys(40, `"KEY7":0`), nil, "/KEY7", "key7"},
		"many keys without a collision":            {manyKeys(40, `"KEY77":0`), nil, "", ""},
		"an array of objects":                      {`[{"a":1},{"a":1,"A":2}]`, nil, "/1/A", "a"},
		"no object":                                {`"a"`, nil, "", ""},
		"nothing":                                  {``, nil, "", ""},
		"strings that look like keys":              {`{"x":"{\"a\":1,\"A\":2}","y":["A","a"]}`, nil, "", ""},
		"keys that differ by more than their case": {`{"user_id":1,"userId":2,"UserID2":3}`, nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := NewDeclared(tc.declared).Check([]byte(tc.args))
			if tc.wantPath == "" {
				if err != nil {
					t.Fatalf("Check(%s) = %v, want nil", tc.args, err)
				}
				return
			}
			var got *CollisionError
			if !errors.As(err, &got) {
				t.Fatalf("Check(%s) = %v, want a CollisionError", tc.args, err)
			}
			if got.Path != tc.wantPath || !strings.EqualFold(got.Other, tc.wantOther) {
				t.Errorf("Check(%s) = path %s, other %s, want %s, %s", tc.args, got.Path, got.Other, tc.wantPath, tc.wantOther)
			}
		})
	}
}

func TestDeclaredFindsWhatANaiveSearchFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		args := []byte(genSpace(t) + genObject(4).Draw(t, "args"))
		declared := rapid.SliceOf(genKey()).Draw(t, "declared")
		got, want := NewDeclared(declared).Check(args) != nil, naiveCollision(args, declared)
		if got != want {
			t.Errorf("Check(%s) with %q finds one: %t, want %t", args, declared, got, want)
		}
	})
}

func naiveCollision(raw []byte, declared []string) bool {
	seen := map[string]bool{}
	for _, name := range declared {
		seen[Fold(name)] = true
	}
	for key, value := range Members(raw) {
		if naiveCollision(value, nil) || seen[Fold(key)] && !slices.Contains(declared, key) {
			return true
		}
		seen[Fold(key)] = true
	}
	for value := range Elements(raw) {
		if naiveCollision(value, nil) {
			return true
		}
	}
	return false
}

func manyKeys(n int, last string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range n {
		fmt.Fprintf(&b, `"key%d":%d,`, i, i)
	}
	return b.String() + last + "}"
}
