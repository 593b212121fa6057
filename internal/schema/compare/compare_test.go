// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package compare_test

import (
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/schema/compare"
)

// object wraps the members of a schema of arguments.
func object(members string) string {
	if members == "" {
		return `{"type":"object"}`
	}
	return `{"type":"object",` + members + `}`
}

// one wraps a schema as the one parameter a.
func one(schema string) string { return object(`"properties":{"a":` + schema + `}`) }

type comparing struct {
	before, after string
	// wantArguments and wantResults are the kinds on either side.
	wantArguments, wantResults compare.Kind
	// where is what some change of the worst kind has as its path; where arguments do not break, results are looked at.
	where string
}

const (
	patch  = compare.Patch
	minor  = compare.Minor
	breaks = compare.Breaking
)

func run(t *testing.T, table map[string]comparing) {
	t.Helper()
	for name, tc := range table {
		t.Run(name, func(t *testing.T) {
			arguments := compare.Schemas([]byte(tc.before), []byte(tc.after), compare.Arguments, "")
			results := compare.Schemas([]byte(tc.before), []byte(tc.after), compare.Results, "")
			if got := compare.Worst(arguments); got != tc.wantArguments {
				t.Errorf("arguments: %s, want %s: %v", got, tc.wantArguments, arguments)
			}
			if got := compare.Worst(results); got != tc.wantResults {
				t.Errorf("results: %s, want %s: %v", got, tc.wantResults, results)
			}
			told := arguments
			if tc.wantArguments != breaks && tc.wantResults == breaks {
				told = results
			}
			if tc.where != "" && !mentions(told, compare.Worst(told), tc.where) {
				t.Errorf("no change of the worst kind at %s: %v", tc.where, told)
			}
			for _, c := range append(arguments, results...) {
				if strings.ContainsAny(c.Path, "\x02") {
					t.Errorf("path %q", c.Path)
				}
			}
			if again := compare.Schemas([]byte(tc.after), []byte(tc.after), compare.Arguments, ""); len(again) > 0 {
				t.Errorf("a schema differs from itself: %v", again)
			}
		})
	}
}

func mentions(changes []compare.Change, kind compare.Kind, path string) bool {
	for _, c := range changes {
		if c.Kind == kind && c.Path == path {
			return true
		}
	}
	return false
}

func TestParameters(t *testing.T) {
	a, ab := object(`"properties":{"a":{"type":"string"}}`), object(`"properties":{"a":{"type":"string"},"b":{"type":"integer"}}`)
	run(t, map[string]comparing{
		"nothing":                                         {a, a, compare.None, compare.None, ""},
		"another order of members":                        {ab, object(`"properties":{"b":{"type":"integer"},"a":{"type":"string"}}`), compare.None, compare.None, ""},
		"a number in another form":                        {one(`{"maximum":10}`), one(`{"maximum":1e1}`), compare.None, compare.None, ""},
		"a new optional parameter":                        {a, ab, minor, minor, "/properties/b"},
		"a new required parameter":                        {a, object(`"properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["b"]`), breaks, minor, "/required"},
		"a removed parameter":                             {ab, a, breaks, breaks, "/properties/b"},
		"a removed parameter, where no others fit":        {object(`"properties":{"a":{},"b":{}},"additionalProperties":false`), object(`"properties":{"a":{}},"additionalProperties":false`), breaks, breaks, "/properties/b"},
		"a renamed parameter":                             {a, object(`"properties":{"z":{"type":"string"}}`), breaks, breaks, "/properties/a"},
		"a parameter that becomes required":               {a, object(`"properties":{"a":{"type":"string"}},"required":["a"]`), breaks, minor, "/required"},
		"a parameter that becomes optional":               {object(`"properties":{"a":{"type":"string"}},"required":["a"]`), a, minor, breaks, "/required"},
		"texts":                                           {a, object(`"title":"T","description":"D","properties":{"a":{"type":"string","description":"x","examples":["y"]}}`), patch, patch, ""},
		"another default":                                 {one(`{"default":1}`), one(`{"default":2}`), minor, minor, "/properties/a/default"},
		"a parameter named like a keyword is renamed":     {object(`"properties":{"title":{"type":"string"}}`), object(`"properties":{"description":{"type":"string"}}`), breaks, breaks, "/properties/title"},
		"a new field where no others were to be expected": {object(`"properties":{"a":{}},"additionalProperties":false`), object(`"properties":{"a":{},"b":{}},"additionalProperties":false`), minor, breaks, "/properties/b"},
		"a parameter deep down is removed":                {one(object(`"properties":{"x":{},"y":{}}`)), one(object(`"properties":{"x":{}}`)), breaks, breaks, "/properties/a/properties/y"},
		"a parameter deep down is required":               {one(object(`"properties":{"x":{}}`)), one(object(`"properties":{"x":{}},"required":["x"]`)), breaks, minor, "/properties/a/required"},
		"a parameter in items is removed":                 {one(`{"type":"array","items":{"properties":{"x":{},"y":{}}}}`), one(`{"type":"array","items":{"properties":{"x":{}}}}`), breaks, breaks, "/properties/a/items/properties/y"},
		"a parameter that a pattern describes now":        {object(`"properties":{"xa":{"type":"string"}}`), object(`"patternProperties":{"^x":{"type":"string"}}`), breaks, minor, ""},
		"all but the type is gone":                        {ab, object(""), breaks, breaks, "/properties/a"},
	})
}

func TestTypes(t *testing.T) {
	run(t, map[string]comparing{
		"string to integer":               {one(`{"type":"string"}`), one(`{"type":"integer"}`), breaks, breaks, "/properties/a/type"},
		"integer to number":               {one(`{"type":"integer"}`), one(`{"type":"number"}`), minor, breaks, "/properties/a/type"},
		"number to integer":               {one(`{"type":"number"}`), one(`{"type":"integer"}`), breaks, minor, "/properties/a/type"},
		"string to string or null":        {one(`{"type":"string"}`), one(`{"type":["string","null"]}`), minor, breaks, "/properties/a/type"},
		"string or null to string":        {one(`{"type":["string","null"]}`), one(`{"type":"string"}`), breaks, minor, "/properties/a/type"},
		"a list of one type":              {one(`{"type":"string"}`), one(`{"type":["string"]}`), minor, minor, ""},
		"any to string":                   {one(`{}`), one(`{"type":"string"}`), breaks, minor, "/properties/a/type"},
		"string to any":                   {one(`{"type":"string"}`), one(`{}`), minor, breaks, ""},
		"true to false":                   {one(`true`), one(`false`), breaks, minor, "/properties/a"},
		"null or string as alternatives":  {one(`{"type":["string","null"]}`), one(`{"anyOf":[{"type":"string"},{"type":"null"}]}`), minor, minor, ""},
		"alternatives as a list of types": {one(`{"anyOf":[{"type":"string"},{"type":"null"}]}`), one(`{"type":["null","string"]}`), minor, minor, ""},
		"boolean to its two values":       {one(`{"type":"boolean"}`), one(`{"enum":[true,false]}`), minor, minor, ""},
		"boolean to string":               {one(`{"type":"boolean"}`), one(`{"type":"string"}`), breaks, breaks, "/properties/a/type"},
		"object to array":                 {one(object("")), one(`{"type":"array"}`), breaks, breaks, "/properties/a/type"},
	})
}

func TestConstraints(t *testing.T) {
	run(t, map[string]comparing{
		"a value less":                                       {one(`{"enum":["x","y"]}`), one(`{"enum":["x"]}`), breaks, minor, "/properties/a/enum"},
		"a value more":                                       {one(`{"enum":["x"]}`), one(`{"enum":["x","y"]}`), minor, breaks, "/properties/a/enum"},
		"values in another order":                            {one(`{"enum":["x","y"]}`), one(`{"enum":["y","x"]}`), minor, minor, ""},
		"string to listed values":                            {one(`{"type":"string"}`), one(`{"type":"string","enum":["x"]}`), breaks, minor, "/properties/a/enum"},
		"listed values to string":                            {one(`{"enum":["x"]}`), one(`{"type":"string"}`), minor, breaks, ""},
		"listed values to a pattern that all match":          {one(`{"enum":["xa","xb"]}`), one(`{"type":"string","pattern":"^x"}`), minor, breaks, ""},
		"listed values to a pattern that one does not match": {one(`{"enum":["xa","b"]}`), one(`{"type":"string","pattern":"^x"}`), breaks, breaks, "/properties/a/pattern"},
		"another constant":                                   {one(`{"const":1}`), one(`{"const":2}`), breaks, breaks, "/properties/a/const"},
		"the same constant as a list":                        {one(`{"const":1}`), one(`{"enum":[1.0]}`), minor, minor, ""},
		"a minimum":                                          {one(`{"type":"number"}`), one(`{"type":"number","minimum":1}`), breaks, minor, "/properties/a/minimum"},
		"a higher minimum":                                   {one(`{"type":"number","minimum":1}`), one(`{"type":"number","minimum":2}`), breaks, minor, "/properties/a/minimum"},
		"a lower minimum":                                    {one(`{"type":"number","minimum":2}`), one(`{"type":"number","minimum":1}`), minor, breaks, "/properties/a/minimum"},
		"an exclusive minimum":                               {one(`{"type":"number","minimum":1}`), one(`{"type":"number","exclusiveMinimum":1}`), breaks, minor, "/properties/a/exclusiveMinimum"},
		"a lower maximum":                                    {one(`{"type":"integer","maximum":10}`), one(`{"type":"integer","maximum":9}`), breaks, minor, "/properties/a/maximum"},
		"an exclusive maximum that is as good":               {one(`{"type":"number","maximum":9}`), one(`{"type":"number","exclusiveMaximum":10}`), minor, breaks, ""},
		"multiples of 2 to multiples of 4":                   {one(`{"type":"integer","multipleOf":2}`), one(`{"type":"integer","multipleOf":4}`), breaks, minor, "/properties/a/multipleOf"},
		"multiples of 4 to multiples of 2":                   {one(`{"type":"integer","multipleOf":4}`), one(`{"type":"integer","multipleOf":2}`), minor, breaks, "/properties/a/multipleOf"},
		"integers to multiples of 1":                         {one(`{"type":"integer"}`), one(`{"type":"integer","multipleOf":1}`), minor, minor, ""},
		"a longer minLength":                                 {one(`{"type":"string"}`), one(`{"type":"string","minLength":1}`), breaks, minor, "/properties/a/minLength"},
		"a minLength of 0":                                   {one(`{"type":"string"}`), one(`{"type":"string","minLength":0}`), minor, minor, ""},
		"a shorter maxLength":                                {one(`{"type":"string","maxLength":5}`), one(`{"type":"string","maxLength":4}`), breaks, minor, "/properties/a/maxLength"},
		"no maxLength":                                       {one(`{"type":"string","maxLength":5}`), one(`{"type":"string"}`), minor, breaks, ""},
		"a length of what is no string":                      {one(`{"type":"integer"}`), one(`{"type":"integer","maxLength":4}`), minor, minor, ""},
		"a pattern":                                          {one(`{"type":"string"}`), one(`{"type":"string","pattern":"^a"}`), breaks, minor, "/properties/a/pattern"},
		"another pattern":                                    {one(`{"type":"string","pattern":"^a"}`), one(`{"type":"string","pattern":"^ab?"}`), breaks, breaks, "/properties/a/pattern"},
		"a format":                                           {one(`{"type":"string"}`), one(`{"type":"string","format":"email"}`), breaks, minor, "/properties/a/format"},
		"no format":                                          {one(`{"type":"string","format":"email"}`), one(`{"type":"string"}`), minor, breaks, ""},
		"an encoding":                                        {one(`{"type":"string"}`), one(`{"type":"string","contentEncoding":"base64"}`), breaks, minor, "/properties/a/contentEncoding"},
		"booleans for bounds in draft-04":                    {one(`{"type":"number","minimum":1,"exclusiveMinimum":true}`), one(`{"type":"number","minimum":1,"exclusiveMinimum":false}`), minor, breaks, ""},
	})
}

func TestObjects(t *testing.T) {
	run(t, map[string]comparing{
		"no other members":                              {object(`"properties":{"a":{}}`), object(`"properties":{"a":{}},"additionalProperties":false`), breaks, minor, "/additionalProperties"},
		"other members again":                           {object(`"properties":{"a":{}},"additionalProperties":false`), object(`"properties":{"a":{}}`), minor, breaks, ""},
		"other members are strings":                     {object(`"properties":{"a":{}}`), object(`"properties":{"a":{}},"additionalProperties":{"type":"string"}`), breaks, minor, "/additionalProperties"},
		"values of a map":                               {one(`{"type":"object","additionalProperties":{"type":"integer"}}`), one(`{"type":"object","additionalProperties":{"type":"string"}}`), breaks, breaks, "/properties/a/additionalProperties/type"},
		"wider values of a map":                         {one(`{"type":"object","additionalProperties":{"type":"integer"}}`), one(`{"type":"object","additionalProperties":{"type":"number"}}`), minor, breaks, "/properties/a/additionalProperties/type"},
		"a name in a map":                               {one(`{"type":"object","additionalProperties":{"type":"integer"}}`), one(`{"type":"object","properties":{"x":{"type":"string"}},"additionalProperties":{"type":"integer"}}`), breaks, breaks, ""},
		"no more than two members":                      {one(object("")), one(object(`"maxProperties":2`)), breaks, minor, "/properties/a/maxProperties"},
		"at least one member, of which one is required": {object(`"required":["a"],"properties":{"a":{}}`), object(`"required":["a"],"properties":{"a":{}},"minProperties":1`), minor, minor, ""},
		"names by a pattern":                            {one(object("")), one(object(`"propertyNames":{"pattern":"^x"}`)), breaks, minor, "/properties/a/propertyNames"},
		"names that all fit":                            {object(`"properties":{"xa":{}},"additionalProperties":false`), object(`"properties":{"xa":{}},"additionalProperties":false,"propertyNames":{"pattern":"^x"}`), minor, minor, ""},
		"one member needs another":                      {object(`"properties":{"a":{},"b":{}}`), object(`"properties":{"a":{},"b":{}},"dependentRequired":{"a":["b"]}`), breaks, minor, "/dependentRequired/a"},
		"one member needs another that is required":     {object(`"properties":{"a":{},"b":{}},"required":["b"]`), object(`"properties":{"a":{},"b":{}},"required":["b"],"dependentRequired":{"a":["b"]}`), minor, minor, ""},
		"a schema for objects with a member":            {object(`"properties":{"a":{},"b":{"type":"string"}}`), object(`"properties":{"a":{},"b":{"type":"string"}},"dependentSchemas":{"a":{"properties":{"b":{"maxLength":3}}}}`), breaks, minor, "/dependentSchemas/a"},
		"a pattern of members":                          {object(`"patternProperties":{"^x":{"type":"string"}}`), object(`"patternProperties":{"^x":{"type":"integer"}}`), breaks, breaks, "/patternProperties/^x/type"},
		"a new pattern of members":                      {object(`"properties":{"a":{}}`), object(`"properties":{"a":{}},"patternProperties":{"^x":{"type":"integer"}}`), breaks, minor, ""},
		"a declared member that a new pattern matches":  {object(`"properties":{"xa":{"type":"string"}},"additionalProperties":false`), object(`"properties":{"xa":{"type":"string"}},"patternProperties":{"^x":{"type":"integer"}},"additionalProperties":false`), breaks, breaks, ""},
		"what is not evaluated":                         {object(`"properties":{"a":{}}`), object(`"properties":{"a":{}},"unevaluatedProperties":false`), breaks, minor, "/unevaluatedProperties"},
		"a parameter beside what is not evaluated":      {object(`"properties":{"a":{}},"unevaluatedProperties":false`), object(`"properties":{"a":{},"b":{}},"unevaluatedProperties":false`), minor, breaks, ""},
	})
}

func TestArrays(t *testing.T) {
	run(t, map[string]comparing{
		"other items":                               {one(`{"type":"array","items":{"type":"string"}}`), one(`{"type":"array","items":{"type":"integer"}}`), breaks, breaks, "/properties/a/items/type"},
		"wider items":                               {one(`{"type":"array","items":{"type":"integer"}}`), one(`{"type":"array","items":{"type":"number"}}`), minor, breaks, "/properties/a/items/type"},
		"items of any type":                         {one(`{"type":"array","items":{"type":"integer"}}`), one(`{"type":"array"}`), minor, breaks, ""},
		"fewer items":                               {one(`{"type":"array","maxItems":3}`), one(`{"type":"array","maxItems":2}`), breaks, minor, "/properties/a/maxItems"},
		"more items":                                {one(`{"type":"array","minItems":1}`), one(`{"type":"array","minItems":2}`), breaks, minor, "/properties/a/minItems"},
		"items that are unique":                     {one(`{"type":"array"}`), one(`{"type":"array","uniqueItems":true}`), breaks, minor, "/properties/a/uniqueItems"},
		"one item is unique":                        {one(`{"type":"array","maxItems":1}`), one(`{"type":"array","maxItems":1,"uniqueItems":true}`), minor, minor, ""},
		"a first item":                              {one(`{"type":"array"}`), one(`{"type":"array","prefixItems":[{"type":"string"}]}`), breaks, minor, "/properties/a/prefixItems/0/type"},
		"a first item as all items are":             {one(`{"type":"array","items":{"type":"string"}}`), one(`{"type":"array","prefixItems":[{"type":"string"}]}`), minor, breaks, ""},
		"no items after the first":                  {one(`{"type":"array","prefixItems":[{}]}`), one(`{"type":"array","prefixItems":[{}],"items":false}`), breaks, minor, "/properties/a/items"},
		"no items after the first, in draft-07":     {one(`{"type":"array","items":[{}]}`), one(`{"type":"array","items":[{}],"additionalItems":false}`), breaks, minor, "/properties/a/additionalItems"},
		"an item that must be there":                {one(`{"type":"array"}`), one(`{"type":"array","contains":{"const":1}}`), breaks, minor, "/properties/a/contains"},
		"an item that must be there more than once": {one(`{"type":"array","contains":{"const":1}}`), one(`{"type":"array","contains":{"const":1},"minContains":2}`), breaks, minor, "/properties/a/contains"},
		"what is not evaluated":                     {one(`{"type":"array"}`), one(`{"type":"array","unevaluatedItems":false}`), breaks, minor, "/properties/a/unevaluatedItems"},
	})
}

func TestCombinations(t *testing.T) {
	run(t, map[string]comparing{
		"an alternative more":                             {one(`{"anyOf":[{"type":"string"}]}`), one(`{"anyOf":[{"type":"string"},{"type":"integer"}]}`), minor, breaks, ""},
		"an alternative less":                             {one(`{"anyOf":[{"type":"string"},{"type":"integer"}]}`), one(`{"anyOf":[{"type":"string"}]}`), breaks, minor, "/properties/a/anyOf"},
		"alternatives in another order":                   {one(`{"anyOf":[{"type":"string"},{"type":"integer"}]}`), one(`{"anyOf":[{"type":"integer"},{"type":"string"}]}`), minor, minor, ""},
		"one alternative more that can't meet the others": {one(`{"oneOf":[{"type":"string"}]}`), one(`{"oneOf":[{"type":"string"},{"type":"integer"}]}`), minor, breaks, ""},
		"one alternative more that may meet the others":   {one(`{"oneOf":[{"type":"string"}]}`), one(`{"oneOf":[{"type":"string"},{"maxLength":3}]}`), breaks, breaks, "/properties/a/oneOf"},
		"a kind more": {
			one(`{"oneOf":[{"type":"object","properties":{"k":{"const":"x"}},"required":["k"]}]}`),
			one(`{"oneOf":[{"type":"object","properties":{"k":{"const":"x"}},"required":["k"]},{"type":"object","properties":{"k":{"const":"y"}},"required":["k"]}]}`),
			minor, breaks, "",
		},
		"a plain type to an alternative":      {one(`{"type":"string"}`), one(`{"anyOf":[{"type":"string"},{"type":"null"}]}`), minor, breaks, ""},
		"what all must fit, apart":            {one(`{"type":"string","minLength":2}`), one(`{"allOf":[{"type":"string"},{"minLength":2}]}`), minor, minor, ""},
		"more that all must fit":              {one(`{"allOf":[{"type":"string"}]}`), one(`{"allOf":[{"type":"string"},{"minLength":2}]}`), breaks, minor, "/properties/a/allOf/1/minLength"},
		"a parameter among what all must fit": {object(`"allOf":[{"properties":{"a":{}}},{"properties":{"b":{}}}]`), object(`"allOf":[{"properties":{"a":{}}}]`), breaks, breaks, "/allOf/1/properties/b"},
		"what must not be":                    {one(`{"type":"string"}`), one(`{"type":"string","not":{"maxLength":2}}`), breaks, minor, "/properties/a/not"},
		"what must not be, of another type":   {one(`{"type":"string"}`), one(`{"type":"string","not":{"type":"integer"}}`), minor, minor, ""},
		"the same that must not be":           {one(`{"not":{"const":"x"}}`), one(`{"not":{"const":"x"},"description":"d"}`), patch, patch, ""},
		"a condition":                         {one(`{"type":"object"}`), one(`{"type":"object","if":{"required":["x"]},"then":{"required":["y"]}}`), breaks, minor, "/properties/a/then"},
		"a condition whose ends all meet":     {one(`{"type":"string","maxLength":3}`), one(`{"type":"string","if":{"const":"x"},"then":{"maxLength":5},"else":{"maxLength":3}}`), minor, breaks, ""},
	})
}

func TestReferences(t *testing.T) {
	defs := func(def, more string) string {
		return object(`"properties":{"a":{"$ref":"#/$defs/D"}},"$defs":{"D":` + def + `}` + more)
	}
	list := `{"type":"object","properties":{"next":{"$ref":"#/$defs/D"},"v":{"type":"integer"}}}`
	run(t, map[string]comparing{
		"a definition that narrows":                        {defs(`{"type":"number"}`, ""), defs(`{"type":"integer"}`, ""), breaks, minor, "/$defs/D/type"},
		"a definition written out":                         {defs(`{"type":"string","maxLength":3}`, ""), one(`{"type":"string","maxLength":3}`), minor, minor, ""},
		"a schema moved to a definition":                   {one(`{"type":"string","maxLength":3}`), defs(`{"type":"string","maxLength":3}`, ""), minor, minor, ""},
		"a definition that contains itself":                {defs(list, ""), defs(list, `,"description":"d"`), patch, patch, ""},
		"a definition that contains itself narrows":        {defs(list, ""), defs(strings.Replace(list, `"integer"`, `"integer","minimum":1`, 1), ""), breaks, minor, "/$defs/D/properties/v/minimum"},
		"a definition that contains itself gains a member": {defs(list, ""), defs(strings.Replace(list, `"v":`, `"w":{"type":"string"},"v":`, 1), ""), minor, minor, ""},
		"a definition that contains itself loses a member": {defs(strings.Replace(list, `"v":`, `"w":{"type":"string"},"v":`, 1), ""), defs(list, ""), breaks, breaks, "/$defs/D/properties/w"},
		"a definition that nobody uses":                    {defs(`{"type":"string"}`, ""), object(`"properties":{"a":{"$ref":"#/$defs/D"}},"$defs":{"D":{"type":"string"},"E":{"type":"null"}}`), minor, minor, ""},
		"what stands beside a reference":                   {defs(`{"type":"string"}`, ""), object(`"properties":{"a":{"$ref":"#/$defs/D","maxLength":3}},"$defs":{"D":{"type":"string"}}`), breaks, minor, "/properties/a/maxLength"},
		"what stands beside a reference in draft-07": {
			`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"$ref":"#/definitions/D"}},"definitions":{"D":{"type":"string"}}}`,
			`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"$ref":"#/definitions/D","maxLength":3}},"definitions":{"D":{"type":"string"}}}`, minor, minor, "",
		},
		"a reference by a name": {
			object(`"properties":{"a":{"$ref":"#d"}},"$defs":{"D":{"$anchor":"d","type":"string"}}`),
			object(`"properties":{"a":{"$ref":"#d"}},"$defs":{"D":{"$anchor":"d","type":"integer"}}`), breaks, breaks, "/properties/a/$ref",
		},
		"what draft-04 does not know": {
			`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"a":{"const":"x"}}}`,
			`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"a":{"enum":["x"]}}}`, breaks, minor, "/properties/a/enum",
		},
	})
}

func TestWhatCannotBeComparedIsBreaking(t *testing.T) {
	for name, tc := range map[string]struct{ before, after string }{
		"no JSON before": {`{`, `{"type":"object"}`},
		"no schema now":  {`{"type":"object"}`, `{"type":7}`},
	} {
		t.Run(name, func(t *testing.T) {
			got := compare.Schemas([]byte(tc.before), []byte(tc.after), compare.Arguments, "/inputSchema")
			if len(got) != 1 || got[0].Kind != breaks || got[0].Path != "/inputSchema" || !strings.Contains(got[0].Text, "can't be compared") {
				t.Errorf("got %v", got)
			}
		})
	}
}

// TestAlternativesThatMultiplyEnd gives each of many parameters many alternatives that each refer to all others.
func TestAlternativesThatMultiplyEnd(t *testing.T) {
	branch := func(more string) string {
		var b strings.Builder
		for range 12 {
			b.WriteString(`{"anyOf":[{"properties":{"x":{"$ref":"#/$defs/D"}}},{"properties":{"y":{"$ref":"#/$defs/D"}}},{"minProperties":1}]},`)
		}
		return `{"type":"object","allOf":[` + b.String() + `{` + more + `}],"$defs":{"D":{"allOf":[` + b.String() + `{` + more + `}]}}}`
	}
	got := compare.Schemas([]byte(branch(`"maxProperties":9`)), []byte(branch(`"maxProperties":8`)), compare.Arguments, "")
	if compare.Worst(got) != breaks {
		t.Errorf("got %v", got)
	}
}
