// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package quick

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func compile(t *testing.T, raw string, set ...func(*jsonschema.Compiler)) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	for _, s := range set {
		s(c)
	}
	if err := c.AddResource("s.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("s.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAccepts: a yes is never wrong, and what is plain gets one.
func TestAccepts(t *testing.T) {
	for name, tc := range map[string]struct {
		schema, instance string
		want             bool
	}{
		"anything fits the empty schema":                   {`{}`, `{"a":[1,2.5,null,true,false,"x"]}`, true},
		"anything fits true":                               {`true`, `[]`, true},
		"nothing fits false":                               {`false`, `1`, false},
		"white space around is no part of a value":         {`{"type":"object"}`, " \t\r\n{ } \n", true},
		"white space within is no part of a value":         {`{"properties":{"a":{"maxItems":2}}}`, "{ \"a\" :\t[ 1\n, 2 ]\r}", true},
		"two values are none":                              {`{}`, `{} {}`, false},
		"a word with more behind it is none":               {`{}`, `trueish`, false},
		"half a word is none":                              {`{}`, `tru`, false},
		"nothing is none":                                  {`{}`, ``, false},
		"a whole number is a number":                       {`{"type":"number"}`, `-12`, true},
		"a number that is not whole is one":                {`{"type":"number"}`, `12.5`, true},
		"and it is no integer":                             {`{"type":"integer"}`, `12.5`, false},
		"a text is no number":                              {`{"type":["number","null"]}`, `"1"`, false},
		"one of the types is enough":                       {`{"type":["number","null"]}`, `null`, true},
		"the least is within":                              {`{"minimum":-3}`, `-3`, true},
		"below the least is not":                           {`{"minimum":-3}`, `-4`, false},
		"above an exclusive bound is":                      {`{"exclusiveMinimum":3}`, `4`, true},
		"on an exclusive bound is not":                     {`{"exclusiveMinimum":3}`, `3`, false},
		"on an exclusive upper bound is not":               {`{"exclusiveMaximum":3}`, `3`, false},
		"below it is":                                      {`{"exclusiveMaximum":3}`, `2`, true},
		"of two bounds the tighter holds":                  {`{"minimum":3,"exclusiveMinimum":3}`, `3`, false},
		"minus zero is zero":                               {`{"minimum":0}`, `-0`, true},
		"a bound that is not whole is not known":           {`{"minimum":2.5}`, `2`, false},
		"a bound beyond all integers is not known":         {`{"maximum":1e30}`, `5`, false},
		"a fraction below a bound is not known":            {`{"maximum":2}`, `2.5`, false},
		"a number too long is not known":                   {`{"type":"integer"}`, `1234567890123456789012345`, false},
		"a number that overflows is not small":             {`{"maximum":5}`, `18446744073709551617`, false},
		"an exponent is not known":                         {`{"maximum":5}`, `1e3`, false},
		"a number has digits":                              {`{}`, `-`, false},
		"and some behind its point":                        {`{}`, `1.`, false},
		"bounds of numbers say nothing of texts":           {`{"minimum":5}`, `"a"`, true},
		"as long as must be":                               {`{"minLength":2}`, `"ab"`, true},
		"characters count, not bytes":                      {`{"minLength":2}`, `"é"`, false},
		"and at most as well":                              {`{"maxLength":1}`, `"😀"`, true},
		"too long is too long":                             {`{"maxLength":1}`, `"ab"`, false},
		"one character may be an escape":                   {`{"minLength":1}`, `"\n"`, true},
		"an escape is no two characters":                   {`{"minLength":2}`, `"\n"`, false},
		"half of a pair is no character":                   {`{"minLength":2}`, `"\ud83d\ude00"`, false},
		"an empty text has no character":                   {`{"minLength":1}`, `""`, false},
		"a text of the list":                               {`{"enum":["a","b"]}`, `"b"`, true},
		"a text that is not in it":                         {`{"enum":["a","b"]}`, `"c"`, false},
		"no text of it at all":                             {`{"enum":[]}`, `"c"`, false},
		"the text itself":                                  {`{"const":"a"}`, `"a"`, true},
		"a constant holds for all types":                   {`{"const":"a"}`, `1`, false},
		"an escape may be any text":                        {`{"const":"\\u0061"}`, `"\u0061"`, false},
		"a list with more than texts is not known":         {`{"enum":["a",1]}`, `"a"`, false},
		"a text of the list must fit the rest, too":        {`{"enum":["a","bb"],"minLength":2}`, `"a"`, false},
		"a text of the list that is of no type":            {`{"enum":["a"],"type":"integer"}`, `"a"`, false},
		"list and constant together are not known":         {`{"enum":["a"],"const":"b"}`, `"a"`, false},
		"a pattern that matches":                           {`{"pattern":"^a+$"}`, `"aa"`, true},
		"a pattern that does not":                          {`{"pattern":"^a+$"}`, `"b"`, false},
		"a pattern sees the text, not its escapes":         {`{"pattern":"^u"}`, `"\u0061"`, false},
		"as many elements as must be":                      {`{"minItems":2}`, `[1,2]`, true},
		"too few":                                          {`{"minItems":2}`, `[1]`, false},
		"none":                                             {`{"minItems":1}`, `[]`, false},
		"too many":                                         {`{"maxItems":1}`, `[1,2]`, false},
		"every element counts":                             {`{"items":{"type":"integer"}}`, `[1,"2",3]`, false},
		"no element is allowed, and there is none":         {`{"items":false}`, `[]`, true},
		"no element is allowed, and there is one":          {`{"items":false}`, `[1]`, false},
		"elements by their place are not known":            {`{"prefixItems":[{"type":"string"}]}`, `["a"]`, false},
		"a comma has an element behind it":                 {`{}`, `[1,]`, false},
		"a list has an end":                                {`{}`, `[1`, false},
		"what is required is there":                        {`{"required":["a","b"]}`, `{"b":1,"a":2}`, true},
		"one of what is required is not":                   {`{"required":["a","b"]}`, `{"b":1,"c":2}`, false},
		"what is required may be spelt in escapes":         {`{"required":["a"]}`, `{"\u0061":1}`, false},
		"a member that fits":                               {`{"properties":{"a":{"type":"integer"}}}`, `{"a":1}`, true},
		"a member that does not":                           {`{"properties":{"a":{"type":"integer"}}}`, `{"a":"1"}`, false},
		"a member that may not be there is not":            {`{"properties":{"a":false}}`, `{"b":1}`, true},
		"a member that may not be there is":                {`{"properties":{"a":false}}`, `{"a":1}`, false},
		"no member but those that are named":               {`{"properties":{"a":{}},"additionalProperties":false}`, `{"a":1,"b":2}`, false},
		"other members fit what is said of them":           {`{"properties":{"a":{}},"additionalProperties":{"type":"integer"}}`, `{"a":"x","b":2}`, true},
		"other members that do not":                        {`{"properties":{"a":{}},"additionalProperties":{"type":"integer"}}`, `{"a":"x","b":"y"}`, false},
		"a required member that is not named is another":   {`{"required":["b"],"additionalProperties":{"type":"integer"}}`, `{"b":"y"}`, false},
		"a required member that is named and closed":       {`{"required":["b"],"properties":{"b":{}},"additionalProperties":false}`, `{"b":1}`, true},
		"as many members as must be":                       {`{"minProperties":1,"maxProperties":2}`, `{"a":1,"b":2}`, true},
		"too many members":                                 {`{"maxProperties":1}`, `{"a":1,"b":2}`, false},
		"too few members":                                  {`{"minProperties":1}`, `{}`, false},
		"keywords of objects say nothing of lists":         {`{"required":["a"],"minProperties":1,"additionalProperties":{"type":"integer"}}`, `["a"]`, true},
		"members by a pattern are not known":               {`{"patternProperties":{"^a":{"type":"integer"}}}`, `{"b":1}`, false},
		"a member has a value":                             {`{}`, `{"a"}`, false},
		"a key is a text":                                  {`{}`, `{1:2}`, false},
		"a reference":                                      {`{"$ref":"#/$defs/a","$defs":{"a":{"type":"integer"}}}`, `1`, true},
		"a reference with something beside it":             {`{"$ref":"#/$defs/a","$defs":{"a":{"type":"integer"}},"minimum":3}`, `1`, false},
		"in draft 7 a reference stands alone":              {`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/a","definitions":{"a":{"type":"integer"}},"minimum":3}`, `1`, true},
		"a schema of itself":                               {`{"properties":{"next":{"$ref":"#"},"v":{"type":"integer"}}}`, `{"next":{"next":{"v":1}}}`, true},
		"a schema of itself, and something wrong within":   {`{"properties":{"next":{"$ref":"#"},"v":{"type":"integer"}}}`, `{"next":{"next":{"v":"1"}}}`, false},
		"all of them":                                      {`{"allOf":[{"minimum":1},{"maximum":3}]}`, `2`, true},
		"not all of them":                                  {`{"allOf":[{"minimum":1},{"maximum":3}]}`, `4`, false},
		"one of them":                                      {`{"anyOf":[{"type":"string"},{"minimum":3}]}`, `4`, true},
		"none of them":                                     {`{"anyOf":[{"type":"string"},{"minimum":3}]}`, `2`, false},
		"one of them, and not the rest":                    {`{"anyOf":[{"type":"string"},{"minimum":3}],"maximum":3}`, `4`, false},
		"one of them, though another is not known":         {`{"anyOf":[{"not":{}},{"type":"integer"}]}`, `4`, true},
		"none but one that is not known":                   {`{"anyOf":[{"not":{"type":"string"}},{"type":"string"}]}`, `4`, false},
		"a member that is not known, and is not there":     {`{"properties":{"a":{"not":{}}}}`, `{}`, true},
		"a member that is not known":                       {`{"properties":{"a":{"not":{"type":"string"}}}}`, `{"a":1}`, false},
		"a list after one that did not fit":                {`{"anyOf":[{"items":{"type":"string"}},{"items":{"type":"integer"}}]}`, `[1,2,3]`, true},
		"words that assert nothing":                        {`{"title":"t","description":"d","default":1,"examples":[1],"readOnly":true,"deprecated":true,"$comment":"c","x-mine":7}`, `"a"`, true},
		"a text without an end":                            {`{}`, `"a`, false},
		"a text that ends in half an escape":               {`{}`, `"a\`, false},
		"a text whose end is escaped":                      {`{}`, `"a\"`, false},
		"a text whose last character is an escaped escape": {`{}`, `"a\\"`, true},
		"as deep as is taken":                              {`{}`, strings.Repeat("[", 32) + strings.Repeat("]", 32), true},
		"deeper than that is not known":                    {`{}`, strings.Repeat("[", 40) + strings.Repeat("]", 40), false},
		"as many required members as are taken":            {requires(64), holds(64), true},
		"more than that are not known":                     {requires(65), holds(65), false},
		"all but the last of what is required":             {requires(64), holds(63), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := New(compile(t, tc.schema)).Accepts([]byte(tc.instance)); got != tc.want {
				t.Errorf("accepts %s under %s: %v, want %v", tc.instance, tc.schema, got, tc.want)
			}
		})
	}
}

func requires(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(`"m%d"`, i)
	}
	return `{"required":[` + strings.Join(names, ",") + `]}`
}

func holds(n int) string {
	members := make([]string, n)
	for i := range members {
		members[i] = fmt.Sprintf(`"m%d":%d`, i, i)
	}
	return "{" + strings.Join(members, ",") + "}"
}

// What is asserted only where somebody asks for it is not known there, and nothing elsewhere.
func TestWhatIsAskedForIsNotKnown(t *testing.T) {
	for name, tc := range map[string]struct {
		schema string
		ask    func(*jsonschema.Compiler)
	}{
		"formats":                {`{"format":"email"}`, (*jsonschema.Compiler).AssertFormat},
		"what a text is made of": {`{"contentMediaType":"application/json"}`, (*jsonschema.Compiler).AssertContent},
	} {
		t.Run(name, func(t *testing.T) {
			if !New(compile(t, tc.schema)).Accepts([]byte(`"x"`)) {
				t.Error("not accepted where nobody asks")
			}
			if New(compile(t, tc.schema, tc.ask)).Accepts([]byte(`"x"`)) {
				t.Error("accepted where it is asked for")
			}
		})
	}
}

// A field of a compiled schema that is not understood makes it one that is not known, also if a later release of the library
// adds it: whatever it says, it may keep something back.
func TestFieldsThatAreNotUnderstoodAreNotKnown(t *testing.T) {
	kind := reflect.TypeFor[jsonschema.Schema]()
	seen := 0
	for i := range kind.NumField() {
		f := kind.Field(i)
		if !f.IsExported() || understood[f.Name] {
			continue
		}
		s := compile(t, `{"type":"integer"}`)
		into := reflect.ValueOf(s).Elem().Field(i)
		switch f.Type.Kind() {
		case reflect.Pointer:
			into.Set(reflect.New(f.Type.Elem()))
		case reflect.Slice:
			into.Set(reflect.MakeSlice(f.Type, 1, 1))
		case reflect.Map:
			into.Set(reflect.MakeMap(f.Type))
		case reflect.Bool:
			into.SetBool(true)
		case reflect.Interface:
			if f.Type.NumMethod() > 0 {
				continue
			}
			into.Set(reflect.ValueOf(true))
		default:
			t.Errorf("%s is a %s, of which the test has no value", f.Name, f.Type)
			continue
		}
		seen++
		if New(s).Accepts([]byte(`1`)) {
			t.Errorf("accepts though the schema says something in %s", f.Name)
		}
	}
	if seen < 10 {
		t.Errorf("only %d fields were tried", seen)
	}
}

// Branches read a value again, and that is bounded whatever the value is made of.
func TestAnInstanceIsNotReadTooOften(t *testing.T) {
	const size = 1 << 12
	for name, tc := range map[string]struct {
		branches int // that read all of the instance in vain, before one that takes it
		instance string
		want     bool
	}{
		"a few times through a text":         {3, `["` + strings.Repeat("a", size) + `"]`, true},
		"many times through a text":          {20, `["` + strings.Repeat("a", size) + `"]`, false},
		"a few times through many values":    {3, `[` + strings.Repeat("1,", size/2) + `1]`, true},
		"many times through many values":     {40, `[` + strings.Repeat("1,", size/2) + `1]`, false},
		"a few times through white space":    {3, `[` + strings.Repeat(" ", size) + `1]`, true},
		"many times through white space":     {20, `[` + strings.Repeat(" ", size) + `1]`, false},
		"many times through a value's":       {20, `{"a"` + strings.Repeat("\t", size) + `:1}`, false},
		"many times through what comes last": {20, `[1` + strings.Repeat("\n", size) + `]`, false},
	} {
		t.Run(name, func(t *testing.T) {
			branches := strings.Repeat(`{"minItems":10000,"minProperties":2},`, tc.branches)
			if got := New(compile(t, `{"anyOf":[`+branches+`true]}`)).Accepts([]byte(tc.instance)); got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

// A union that contains itself leads to a value in more ways than anybody could go: it must come to an end even so.
func TestAUnionOfItselfEnds(t *testing.T) {
	for name, tc := range map[string]struct{ branch, open, core, end string }{
		"of lists":   {`{"type":"array","items":{"$ref":"#"}}`, "[", "true", "]"},
		"of objects": {`{"type":"object","additionalProperties":{"$ref":"#"}}`, `{"a":`, "true", "}"},
	} {
		t.Run(name, func(t *testing.T) {
			c := New(compile(t, `{"anyOf":[{"type":"string"}`+strings.Repeat(","+tc.branch, 64)+`]}`))
			if c.Accepts([]byte(strings.Repeat(tc.open, 10) + tc.core + strings.Repeat(tc.end, 10))) {
				t.Error("accepts what fits no branch")
			}
			if !c.Accepts([]byte(tc.open + `"a"` + tc.end)) {
				t.Error("does not accept what is plain")
			}
		})
	}
}

// A schema that refers to nothing but itself says nothing that ends.
func TestReferencesInCirclesEnd(t *testing.T) {
	s := &jsonschema.Schema{}
	s.Ref = s
	if New(s).Accepts([]byte(`1`)) {
		t.Error("accepts what is not known")
	}
}
