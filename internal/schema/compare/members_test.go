// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package compare_test

import (
	"testing"

	"toolgate.dev/toolgate/internal/schema/compare"
)

const (
	pathOrURL = `"anyOf":[{"properties":{"path":{"type":"string"}},"required":["path"]},{"properties":{"url":{"type":"string"}},"required":["url"]}]`
	// withPath declares a parameter under a condition.
	withPath = `"if":{"properties":{"kind":{"const":"x"}}},"then":{"properties":{"path":{"type":"string"}}},"properties":{"kind":{"type":"string"}}`
	// withBilling declares a parameter for those who send another.
	withBilling = `"dependentSchemas":{"card":{"properties":{"billing":{"type":"string"}}}},"properties":{"card":{"type":"string"}}`
)

func TestMembersOfAlternatives(t *testing.T) {
	run(t, map[string]comparing{
		"have another type": {object(pathOrURL), object(`"properties":{"path":{"type":"integer"},"url":{"type":"integer"}}`), breaks, breaks, ""},
		"of which exactly one fits have another type": {
			object(`"oneOf":[{"properties":{"path":{"type":"string"}},"required":["path"]},{"properties":{"url":{"type":"string"}},"required":["url"]}]`),
			object(`"properties":{"path":{"type":"integer"},"url":{"type":"integer"}}`), breaks, breaks, "",
		},
		"are declared for all": {object(pathOrURL), object(`"properties":{"path":{"type":"string"},"url":{"type":"string"}}`), minor, breaks, ""},
		"behind what all must fit are declared for all": {
			object(`"allOf":[{` + pathOrURL + `}]`), object(`"properties":{"path":{"type":"string"},"url":{"type":"string"}}`), minor, breaks, "",
		},
		"behind a reference are declared for all": {
			object(`"$ref":"#/$defs/D","$defs":{"D":{` + pathOrURL + `}}`), object(`"properties":{"path":{"type":"string"},"url":{"type":"string"}}`), minor, breaks, "",
		},
		"are left as they are":               {object(pathOrURL), object(pathOrURL + `,"properties":{"new":{"type":"integer"}}`), minor, minor, ""},
		"are all values of a map now":        {object(pathOrURL), object(`"additionalProperties":{"type":"integer"}`), breaks, breaks, ""},
		"under a condition have another":     {object(withPath), object(`"properties":{"kind":{"type":"string"},"path":{"type":"integer"}}`), breaks, breaks, ""},
		"under a condition are left":         {object(withPath), object(withPath + `,"minProperties":0,"additionalProperties":true`), minor, minor, ""},
		"beside a condition are new":         {object(withPath), object(withPath[:len(withPath)-1] + `,"new":{"type":"integer"}}`), minor, minor, ""},
		"that depend have another type":      {object(withBilling), object(`"properties":{"card":{"type":"string"},"billing":{"type":"integer"}}`), breaks, breaks, ""},
		"beside those that depend are new":   {object(withBilling), object(withBilling[:len(withBilling)-1] + `,"new":{"type":"integer"}}`), minor, minor, ""},
		"of one alternative need another":    {object(pathOrURL), object(pathOrURL + `,"dependentRequired":{"path":["mode"]}`), breaks, minor, "/dependentRequired/path"},
		"that nothing declares need another": {object(pathOrURL), object(pathOrURL + `,"dependentRequired":{"new":["mode"]}`), minor, minor, ""},
	})
}

func TestKeptMembersOfAlternatives(t *testing.T) {
	for name, tc := range map[string]struct {
		promised, there string
		want            compare.Kind
	}{
		"have another type":        {object(pathOrURL), object(`"properties":{"path":{"type":"integer"},"url":{"type":"integer"}}`), breaks},
		"are as promised":          {object(pathOrURL), object(`"properties":{"path":{"type":"string"},"url":{"type":"string"}},"additionalProperties":false`), minor},
		"are all values of a map":  {object(pathOrURL), object(`"additionalProperties":{"type":"integer"}`), breaks},
		"under a condition":        {object(withPath), object(`"properties":{"kind":{"type":"string"},"path":{"type":"integer"}}`), breaks},
		"depend":                   {object(withBilling), object(`"properties":{"card":{"type":"string"},"billing":{"type":"integer"}}`), breaks},
		"that are not named":       {object(`"anyOf":[{"additionalProperties":{"type":"string"}}]`), object(`"additionalProperties":{"type":"integer"}`), breaks},
		"that a pattern describes": {object(`"anyOf":[{"patternProperties":{"^x":{"type":"string"}}}]`), object(`"patternProperties":{"^x":{"type":"integer"}}`), breaks},
		"that are not named, as promised": {
			object(`"anyOf":[{"additionalProperties":{"type":"string"}},{"properties":{"a":{"type":"string"}}}]`),
			object(`"properties":{"a":{"type":"string"}},"additionalProperties":{"type":"string"}`), minor,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := compare.Kept([]byte(tc.promised), []byte(tc.there), compare.Arguments, "")
			if compare.Worst(got) != tc.want {
				t.Errorf("%s, want %s: %v", compare.Worst(got), tc.want, got)
			}
		})
	}
}

func TestPatternsOfMembers(t *testing.T) {
	letters := `"patternProperties":{"^[\\u0061-\\u007a]+$":{"type":"string"}},"additionalProperties":false`
	run(t, map[string]comparing{
		"with escapes match a name": {object(letters), object(letters + `,"properties":{"abc":{"type":"integer"}}`), breaks, minor, ""},
		"with escapes match no such name": {
			object(letters), object(letters + `,"properties":{"ABC":{"type":"integer"}}`), minor, breaks, "",
		},
	})
}

func TestWhatIsNotEvaluated(t *testing.T) {
	closed := `"properties":{"x":{}},"unevaluatedProperties":false`
	anchored := `,"$defs":{"B":{"$anchor":"b","properties":{"y":{}}}}`
	run(t, map[string]comparing{
		"beside a reference that can't be followed": {object(closed + `,"$ref":"#b"` + anchored), object(closed + anchored), breaks, breaks, ""},
		"beside what evaluates all":                 {object(closed + `,"allOf":[{"additionalProperties":true}]`), object(closed), breaks, minor, ""},
		"beside what evaluates all that is left":    {object(closed + `,"allOf":[{"unevaluatedProperties":true}]`), object(closed), breaks, minor, ""},
		"beside strings":                            {object(closed + `,"allOf":[{"additionalProperties":{"type":"string"}}]`), object(closed), breaks, breaks, ""},
		"beside other members":                      {object(closed + `,"allOf":[{"properties":{"y":{}}}]`), object(`"properties":{"x":{},"y":{}},"unevaluatedProperties":false`), minor, breaks, ""},
		"where no others fit anyway":                {object(`"properties":{"x":{}},"additionalProperties":false,"allOf":[{"additionalProperties":true}]`), object(closed), minor, breaks, ""},
		"of listed values": {
			one(`{"enum":[{"y":1}],"allOf":[{"properties":{"y":{}}}],"unevaluatedProperties":false}`),
			one(`{"enum":[{"y":2}],"allOf":[{"properties":{"y":{}}}],"unevaluatedProperties":false}`), breaks, breaks, "",
		},
		"of listed values that stand alone": {
			one(`{"enum":[{"y":1}],"properties":{"y":{}},"unevaluatedProperties":false}`),
			one(`{"enum":[{"y":1},{"y":2}],"properties":{"y":{}},"unevaluatedProperties":false}`), minor, breaks, "",
		},
		"in several alternatives that fit at once": {
			object(`"properties":{"x":{}},"anyOf":[{"properties":{"y":{}}},{"properties":{"z":{}}}],"unevaluatedProperties":false`),
			object(`"anyOf":[{"properties":{"x":{},"y":{}},"unevaluatedProperties":false},{"properties":{"x":{},"z":{}},"unevaluatedProperties":false}]`), breaks, breaks, "",
		},
		"in one alternative alone": {
			object(`"properties":{"x":{}},"oneOf":[{"properties":{"y":{}},"required":["y"]},{"properties":{"z":{}},"required":["z"]}],"unevaluatedProperties":false`),
			object(`"properties":{"x":{},"y":{},"z":{}},"unevaluatedProperties":false`), minor, breaks, "",
		},
		"below an alternative": {
			object(`"anyOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":` + object(closed) + `,"b":{}}`),
			object(`"anyOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":` + object(`"properties":{"x":{},"w":{}},"unevaluatedProperties":false`) + `,"b":{}}`), minor, breaks, "",
		},
	})
}
