// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pattern

import (
	"fmt"
	"strings"
	"testing"
)

func TestCompile(t *testing.T) {
	cases := map[string]struct {
		pattern             string
		matches, matchesNot string
	}{
		"an anchored word":              {`^ab+$`, "abb", "ab "},
		"a part of the text":            {`b`, "abc", "ac"},
		"four digits of ECMA-262":       {`^\u0041$`, "A", "B"},
		"braces of ECMA-262":            {`^\u{1F600}$`, "\U0001F600", "A"},
		"an escaped backslash before u": {`^\\u0041$`, `\u0041`, "A"},
		"an escape in a class":          {`^[\u0061-\u007a]$`, "q", "Q"},
		"other escapes":                 {`^\d\.\w$`, "1.a", "1xa"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			re, err := NewEngine().Compile(tc.pattern)
			if err != nil {
				t.Fatal(err)
			}
			if !re.MatchString(tc.matches) || re.MatchString(tc.matchesNot) {
				t.Errorf("%q matches: %t, %q: %t; want the first alone", tc.matches, re.MatchString(tc.matches), tc.matchesNot, re.MatchString(tc.matchesNot))
			}
			if re.String() != tc.pattern {
				t.Errorf("it is quoted as %q, the schema says %q", re.String(), tc.pattern)
			}
		})
	}
}

func TestWhatRE2DoesNotHave(t *testing.T) {
	for pattern, want := range map[string]string{
		`(?=a)`:      "no lookahead",
		`(?!a)`:      "no lookahead",
		`(?<=a)b`:    "no lookbehind",
		`(a)\1`:      "back-references",
		`a{1001}`:    "at most 1000 times",
		`\u12`:       `\u`,
		`\u{110000}`: "does not know the escape",
		`(`:          "missing closing )",
	} {
		_, err := NewEngine().Compile(pattern)
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 500 {
			t.Errorf("%.20s: got %v, want %q in few words", pattern, err, want)
		}
	}
}

func long(s string, n int) string { return strings.Repeat(s, n) }

func TestTheSizeIsBounded(t *testing.T) {
	if _, err := NewEngine().Compile(long(`(x{30}){30}`, 12)); err == nil {
		t.Error("one pattern over the bound is taken")
	}
	e := NewEngine()
	taken, err := 0, error(nil)
	for err == nil {
		_, err = e.Compile(fmt.Sprintf(`(x{30}){30}%d`, taken))
		taken++
		if taken > 1000 {
			t.Fatal("a thousand patterns of 900 instructions are taken: their sum has no bound")
		}
	}
	first, err := e.Compile(`(x{30}){30}0`)
	if err != nil || Size(first) < 900 || Size(first) > MaxSize || Size(nil) != 0 {
		t.Errorf("one is said to have %d instructions, and none %d (%v)", Size(first), Size(nil), err)
	}
	if taken < 10 {
		t.Errorf("the bound of the sum is reached by %d patterns of some 900 instructions", taken)
	}
}

// The metaschema and the schema ask for the same pattern; it counts once.
func TestAPatternCountsOnce(t *testing.T) {
	e := NewEngine()
	for range 1000 {
		if _, err := e.Compile(`(x{30}){30}`); err != nil {
			t.Fatal(err)
		}
	}
}
