// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestCheckRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		input      string
		limits     Limits
		wantCause  Cause
		wantPath   string
		wantOffset int
	}{
		"nothing":                      {input: "", wantCause: CauseSyntax},
		"white space alone":            {input: " \n", wantCause: CauseSyntax, wantOffset: 2},
		"a byte order mark":            {input: "\ufeff{}", wantCause: CauseEncoding},
		"a byte order mark in between": {input: "[\ufeff1]", wantCause: CauseSyntax, wantPath: "/0", wantOffset: 1},
		"a second value":               {input: `{} {}`, wantCause: CauseTrailing, wantOffset: 3},
		"NaN":                          {input: `{"a":NaN}`, wantCause: CauseSyntax, wantPath: "/a", wantOffset: 5},
		"Infinity":                     {input: `[1,-Infinity]`, wantCause: CauseSyntax, wantPath: "/1", wantOffset: 4},
		"a leading zero":               {input: `01`, wantCause: CauseTrailing, wantOffset: 1},
		"no-break space between":       {input: "[\u00a01]", wantCause: CauseSyntax, wantPath: "/0", wantOffset: 1},
		"a raw line feed in a string":  {input: "{\"a\":\"b\nc\"}", wantCause: CauseSyntax, wantPath: "/a", wantOffset: 7},
		"a raw NUL in a string":        {input: "[\"abcdefghijkl\x00\"]", wantCause: CauseSyntax, wantPath: "/0", wantOffset: 14},
		"a duplicate key": {
			input: `{"a":1,"b":2,"a":3}`, wantCause: CauseDuplicateKey, wantPath: "/a", wantOffset: 13,
		},
		"a duplicate key in another spelling": {
			input: `{"a":{"path":1,"p\u0061th":2}}`, wantCause: CauseDuplicateKey, wantPath: "/a/path", wantOffset: 15,
		},
		"a duplicate key spelt as a surrogate pair": {
			input: `{"😀":1,"\ud83d\ude00":2}`, wantCause: CauseDuplicateKey, wantPath: "/😀", wantOffset: 10,
		},
		"a duplicate empty key": {
			input: `[{"":1,"":2}]`, wantCause: CauseDuplicateKey, wantPath: "/0/", wantOffset: 7,
		},
		"a duplicate key after nested objects": {
			input: `{"a":{"b":{}},"c":[{"a":1}],"a":0}`, wantCause: CauseDuplicateKey, wantPath: "/a", wantOffset: 28,
		},
		"NUL in a key":                {input: `{"a":{"b\u0000":1}}`, wantCause: CauseNULKey, wantPath: "/a", wantOffset: 6},
		"a lone high surrogate":       {input: `["\ud800"]`, wantCause: CauseSurrogate, wantPath: "/0", wantOffset: 2},
		"a lone low surrogate":        {input: `["\udc00"]`, wantCause: CauseSurrogate, wantPath: "/0", wantOffset: 2},
		"halves the wrong way round":  {input: `["\udc00\ud800"]`, wantCause: CauseSurrogate, wantPath: "/0", wantOffset: 2},
		"a high surrogate in a key":   {input: `{"\ud800":1}`, wantCause: CauseSurrogate, wantOffset: 2},
		"a surrogate in raw UTF-8":    {input: "[\"\xed\xa0\x80\"]", wantCause: CauseEncoding, wantPath: "/0", wantOffset: 2},
		"an overlong quote":           {input: "{\"k\":[\"a\xc0\xa2\"]}", wantCause: CauseEncoding, wantPath: "/k/0", wantOffset: 8},
		"invalid UTF-8 after the end": {input: "{}\xff", wantCause: CauseEncoding, wantOffset: 2},
		"an error before bad UTF-8":   {input: "{\"a\":1,\"a\":\n\"\xff\"}x", wantCause: CauseEncoding, wantPath: "/a", wantOffset: 13},
		"bad syntax before bad UTF-8": {input: "{\"a\":x,\"b\":\"\xff\"}", wantCause: CauseSyntax, wantPath: "/a", wantOffset: 5},
		"a key that must be escaped in a pointer": {
			input: `{"a/b~c":[0,tru]}`, wantCause: CauseSyntax, wantPath: "/a~1b~0c/1", wantOffset: 12,
		},
		"nesting beyond the limit":    {input: `[[[]]]`, limits: Limits{MaxDepth: 2}, wantCause: CauseDepth, wantPath: "/0/0", wantOffset: 2},
		"more bytes than the limit":   {input: `[1, 2]`, limits: Limits{MaxBytes: 5}, wantCause: CauseSize, wantOffset: 5},
		"more digits than the limit":  {input: `[1234.5]`, limits: Limits{MaxDigits: 4}, wantCause: CauseNumber, wantPath: "/0", wantOffset: 1},
		"an exponent over the limit":  {input: `1e-401`, limits: Limits{MaxExponent: 400}, wantCause: CauseNumber, wantOffset: 3},
		"an exponent beyond integers": {input: `1e99999999999999999999`, limits: Limits{MaxExponent: 400}, wantCause: CauseNumber, wantOffset: 2},
	} {
		t.Run(name, func(t *testing.T) {
			err := Check([]byte(tc.input), tc.limits)
			var got *SyntaxError
			if !errors.As(err, &got) {
				t.Fatalf("Check(%q) = %v, want a SyntaxError", tc.input, err)
			}
			if got.Cause != tc.wantCause || got.Path != tc.wantPath || got.Offset != tc.wantOffset {
				t.Errorf("Check(%q) = cause %s, path %q, offset %d (%v), want cause %s, path %q, offset %d",
					tc.input, got.Cause, got.Path, got.Offset, err, tc.wantCause, tc.wantPath, tc.wantOffset)
			}
		})
	}
}

func TestCheckAccepts(t *testing.T) {
	for name, tc := range map[string]struct {
		input  string
		limits Limits
	}{
		"white space around":                {input: " \t\r\n{} \n"},
		"numbers beyond a double":           {input: `[9007199254740993,-0,1E400,1e999,0.12345678901234567890]`},
		"digits at the limit":               {input: `-123.4e7`, limits: Limits{MaxDigits: 4}},
		"an exponent at the limit":          {input: `1e+0400`, limits: Limits{MaxExponent: 400}},
		"depth at the limit":                {input: `{"a":[[]],"b":[[]]}`, limits: Limits{MaxDepth: 3}},
		"size at the limit":                 {input: `[1, 2]`, limits: Limits{MaxBytes: 6}},
		"NUL in a value":                    {input: `["\u0000"]`},
		"one key in several objects":        {input: `{"a":{"a":{"a":[{"a":1},{"a":2}]}}}`},
		"keys that differ by normal form":   {input: "{\"\u00e9\":1,\"e\u0301\":2}"},
		"characters that damage other hops": {input: "[\"\u00a0\u3000\u2028\u2029\U0001f469\u200d\U0001f4bb\ufffd\u202e\uffff\"]"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := Check([]byte(tc.input), tc.limits); err != nil {
				t.Errorf("Check(%q) = %v, want nil", tc.input, err)
			}
		})
	}
}

func TestCheckFindsDuplicatesInObjectsOfEverySize(t *testing.T) {
	for _, n := range []int{2, smallObject - 1, smallObject, smallObject + 1, 100, 5000} {
		keys := make([]string, n)
		for i := range keys {
			keys[i] = fmt.Sprintf(`"key%d":%d`, i, i)
		}
		distinct := "{" + strings.Join(keys, ",") + "}"
		if err := Check([]byte(distinct), Limits{}); err != nil {
			t.Errorf("Check of %d distinct keys = %v, want nil", n, err)
		}
		twice := "{" + strings.Join(keys, ",") + fmt.Sprintf(`,"key%d":0}`, n/2)
		if got := causeOf(Check([]byte(twice), Limits{})); got != CauseDuplicateKey {
			t.Errorf("Check of %d keys and a duplicate: cause %q, want %q", n, got, CauseDuplicateKey)
		}
	}
}

func TestErrorsStaySmall(t *testing.T) {
	long := strings.Repeat("k", 1<<20)
	nested := strings.Repeat(`{"`+strings.Repeat("n", 200)+`":`, 100)
	for _, input := range []string{`{"` + long + `":x}`, `{"` + long + `":1,"` + long + `":2}`, nested, strings.Repeat("[", 200)} {
		err := Check([]byte(input), Limits{})
		if err == nil {
			t.Fatal("Check accepted a broken input")
		}
		if n := len(err.Error()); n > 4096 {
			t.Errorf("the error has %d bytes, want 4096 at most", n)
		}
	}
}
