// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/registry"
)

func TestRedaction(t *testing.T) {
	for name, tc := range map[string]struct {
		redact    []string
		raw, want string
	}{
		"names of secrets, at any depth and in any spelling": {nil,
			`{"a":[{"apiKey":"k","API_KEY":1,"api-key":{"x":1}}],"Authorization":["Bearer x"]}`,
			`{"Authorization":"(redacted)","a":[{"API_KEY":"(redacted)","api-key":"(redacted)","apiKey":"(redacted)"}]}`},
		"a name spelt with escapes":          {nil, `{"pass\u0077ord":"x"}`, `{"password":"(redacted)"}`},
		"names that only begin alike stay":   {nil, `{"tokens":3,"secretary":"x"}`, `{"secretary":"x","tokens":3}`},
		"a name of one's own":                {[]string{"iban"}, `{"account":{"IBAN":"DE"}}`, `{"account":{"IBAN":"(redacted)"}}`},
		"a pointer into an array":            {[]string{"/a/1/b"}, `{"a":[{"b":1},{"b":2}]}`, `{"a":[{"b":1},{"b":"(redacted)"}]}`},
		"a pointer with escapes":             {[]string{"/a~1b/~0"}, `{"a/b":{"~":1}}`, `{"a/b":{"~":"(redacted)"}}`},
		"a pointer to an object":             {[]string{"/a"}, `{"a":{"b":1},"c":2}`, `{"a":"(redacted)","c":2}`},
		"JSON in a text":                     {[]string{"iban"}, `{"text":" {\"iban\":\"DE\",\"n\":[{\"token\":1}]} "}`, `{"text":"{\"iban\":\"(redacted)\",\"n\":[{\"token\":\"(redacted)\"}]}"}`},
		"a pointer does not reach into text": {[]string{"/a"}, `{"text":"{\"a\":1}"}`, `{"text":"{\"a\":1}"}`},
		"a text that only looks like JSON":   {nil, `{"text":"{token: x"}`, `{"text":"{token: x"}`},
		"numbers as they were":               {nil, `[1.0,1e400,-0,123456789012345678901234567890]`, `[1.0,1e400,-0,123456789012345678901234567890]`},
		"no value but an object":             {nil, `"<&>"`, `"<&>"`},
	} {
		t.Run(name, func(t *testing.T) {
			var r Record
			NewPayloads(registry.Audit{Arguments: true, Results: true, Redact: tc.redact}).Fill(&r, []byte(tc.raw), []byte(tc.raw))
			if string(r.Arguments) != tc.want || string(r.Result) != tc.want {
				t.Errorf("got %s and %s, want %s", r.Arguments, r.Result, tc.want)
			}
		})
	}
}

func TestPayloadsThatDoNotFitAreNamed(t *testing.T) {
	all := NewPayloads(registry.Audit{Arguments: true, Results: true})
	sized := func(n int) []byte { return []byte(`{"a":"` + strings.Repeat("x", n) + `"}`) }
	for name, tc := range map[string]struct {
		arguments, result []byte
		want              []string
	}{
		"both fit":                          {sized(3000), sized(3000), nil},
		"each fits alone":                   {sized(6000), sized(6000), []string{"result"}},
		"a result of megabytes":             {sized(10), sized(5 << 20), []string{"result"}},
		"both of megabytes":                 {sized(5 << 20), sized(5 << 20), []string{"arguments", "result"}},
		"what escapes make longer":          {[]byte(`"` + strings.Repeat("\u2028", 2000) + `"`), nil, []string{"arguments"}},
		"what is no JSON, or not one value": {[]byte(`{"a":`), []byte(`{} {}`), []string{"arguments", "result"}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			r := Record{Tool: "echo", Outcome: Success}
			all.Fill(&r, tc.arguments, tc.result)
			if _, err := New(&out).Write(r); err != nil {
				t.Fatal(err)
			}
			if out.Len() > MaxLine {
				t.Errorf("a line of %d bytes", out.Len())
			}
			var got Record
			if err := json.Unmarshal(out.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Omitted, tc.want) {
				t.Errorf("omitted %v, want %v", got.Omitted, tc.want)
			}
			if (got.Arguments == nil) != slices.Contains(tc.want, "arguments") {
				t.Errorf("arguments of %d bytes", len(got.Arguments))
			}
		})
	}
	var none *Payloads
	r := Record{}
	none.Fill(&r, []byte(`1`), []byte(`2`)) // before there is a document
	if r.Arguments != nil || r.Result != nil {
		t.Error("values were recorded without being asked for")
	}
}
