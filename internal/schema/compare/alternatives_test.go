// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package compare_test

import "testing"

func TestFractionsAmongTypes(t *testing.T) {
	run(t, map[string]comparing{
		"a listed fraction less": {
			one(`{"type":["number","string","null"],"enum":[0.5,"auto",null]}`), one(`{"type":["string","null"],"enum":["auto",null]}`), breaks, minor, "",
		},
		"a listed fraction more": {
			one(`{"type":["string","null"],"enum":["auto",null]}`), one(`{"type":["number","string","null"],"enum":["auto",null,0.5]}`), minor, breaks, "",
		},
		"a listed whole number less": {
			one(`{"type":["number","string"],"enum":[1,"auto"]}`), one(`{"type":"string","enum":["auto"]}`), breaks, minor, "",
		},
		"a fraction that was no value anyway": {
			one(`{"type":["integer","string","null"],"enum":[0.5,"auto",null]}`), one(`{"type":["string","null"],"enum":["auto",null]}`), minor, minor, "",
		},
	})
}

func TestListedValuesAmongAlternatives(t *testing.T) {
	run(t, map[string]comparing{
		"other values in each alternative": {
			one(`{"anyOf":[{"enum":["a","b"]},{"enum":["c","d"]}]}`), one(`{"anyOf":[{"enum":["a","x"]},{"enum":["b","y"]}]}`), breaks, breaks, "/properties/a/anyOf",
		},
		"the same values in other alternatives": {
			one(`{"anyOf":[{"enum":["a/b","b"]},{"enum":["c","d~"]}]}`), one(`{"anyOf":[{"enum":["a/b","c"]},{"enum":["b","d~"]}]}`), minor, minor, "",
		},
		"more values in other alternatives": {
			one(`{"anyOf":[{"enum":["a","b"]},{"enum":["c","d"]}]}`), one(`{"anyOf":[{"enum":["a","c"]},{"enum":["b","d","e"]}]}`), minor, breaks, "",
		},
	})
}
