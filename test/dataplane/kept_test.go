// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/test/dataplane/scripted"
)

// TestResultsAreKept gives the server results that other proxies have damaged, and wants them back byte by byte. Since the
// server answers with a part of its arguments, each goes both ways.
func TestResultsAreKept(t *testing.T) {
	c := newChild(t, scripted.Good, scripted.Say)
	s := serve(t, document(t, c.definitions()...), c.command()...).ready().session(latest)
	long := func(n int) string { return `{"content":[{"type":"text","text":"` + strings.Repeat("x", n) + `"}]}` }
	for name, result := range map[string]string{
		"G-24 integers beyond 2^53":                   `{"content":[],"structuredContent":{"a":9007199254740993,"b":-0,"c":1E400,"d":1.0,"e":12345678901234567890}}`,
		"G-25 a snowflake id":                         `{"content":[{"type":"text","text":"1"}],"structuredContent":{"id":1234567890123456789}}`,
		"G-26 structured content that is an array":    `{"content":[],"structuredContent":[1,2]}`,
		"G-26 structured content that is null":        `{"content":[],"structuredContent":null}`,
		"G-26 structured content that is a number":    `{"content":[],"structuredContent":4.70}`,
		"G-27 NBSP, ideographic space, ZWJ, bidi":     "{\"content\":[{\"type\":\"text\",\"text\":\"a\u00a0b\u3000c\u200bd \ufffd 👩\u200d👧 \u202eabc\u202c \u2028\u2029\ufeff\"}]}",
		"G-28 null stays null, absent stays absent":   `{"content":[{"type":"text","text":"x","annotations":null}],"_meta":null}`,
		"G-29 members of a vendor":                    `{"content":[{"type":"x-vendor","x":{"b":1,"a":2}}],"x-vendor":true,"_meta":{"vendor.example/k":[ 1 , 2 ]}}`,
		"G-66 64 KiB less one":                        long(64<<10 - 1),
		"G-66 64 KiB":                                 long(64 << 10),
		"G-66 64 KiB and one":                         long(64<<10 + 1),
		"G-64 G-66 1 MiB":                             long(1 << 20),
		"G-66 G-67 20 MiB":                            long(20 << 20),
		"G-96 an error without the structure":         `{"content":[{"type":"text","text":"no"}],"isError":true}`,
		"an unknown kind of result in white space":    "{\t\"content\" : [ ] , \"x\":\"\\u0041\\/\\ud83d\\ude00\" }",
		"a resultType of the modern revision, unread": `{"content":[],"resultType":"complete"}`,
	} {
		t.Run(name, func(t *testing.T) {
			a := s.call("say", `{"result":`+result+`}`)
			if string(a.Result) != result {
				t.Errorf("got %.300s\nwant %.300s", a.body, result)
			}
		})
	}
}

// TestDefinitionsAreKept lists tools with what other proxies have dropped or refused in definitions.
func TestDefinitionsAreKept(t *testing.T) {
	definitions := []string{
		`{"name":"g15-without-annotations","inputSchema":{"type":"object"}}`,
		`{"name":"g28-nulls","title":null,"inputSchema":{"type":"object"},"annotations":null,"outputSchema":null}`,
		`{"name":"g29-vendor","inputSchema":{"type":"object"},"x-vendor":{"b":9007199254740993,"a":1E400},"annotations":{"x":1,"readOnlyHint":true}}`,
		`{"name":"g30-output","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"n":{"const":9007199254740993}}}}`,
		`{"name":"g90-draft-04","inputSchema":{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"n":{"minimum":0,"exclusiveMinimum":true}}}}`,
		`{"name":"g90-prefix-items","inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"p":{"prefixItems":[{"$ref":"#/$defs/s"}]}},"$defs":{"s":{"type":"string"}}}}`,
		`{"name":"g93-array-without-items","inputSchema":{"type":"object","properties":{"a":{"type":"array"}}}}`,
		`{"name":"g94-types","inputSchema":{"type":"object","properties":{"a":{"type":["string","null"]},"b":true,"c":{}}}}`,
	}
	c := newChild(t, scripted.Good, definitions...)
	s := serve(t, document(t, c.definitions()...), c.command()...).ready().session(latest)
	_, got := s.tools()
	want := map[string]json.RawMessage{}
	for _, d := range c.definitions() {
		want[nameOf(t, d)] = d
	}
	if diff := cmp.Diff(texts(want), texts(got)); diff != "" {
		t.Errorf("definitions (-want +got):\n%s", diff)
	}
}

func texts(raw map[string]json.RawMessage) map[string]string {
	out := map[string]string{}
	for k, v := range raw {
		out[k] = string(v)
	}
	return out
}
