// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/schema"
)

func nest(n int, inner string) string {
	return strings.Repeat(`{"properties":{"a":`, n) + inner + strings.Repeat(`}}`, n)
}

// bomb makes definitions that double at each of n steps.
func bomb(n int) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{"type":"string"}}}`, n)
	return b.String()
}

// manyPatterns makes patterns that are each within the limit.
func manyPatterns() string {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, `"(x{30}){30}%d":{},`, i)
	}
	return `{"patternProperties":{` + b.String() + `"a":{}}}`
}

func manyAnchors() string {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, `"d%d":{"$dynamicAnchor":"a%d"},`, i, i)
	}
	return `{"$defs":{` + b.String() + `"z":true}}`
}

func TestCompileRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		raw         string
		opts        schema.Options
		wantReason  schema.Reason
		wantPath    string
		wantMessage string
	}{
		"no JSON":                                  {raw: `{"type":`, wantReason: schema.ReasonNotJSON},
		"trailing data":                            {raw: `{} {}`, wantReason: schema.ReasonNotJSON},
		"an empty text":                            {raw: ``, wantReason: schema.ReasonNotJSON},
		"a text over the limit":                    {raw: `{"title":"` + strings.Repeat("a", schema.MaxSchemaBytes) + `"}`, wantReason: schema.ReasonTooLarge, wantMessage: "at most 262144"},
		"500 levels":                               {raw: nest(500, `{}`), wantReason: schema.ReasonTooDeep},
		"10,000 brackets":                          {raw: strings.Repeat("[", 10000), wantReason: schema.ReasonTooDeep},
		"more subschemas than allowed":             {raw: `{"allOf":[` + strings.Repeat(`true,`, schema.MaxSubschemas) + `true]}`, wantReason: schema.ReasonTooMany},
		"a root that is no object":                 {raw: `{"type":"string"}`, opts: schema.Options{RequireObject: true}, wantReason: schema.ReasonNotObject, wantMessage: `"type": "object"`},
		"a root without a type":                    {raw: `{"properties":{}}`, opts: schema.Options{RequireObject: true}, wantReason: schema.ReasonNotObject},
		"a boolean root for arguments":             {raw: `true`, opts: schema.Options{RequireObject: true}, wantReason: schema.ReasonNotObject},
		"an unknown dialect":                       {raw: `{"$schema":"https://example.com/mine"}`, wantReason: schema.ReasonUnsupportedDialect, wantPath: "/$schema", wantMessage: "2020-12"},
		"an unknown dialect inside":                {raw: `{"properties":{"a":{"$id":"http://x.test/a","$schema":"https://example.com/mine"}}}`, wantReason: schema.ReasonUnsupportedDialect, wantPath: "/properties/a/$schema"},
		"a file reference":                         {raw: `{"properties":{"a":{"$ref":"file:///etc/passwd"}}}`, wantReason: schema.ReasonExternalRef, wantPath: "/properties/a/$ref", wantMessage: "nothing is fetched"},
		"an http reference":                        {raw: `{"$ref":"http://169.254.169.254/latest"}`, wantReason: schema.ReasonExternalRef, wantPath: "/$ref"},
		"an https reference":                       {raw: `{"items":{"$ref":"https://example.com/a.json#/b"}}`, wantReason: schema.ReasonExternalRef, wantPath: "/items/$ref"},
		"a relative reference":                     {raw: `{"properties":{"a":{"$ref":"other.json"}}}`, wantReason: schema.ReasonExternalRef, wantPath: "/properties/a/$ref"},
		"a dangling pointer":                       {raw: `{"properties":{"a":{"$ref":"#/$defs/none"}}}`, wantReason: schema.ReasonDanglingRef, wantPath: "/properties/a/$ref", wantMessage: "#/$defs/none"},
		"a dangling anchor":                        {raw: `{"properties":{"a":{"$ref":"#none"}}}`, wantReason: schema.ReasonDanglingRef, wantPath: "/properties/a/$ref"},
		"a reference to itself":                    {raw: `{"$ref":"#"}`, wantReason: schema.ReasonTooComplex, wantMessage: "refers to itself"},
		"a loop of two":                            {raw: `{"properties":{"x":{"$ref":"#/$defs/a"}},"$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"$ref":"#/$defs/a"}}}`, wantReason: schema.ReasonTooComplex},
		"an allOf bomb of 2^20":                    {raw: bomb(20), wantReason: schema.ReasonTooComplex, wantMessage: "10000"},
		"an allOf bomb of 2^60":                    {raw: bomb(60), wantReason: schema.ReasonTooComplex},
		"multipleOf with a vast exponent":          {raw: `{"multipleOf":1e99999999}`, wantReason: schema.ReasonNumber, wantPath: "/multipleOf"},
		"an exponent over any integer":             {raw: `{"minimum":1e99999999999999999999}`, wantReason: schema.ReasonNumber},
		"a number of 2000 digits":                  {raw: `{"const":` + strings.Repeat("1", 2000) + `}`, wantReason: schema.ReasonNumber, wantPath: "/const"},
		"a count that wraps":                       {raw: `{"minLength":18446744073709551616}`, wantReason: schema.ReasonNumber, wantPath: "/minLength"},
		"a negative lookahead":                     {raw: `{"properties":{"a":{"pattern":"^(?!x)y"}}}`, wantReason: schema.ReasonPattern, wantPath: "/properties/a/pattern", wantMessage: "no lookahead"},
		"a negative lookahead in draft-07":         {raw: `{"$schema":"http://json-schema.org/draft-07/schema#","pattern":"(?!x)"}`, wantReason: schema.ReasonPattern, wantPath: "/pattern", wantMessage: "no lookahead"},
		"a lookbehind as a property's pattern":     {raw: `{"patternProperties":{"(?<=a)b":{}}}`, wantReason: schema.ReasonPattern, wantMessage: "no lookbehind"},
		"a back-reference":                         {raw: `{"pattern":"(a)\\1"}`, wantReason: schema.ReasonPattern, wantMessage: "back-references"},
		"a repetition over 1000":                   {raw: `{"pattern":"a{0,2000}"}`, wantReason: schema.ReasonPattern, wantMessage: "1000"},
		"a pattern of too many instructions":       {raw: `{"pattern":"((a{10}){10}b{10}){9}` + strings.Repeat(`(x{30}){30}`, 12) + `"}`, wantReason: schema.ReasonPattern},
		"too many instructions in all":             {raw: manyPatterns(), wantReason: schema.ReasonPattern, wantMessage: "100000"},
		"too many dynamic anchors":                 {raw: manyAnchors(), wantReason: schema.ReasonTooComplex, wantMessage: "64"},
		"a type that is none":                      {raw: `{"type":"strin"}`, wantReason: schema.ReasonInvalid, wantPath: "/type", wantMessage: `"string"`},
		"properties that are a list":               {raw: `{"properties":[]}`, wantReason: schema.ReasonInvalid, wantPath: "/properties", wantMessage: "expected object"},
		"a minLength that is a string":             {raw: `{"properties":{"a":{"minLength":"3"}}}`, wantReason: schema.ReasonInvalid, wantPath: "/properties/a/minLength", wantMessage: "integer"},
		"a number as a schema":                     {raw: `5`, wantReason: schema.ReasonInvalid, wantMessage: "boolean or object"},
		"null as a schema":                         {raw: `null`, wantReason: schema.ReasonInvalid},
		"boolean exclusiveMinimum said to be 2020": {raw: `{"$schema":"https://json-schema.org/draft/2020-12/schema","exclusiveMinimum":true}`, wantReason: schema.ReasonInvalid, wantPath: "/exclusiveMinimum"},
		"the same id twice":                        {raw: `{"$defs":{"a":{"$id":"http://x.test/i"},"b":{"$id":"http://x.test/i"}}}`, wantReason: schema.ReasonInvalid, wantMessage: "same id"},
		"the same anchor twice":                    {raw: `{"$defs":{"a":{"$anchor":"i"},"b":{"$anchor":"i"}}}`, wantReason: schema.ReasonInvalid, wantMessage: "same anchor"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := schema.Compile([]byte(tc.raw), tc.opts)
			var got *schema.CompileError
			if !errors.As(err, &got) {
				t.Fatalf("error is %v, want a CompileError", err)
			}
			if got.Reason != tc.wantReason || tc.wantPath != "" && got.Path != tc.wantPath || !strings.Contains(got.Message, tc.wantMessage) {
				t.Errorf("got %+v, want %s at %q with %q", got, tc.wantReason, tc.wantPath, tc.wantMessage)
			}
			if len(err.Error()) > 4096 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			if strings.Contains(err.Error(), "toolgate://") {
				t.Errorf("an address of our own leaks: %v", err)
			}
		})
	}
}

func TestCompileAccepts(t *testing.T) {
	for name, raw := range map[string]string{
		"nothing at all":                    `{}`,
		"true":                              `true`,
		"64 levels":                         nest(31, `{}`),
		"a list of types":                   `{"type":["string","null"]}`,
		"a recursive tree":                  `{"type":"object","properties":{"child":{"$ref":"#"}}}`,
		"a reference to a property":         `{"type":"object","properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}}}`,
		"an unreachable loop":               `{"$defs":{"a":{"$ref":"#/$defs/a"}},"type":"object"}`,
		"a reference to the metaschema":     `{"properties":{"schema":{"$ref":"https://json-schema.org/draft/2020-12/schema"}}}`,
		"a reference to an id of its own":   `{"$id":"https://example.com/s","properties":{"a":{"$ref":"https://example.com/s#/$defs/x"}},"$defs":{"x":true}}`,
		"an escape of ECMA-262":             `{"pattern":"^[\\u0041-\\u{5A}]+$"}`,
		"unknown formats and keywords":      `{"format":"int32","nullable":true,"x-mcp-header":"A"}`,
		"an embedded schema of another age": `{"$defs":{"a":{"$id":"http://x.test/a","$schema":"http://json-schema.org/draft-07/schema#","items":[{}]}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := schema.Compile([]byte(raw), schema.Options{}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDialect(t *testing.T) {
	for name, tc := range map[string]struct{ raw, want string }{
		"2020-12 when nothing is said":                   {`{"type":"object"}`, "2020-12"},
		"draft-07 for dependencies":                      {`{"dependencies":{"a":["b"]}}`, "draft-07"},
		"draft-07 for additionalItems":                   {`{"properties":{"a":{"additionalItems":false}}}`, "draft-07"},
		"draft-07 for a list of items":                   {`{"items":[{"type":"string"}]}`, "draft-07"},
		"draft-04 for a boolean exclusiveMinimum":        {`{"minimum":1,"exclusiveMinimum":true}`, "draft-04"},
		"draft-04 for a boolean exclusiveMaximum":        {`{"properties":{"a":{"maximum":1,"exclusiveMaximum":false}}}`, "draft-04"},
		"2020-12 for a property named dependencies":      {`{"properties":{"dependencies":{"type":"object"},"additionalItems":{"type":"object"}}}`, "2020-12"},
		"2020-12 for dependencies inside of a constant":  {`{"const":{"dependencies":{}}}`, "2020-12"},
		"draft-07 as declared":                           {`{"$schema":"http://json-schema.org/draft-07/schema#"}`, "draft-07"},
		"draft-07 as declared without a fragment":        {`{"$schema":"http://json-schema.org/draft-07/schema"}`, "draft-07"},
		"draft-07 as declared with https":                {`{"$schema":"https://json-schema.org/draft-07/schema#"}`, "draft-07"},
		"draft-06 as declared":                           {`{"$schema":"http://json-schema.org/draft-06/schema#"}`, "draft-06"},
		"draft-04 as declared":                           {`{"$schema":"http://json-schema.org/draft-04/schema#"}`, "draft-04"},
		"2019-09 as declared":                            {`{"$schema":"https://json-schema.org/draft/2019-09/schema"}`, "2019-09"},
		"2020-12 as declared, with an old-style keyword": {`{"$schema":"https://json-schema.org/draft/2020-12/schema","dependencies":{}}`, "2020-12"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := schema.Compile([]byte(tc.raw), schema.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Dialect(); got != tc.want {
				t.Errorf("dialect is %s, want %s", got, tc.want)
			}
		})
	}
}
