// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

// TestCanonicalForm is the package comment as examples.
func TestCanonicalForm(t *testing.T) {
	for input, want := range map[string]string{
		"\t[ null ,true, false ] \n": `[null,true,false]`,
		`"\u0061\/\u00e9"`:           `"a/é"`,
		`"\u0022\u005c\u0008\u000c\u000a\u000d\u0009\u001F\u007f\u2028\ud83d\ude00"`: `"\"\\\b\f\n\r\t\u001f` + "\x7f\u2028\U0001f600" + `"`,
		`"e\u0301"`:                                                  "\"e\u0301\"",
		`[0,-0,0.0,-0e5,0e-999]`:                                     `[0,0,0,0,0]`,
		`[1,1.0,10e-1,0.1E+1,100e-002]`:                              `[1e0,1e0,1e0,1e0,1e0]`,
		`[1200,-0.50,120.0e1,12e2]`:                                  `[12e2,-5e-1,12e2,12e2]`,
		`[9007199254740993,0.12345678901234567890,1e1000000]`:        `[9007199254740993e0,1234567890123456789e-19,1e1000000]`,
		`{"b":1,"a":{"d":[],"c":{}}}`:                                `{"a":{"c":{},"d":[]},"b":1e0}`,
		`{"\ufb33":1,"\ud83d\ude00":2,"z":3,"":4,"\u0061a":5,"a":6}`: "{\"\":4e0,\"a\":6e0,\"aa\":5e0,\"z\":3e0,\"\ufb33\":1e0,\"\U0001f600\":2e0}",
	} {
		if got := string(appendCanonical(nil, []byte(input))); got != want {
			t.Errorf("canonical form of %s\n got %s\nwant %s", input, got, want)
		}
	}
}

func TestDigest(t *testing.T) {
	sum := sha256.Sum256([]byte(`{"a":1e0}`))
	want := "v1:sha256:" + hex.EncodeToString(sum[:])
	for _, input := range []string{`{"a":1}`, "\n{ \"\\u0061\" :\t1.000 } "} {
		if got, err := Digest([]byte(input)); got != want || err != nil {
			t.Errorf("Digest(%s) = %s, %v, want %s", input, got, err, want)
		}
	}
}

func TestDigestRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		input string
		want  jsonrpc.Cause
	}{
		"what is no JSON":     {`{"a":}`, jsonrpc.CauseSyntax},
		"a duplicate key":     {`{"a":1,"\u0061":1}`, jsonrpc.CauseDuplicateKey},
		"a lone surrogate":    {`{"a":"\ud800"}`, jsonrpc.CauseSurrogate},
		"NUL in a key":        {`{"a\u0000":1}`, jsonrpc.CauseNULKey},
		"an immense exponent": {`{"a":1e1000001}`, jsonrpc.CauseNumber},
		"an immense text":     {`"` + strings.Repeat("x", MaxBytes) + `"`, jsonrpc.CauseSize},
		"immense nesting":     {strings.Repeat("[", 200) + strings.Repeat("]", 200), jsonrpc.CauseDepth},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Digest([]byte(tc.input))
			var syntax *jsonrpc.SyntaxError
			if !errors.As(err, &syntax) || syntax.Cause != tc.want {
				t.Errorf("Digest(%.40s) = %v, want a SyntaxError with cause %s", tc.input, err, tc.want)
			}
		})
	}
}

// TestNumbersAreExactDecimals compares the canonical form with rational arithmetic.
func TestNumbersAreExactDecimals(t *testing.T) {
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,9})?([eE][+-]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		if rapid.Bool().Draw(t, "related") { // a again, with another spelling
			b = respellNumber(t, a)
		}
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		form, other := string(appendNumber(nil, []byte(a))), string(appendNumber(nil, []byte(b)))
		if (x.Cmp(y) == 0) != (form == other) {
			t.Errorf("%s is %s and %s is %s", a, form, b, other)
		}
		if back, ok := new(big.Rat).SetString(form); !ok || back.Cmp(x) != 0 || !json.Valid([]byte(form)) {
			t.Errorf("%s became %s", a, form)
		}
	})
}

// respellNumber writes the number with a shifted decimal point, as digits and an exponent.
func respellNumber(t *rapid.T, number string) string {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	shift := 0
	if exponent != "" {
		if _, err := fmt.Sscanf(exponent, "%d", &shift); err != nil {
			t.Fatal(err)
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	digits := strings.TrimLeft(whole+fraction, "0")
	zeros := rapid.IntRange(0, 4).Draw(t, "zeros")
	if digits == "" {
		digits, zeros = "0", 0
	}
	shift -= len(fraction) + zeros
	return fmt.Sprintf("%s%s%sE%+03d", sign, digits, strings.Repeat("0", zeros), shift)
}

func TestCatalogueDigest(t *testing.T) {
	a, b := Tool{Name: "a", Digest: "1"}, Tool{Name: "b", Digest: "2"}
	base := CatalogueDigest([]Tool{a, b})
	if want, err := Digest([]byte(`[["a","1"],["b","2"]]`)); err != nil || base != want {
		t.Errorf("CatalogueDigest = %s, want %s (%v)", base, want, err)
	}
	if CatalogueDigest([]Tool{b, a}) != base {
		t.Error("CatalogueDigest depends on the order")
	}
	for name, other := range map[string][]Tool{
		"one tool less":        {a},
		"one tool twice":       {a, b, b},
		"another digest":       {a, {Name: "b", Digest: "3"}},
		"another name":         {a, {Name: "c", Digest: "2"}},
		"digests swapped":      {{Name: "a", Digest: "2"}, {Name: "b", Digest: "1"}},
		"nothing":              nil,
		"a name and its quote": {{Name: `a","1"],["b`, Digest: "2"}},
	} {
		if CatalogueDigest(other) == base {
			t.Errorf("%s: same digest", name)
		}
	}
}
