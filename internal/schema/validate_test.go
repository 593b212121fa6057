// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/schema"
	"toolgate.dev/toolgate/internal/schema/violation"
)

func compile(t testing.TB, raw string, opts schema.Options) *schema.Schema {
	t.Helper()
	s, err := schema.Compile([]byte(raw), opts)
	if err != nil {
		t.Fatalf("%v in %.200s", err, raw)
	}
	return s
}

// TestViolations: where, which keyword, what would be right, in that order, for each keyword.
func TestViolations(t *testing.T) {
	for name, tc := range map[string]struct {
		schema, instance string
		want             []string // path keyword schemaPath | message | expected
	}{
		"a valid instance":        {`{"type":"object"}`, `{}`, nil},
		"another type":            {`{"properties":{"a":{"type":"string"}}}`, `{"a":5}`, []string{"/a type /properties/a/type | is of type number | string"}},
		"none of two types":       {`{"properties":{"a":{"type":["string","null"]}}}`, `{"a":[]}`, []string{"/a type /properties/a/type | is of type array | null or string"}},
		"never coerced":           {`{"properties":{"a":{"type":"integer"},"b":{"type":"boolean"}}}`, `{"a":"5","b":"true"}`, []string{"/a type /properties/a/type | is of type string | integer", "/b type /properties/b/type | is of type string | boolean"}},
		"1.0 is an integer":       {`{"type":"integer"}`, `1.0`, nil},
		"1.5 is none":             {`{"type":"integer"}`, `1.5`, []string{" type /type | is of type number | integer"}},
		"a missing member":        {`{"properties":{"path":{"type":"string"}},"required":["path"]}`, `{}`, []string{` required /required | misses the required member "path" | "path": string`}},
		"two missing members":     {`{"required":["a","b"]}`, `{}`, []string{` required /required | misses the required member "a" | "a"`, ` required /required | misses the required member "b" | "b"`}},
		"an undeclared member":    {`{"properties":{"path":{}},"additionalProperties":false}`, `{"pth/x":1}`, []string{`/pth~1x additionalProperties /additionalProperties | the member "pth/x" is not declared | only members named "path"`}},
		"an unevaluated member":   {`{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`, `{"a":1,"b":2}`, []string{"/b unevaluatedProperties /unevaluatedProperties | is not allowed here | nothing"}},
		"an enum":                 {`{"enum":["a","<b>",3,null]}`, `"c"`, []string{` enum /enum | is none of the listed values | one of "a", "<b>", 3, null`}},
		"a constant":              {`{"const":{"a":[1]}}`, `{}`, []string{` const /const | is not the one value that is allowed | exactly {"a":[1]}`}},
		"a big constant, exactly": {`{"const":9007199254740993}`, `9007199254740992`, []string{` const /const | is not the one value that is allowed | exactly 9007199254740993`}},
		"a big constant's equal":  {`{"const":9007199254740993}`, `9007199254740993.0`, nil},
		"numbers out of range": {`{"items":{"minimum":1.5,"exclusiveMaximum":10}}`, `[1,10]`, []string{
			"/0 minimum /items/minimum | is out of range | at least 1.5", "/1 exclusiveMaximum /items/exclusiveMaximum | is out of range | less than 10"}},
		"a maximum over 2^53":     {`{"maximum":9007199254740992}`, `9007199254740993`, []string{" maximum /maximum | is out of range | at most 9007199254740992"}},
		"an exclusiveMinimum":     {`{"exclusiveMinimum":0.1}`, `0.1`, []string{" exclusiveMinimum /exclusiveMinimum | is out of range | more than 0.1"}},
		"a multiple":              {`{"multipleOf":0.01}`, `0.015`, []string{" multipleOf /multipleOf | is not a multiple | a multiple of 0.01"}},
		"lengths, in characters":  {`{"items":{"minLength":2,"maxLength":3}}`, `["ü","äöüß"]`, []string{"/0 minLength /items/minLength | has 1 characters | at least 2 characters", "/1 maxLength /items/maxLength | has 4 characters | at most 3 characters"}},
		"a pattern":               {`{"pattern":"^\\u0061+$"}`, `"b"`, []string{` pattern /pattern | does not match the pattern | a string that matches ^\u0061+$`}},
		"numbers of items":        {`{"prefixItems":[{"minItems":1},{"maxItems":1}]}`, `[[],[1,2]]`, []string{"/0 minItems /prefixItems/0/minItems | has 0 items | at least 1 items", "/1 maxItems /prefixItems/1/maxItems | has 2 items | at most 1 items"}},
		"numbers of members":      {`{"prefixItems":[{"minProperties":1},{"maxProperties":1}]}`, `[{},{"a":1,"b":1}]`, []string{"/0 minProperties /prefixItems/0/minProperties | has 0 members | at least 1 members", "/1 maxProperties /prefixItems/1/maxProperties | has 2 members | at most 1 members"}},
		"equal items":             {`{"uniqueItems":true}`, `[1,{"a":1,"b":[2]},{"b":[2.0],"a":1.0}]`, []string{" uniqueItems /uniqueItems | items 1 and 2 are equal | items that are all different"}},
		"items that only look so": {`{"uniqueItems":true}`, `[1,true,"1",[1],[[1]],null,"null",{},[],"",0,false,{"0":0}]`, nil},
		"no fitting item":         {`{"contains":{"type":"string"}}`, `[1]`, []string{" contains /contains | has no item of the kind that is asked for | at least 1 such item"}},
		"too few fitting items":   {`{"contains":{"type":"string"},"minContains":2,"maxContains":3}`, `["a"]`, []string{" minContains /minContains | has 1 items of the kind that is asked for | at least 2 items of the kind that is asked for"}},
		"too many items":          {`{"$schema":"http://json-schema.org/draft-07/schema","items":[true],"additionalItems":false}`, `[1,2,3]`, []string{" additionalItems /additionalItems | has 2 items too many | "}},
		"a forbidden member":      {`{"properties":{"a":false}}`, `{"a":1}`, []string{"/a properties /properties/a | is not allowed here | nothing"}},
		"what is excluded":        {`{"not":{"type":"string"}}`, `"a"`, []string{" not /not | is what the schema excludes | "}},
		"a name that is too long": {`{"properties":{"a":{"items":{"propertyNames":{"maxLength":2}}}}}`, `{"a":[{"b":1},{"ccc":1},{"d":1}]}`, []string{`/a/1 propertyNames /properties/a/items/propertyNames | the member name "ccc" is not allowed | names that are at most 2 characters`}},
		"a dependent member":      {`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, []string{` dependentRequired /dependentRequired/a | misses the required member "b", which goes with "a" | "b"`}},
		"through a reference":     {`{"properties":{"a":{"$ref":"#/$defs/x~1y"}},"$defs":{"x/y":{"type":"string"}}}`, `{"a":1}`, []string{"/a type /$defs/x~1y/type | is of type number | string"}},
		"an anyOf of types":       {`{"anyOf":[{"type":"string"},{"type":"null"},{"enum":[1,2]}]}`, `true`, []string{" anyOf /anyOf | fits no alternative | string or null or one of 1, 2"}},
		"a union with a tag": {`{"oneOf":[{"properties":{"t":{"const":"a"},"x":{"type":"string"}},"required":["t","x"]},{"properties":{"t":{"const":"b"},"y":{"type":"string"}},"required":["t","y"]}]}`,
			`{"t":"b"}`, []string{` oneOf /oneOf | fits none of 2 alternatives | what the closest alternative asks for`, ` required /oneOf/1/required | misses the required member "y" | "y": string`}},
		"a union with a wrong tag": {`{"oneOf":[{"properties":{"t":{"const":"a"},"x":{"type":"string"}},"required":["t","x"]},{"properties":{"t":{"const":"b"}},"required":["t"]}]}`,
			`{"t":"c"}`, []string{`/t const /oneOf/1/properties/t/const | is not the one value that is allowed | exactly "a" or exactly "b"`}},
		"two alternatives at once": {`{"oneOf":[{"type":"integer"},{"minimum":2},{"maxLength":1}]}`, `3`, []string{" oneOf /oneOf | fits alternatives 0 and 1, not one alone | a value that fits exactly one alternative"}},
		"no alternative at all":    {`{"if":{"type":"string"},"then":{"minLength":2},"else":{"minimum":2}}`, `1`, []string{" minimum /else/minimum | is out of range | at least 2"}},
		"not JSON":                 {`{}`, `{"a":`, []string{" syntax  | is not one JSON value | strict JSON"}},
		"nothing":                  {`{}`, ``, []string{" syntax  | is not one JSON value | strict JSON"}},
		"a number without end":     {`{}`, `{"a":[1e999]}`, []string{"/a/0 limit  | is a number with an exponent beyond 400 | "}},
		"an instance that is deep": {`{}`, strings.Repeat("[", 66) + strings.Repeat("]", 66), []string{strings.Repeat("/0", 65) + " limit  | is nested deeper than 64 levels | "}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, v := range compile(t, tc.schema, schema.Options{}).Validate([]byte(tc.instance)) {
				got = append(got, fmt.Sprintf("%s %s %s | %s | %s", v.Path, v.Keyword, v.SchemaPath, v.Message, v.Expected))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

// TestViolationsAreBoundedAndStable: many faults, any map order, one answer; and long names do not make long texts.
func TestViolationsAreBoundedAndStable(t *testing.T) {
	s := compile(t, `{"additionalProperties":{"type":"string"},"propertyNames":{"maxLength":100}}`, schema.Options{})
	members := map[string]int{strings.Repeat("n", 100_000): 1}
	for i := range 200 {
		members[fmt.Sprintf("m%03d", i)] = i
	}
	instance, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	want := s.Validate(instance)
	if len(want) != violation.Most {
		t.Fatalf("%d violations, want %d", len(want), violation.Most)
	}
	for range 20 {
		if diff := cmp.Diff(want, s.Validate(instance)); diff != "" {
			t.Fatalf("another answer:\n%s", diff)
		}
	}
	if text := violation.Explain(want); len(text) > 8000 {
		t.Errorf("the explanation has %d bytes", len(text))
	}
}

// TestValuesDoNotLeak: a violation quotes the schema and the type of the value, never the value.
func TestValuesDoNotLeak(t *testing.T) {
	s := compile(t, `{"type":"object","properties":{"a":{"type":"integer"},"b":{"pattern":"^x$"},"c":{"enum":[1]},"d":{"const":1},
		"e":{"format":"date"},"f":{"maxLength":2},"g":{"anyOf":[{"const":1},{"minLength":90}]},"h":{"not":{"type":"string"}},"i":{"uniqueItems":true}}}`,
		schema.Options{AssertFormats: true})
	vs := s.Validate([]byte(`{"a":"hunter2","b":"hunter2","c":"hunter2","d":"hunter2","e":"hunter2","f":"hunter2","g":"hunter2","h":"hunter2","i":["hunter2","hunter2"]}`))
	if len(vs) < 9 || strings.Contains(fmt.Sprint(vs), "hunter2") {
		t.Errorf("%d violations: %v", len(vs), vs)
	}
}

func TestFormats(t *testing.T) {
	for dialect, raw := range map[string]string{
		"2020-12":  `{"properties":{"d":{"format":"date"},"r":{"format":"regex"},"n":{"format":"int32"}}}`,
		"draft-07": `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"d":{"format":"date"},"r":{"format":"regex"},"n":{"format":"int32"}}}`,
	} {
		t.Run(dialect, func(t *testing.T) {
			instance := []byte(`{"d":"tomorrow","r":"(","n":5000000000}`)
			if vs := compile(t, raw, schema.Options{}).Validate(instance); vs != nil {
				t.Errorf("formats are annotations: %v", vs)
			}
			vs := compile(t, raw, schema.Options{AssertFormats: true}).Validate(instance)
			if len(vs) != 2 || vs[0].Keyword != "format" || vs[0].Expected != `a string of format "date"` {
				t.Errorf("formats are asserted: %+v", vs)
			}
		})
	}
}

func TestDeclared(t *testing.T) {
	s := compile(t, `{"properties":{"b":{"properties":{"deep":true}},"a":true},"allOf":[{"$ref":"#/$defs/more"}],
		"anyOf":[{"properties":{"any":true}}],"not":{"properties":{"never":true}},"$defs":{"more":{"properties":{"c":true}}}}`, schema.Options{})
	for name, want := range map[string]bool{"a": true, "any": true, "b": true, "c": true, "deep": false, "never": false} {
		args := fmt.Sprintf(`{%q:1}`, strings.ToUpper(name))
		if got := s.Declared().Check([]byte(args)) != nil; got != want {
			t.Errorf("%s is confused with a declared name: %t, want %t", args, got, want)
		}
	}
}

func TestWithDefaults(t *testing.T) {
	for name, tc := range map[string]struct{ schema, instance, want string }{
		"without defaults it stays as it is": {`{"properties":{"a":{}}}`, `{ "b" : 1.0 }`, `{ "b" : 1.0 }`},
		"with nothing absent, too":           {`{"properties":{"a":{"default":1}}}`, `{ "a" : 2 }`, `{ "a" : 2 }`},
		"an absent member is filled in":      {`{"properties":{"a":{"type":"integer","default":1}}}`, `{"b":9007199254740993}`, `{"a":1,"b":9007199254740993}`},
		"null is not absent":                 {`{"properties":{"a":{"default":1}}}`, `{"a":null}`, `{"a":null}`},
		"a nested member is filled in":       {`{"properties":{"o":{"properties":{"a":{"default":[1]}}}}}`, `{"o":{}}`, `{"o":{"a":[1]}}`},
		"an absent object is not made up":    {`{"properties":{"o":{"properties":{"a":{"default":1}}}}}`, `{}`, `{}`},
		"elements are filled in":             {`{"items":{"properties":{"a":{"default":1}}}}`, `[{},{"a":2}]`, `[{"a":1},{"a":2}]`},
		"through references and allOf":       {`{"allOf":[{"$ref":"#/$defs/d"}],"$defs":{"d":{"properties":{"a":{"$ref":"#/$defs/v"}}},"v":{"default":1}}}`, `{}`, `{"a":1}`},
		"not through alternatives":           {`{"anyOf":[{"properties":{"a":{"default":1}}},true],"if":true,"then":{"properties":{"b":{"default":1}}}}`, `{}`, `{}`},
		"not when it does not fit":           {`{"properties":{"a":{"type":"string","default":1}}}`, `{}`, `{}`},
		"a recursive schema ends":            {`{"properties":{"a":{"$ref":"#","default":{}}}}`, `{}`, `{"a":{}}`},
		"positions of an older dialect":      {`{"items":[{"properties":{"a":{"default":1}}}],"additionalItems":{"properties":{"b":{"default":2}}}}`, `[{},{}]`, `[{"a":1},{"b":2}]`},
	} {
		t.Run(name, func(t *testing.T) {
			s := compile(t, tc.schema, schema.Options{})
			for range 2 { // the first must not change the schema
				got, err := s.WithDefaults([]byte(tc.instance))
				if err != nil || string(got) != tc.want {
					t.Errorf("got %s (%v), want %s", got, err, tc.want)
				}
			}
		})
	}
	if _, err := compile(t, `{"properties":{"a":{"default":1}}}`, schema.Options{}).WithDefaults([]byte(`{`)); err == nil {
		t.Error("no error for what is no JSON")
	}
}

// TestCostIsBounded: what would be exponential is refused at once; what only looks so is not.
func TestCostIsBounded(t *testing.T) {
	deep := func(n int) string { return strings.Repeat(`{"c":`, n) + `{}` + strings.Repeat(`}`, n) }
	doubling := `{"$defs":{"t":{"properties":{"c":{"allOf":[{"$ref":"#/$defs/t"},{"$ref":"#/$defs/t"}]}}}},"$ref":"#/$defs/t"}`
	tagged := `{"$defs":{"e":{"oneOf":[{"properties":{"a":{"$ref":"#/$defs/e"}},"required":["a"]},{"properties":{"b":{"$ref":"#/$defs/e"}},"required":["b"]},{"maxProperties":0}]}},"$ref":"#/$defs/e"}`
	for name, tc := range map[string]struct {
		schema, instance string
		wantKeyword      string
	}{
		"a doubling schema on a flat value":            {doubling, deep(8), ""},
		"a doubling schema on a deep value":            {doubling, deep(60), "limit"},
		"a union that doubles only in the worst case":  {tagged, strings.Repeat(`{"b":`, 60) + `{}` + strings.Repeat(`}`, 60), ""},
		"the metaschema on a schema that is deep":      {`{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, strings.Repeat(`{"properties":{"a":`, 25) + `{}` + strings.Repeat(`}}`, 25), ""},
		"a recursive schema on a deep value":           {`{"properties":{"c":{"$ref":"#"}}}`, deep(63), ""},
		"unique items that hash alike elsewhere":       {`{"uniqueItems":true}`, alike(14), ""},
		"a large pattern on a long text":               {`{"pattern":"^([a-z]{1,30}[0-9]{1,30}){1,20}$"}`, `"` + strings.Repeat("a", 1_000_000) + `"`, "limit"},
		"a small pattern on a long text":               {`{"pattern":"^(a+)+$"}`, `"` + strings.Repeat("a", 100_000) + `b"`, "pattern"},
		"an enum of thousands for thousands of values": {`{"items":{"enum":[` + strings.Repeat(`"aaaaaaaa",`, 20_000) + `"b"]}}`, `[` + strings.Repeat(`"c",`, 100_000) + `"c"]`, "limit"},
	} {
		t.Run(name, func(t *testing.T) {
			vs := compile(t, tc.schema, schema.Options{}).Validate([]byte(tc.instance))
			switch {
			case tc.wantKeyword == "" && vs != nil:
				t.Errorf("refused: %v", vs)
			case tc.wantKeyword != "" && (len(vs) != 1 || vs[0].Keyword != tc.wantKeyword):
				t.Errorf("violations %v, want %s", vs, tc.wantKeyword)
			}
		})
	}
}

// TestMillionsOfViolations: words are made for those that are told alone.
func TestMillionsOfViolations(t *testing.T) {
	s := compile(t, `{"items":{"enum":[`+strings.Repeat(`"aaaaaaaaaaaaaaaaaaaa",`, 15)+`"b"]}}`, schema.Options{})
	vs := s.Validate([]byte(`[` + strings.Repeat(`1,`, 500_000) + `1]`))
	if len(vs) != violation.Most || vs[0].Path != "/0" || vs[0].Keyword != "enum" {
		t.Errorf("%d violations, the first %+v", len(vs), vs[0])
	}
}

// alike makes all ways to bracket n ones: distinct values that a hash without brackets can't tell apart.
func alike(n int) string {
	shapes := [][]string{{"1"}}
	for size := 2; size <= n/2; size++ {
		var all []string
		for left := 1; left < size; left++ {
			for _, a := range shapes[left-1] {
				for _, b := range shapes[size-left-1] {
					all = append(all, "["+a+","+b+"]")
				}
			}
		}
		shapes = append(shapes, all)
	}
	return "[" + strings.Join(shapes[len(shapes)-1], ",") + "]"
}

func TestConcurrentUse(t *testing.T) {
	s := compile(t, `{"type":"object","properties":{"a":{"type":"string","default":"x","pattern":"^[a-z]+$"},"l":{"items":{"$ref":"#"},"uniqueItems":true}},"additionalProperties":false}`, schema.Options{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if vs := s.Validate([]byte(`{"l":[{"a":"b"},{"l":[]}],"x":1}`)); len(vs) != 1 {
					t.Errorf("%v", vs)
				}
				if got, err := s.WithDefaults([]byte(`{"l":[{}]}`)); err != nil || string(got) != `{"a":"x","l":[{"a":"x"}]}` {
					t.Errorf("%s %v", got, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestExplain(t *testing.T) {
	s := compile(t, `{"properties":{"path":{"type":"string"},"mode":{"enum":["r","w"]}},"required":["path"],"additionalProperties":false}`, schema.Options{})
	got := violation.Explain(s.Validate([]byte(`{"mode":"x","pth":"/a"}`)))
	want := `(the whole value): misses the required member "path"; expected "path": string [required]
/mode: is none of the listed values; expected one of "r", "w" [enum]
/pth: the member "pth" is not declared; expected only members named "mode", "path" [additionalProperties]`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if violation.Explain(nil) != "" {
		t.Error("words about nothing")
	}
}

// FuzzValidate: no schema and no instance makes the engine panic, hang or contradict itself.
func FuzzValidate(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`, `{"a":{}}`)
	f.Add(`{"anyOf":[{"const":1e5},{"pattern":"a"}],"default":1}`, `100000`)
	f.Add(`{"$dynamicRef":"#a","$defs":{"x":{"$dynamicAnchor":"a","uniqueItems":true}}}`, `[1,1.0]`)
	f.Fuzz(func(t *testing.T, raw, instance string) {
		s, err := schema.Compile([]byte(raw), schema.Options{AssertFormats: true})
		if err != nil {
			return
		}
		vs := s.Validate([]byte(instance))
		if filled, err := s.WithDefaults([]byte(instance)); vs == nil && err != nil {
			t.Errorf("valid, but no defaults: %v", err)
		} else if err == nil && vs == nil && !json.Valid(filled) {
			t.Errorf("no JSON: %s", filled)
		}
	})
}
