// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestALeafIsTakenOutOfASpec(t *testing.T) {
	for name, tc := range map[string]struct {
		path       string
		spec, want Object
	}{
		"a field": {".a.b", Object{"a": Object{"b": 1, "c": 2}}, Object{"a": Object{"c": int64(2)}}},
		"a field of items": {
			".a[].b", Object{"a": []any{Object{"b": 1, "c": 2}, Object{"b": 3}}}, Object{"a": []any{Object{"c": int64(2)}, Object{}}},
		},
		"a list":               {".a.b[]", Object{"a": Object{"b": []any{1}}}, Object{"a": Object{}}},
		"a map":                {".a{}", Object{"a": Object{"key": "one"}, "b": "two"}, Object{"b": "two"}},
		"a field that is away": {".a.b", Object{"a": Object{"c": 2}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, removed := Leaf{Path: tc.path}.without(tc.spec)
			if removed != (tc.want != nil) || removed && !cmp.Equal(tc.want, got) {
				t.Errorf("got %v, %v, want %v", got, removed, tc.want)
			}
		})
	}
}

func TestPairsOfARequiredFieldHaveTwoValues(t *testing.T) {
	leaf := Leaf{Kind: "MCPTool", Path: ".toolName", fragments: []Object{{"toolName": "one"}, {"toolName": "two"}}}
	pairs, err := leaf.Pairs(3, func(_ string, spec Object) error {
		if spec["toolName"] == nil {
			return errors.New("toolName is required")
		}
		return nil
	})
	if err != nil || len(pairs) != 1 || pairs[0].With["toolName"] != "two" || pairs[0].Without["toolName"] != "one" {
		t.Errorf("got %v, %v", pairs, err)
	}
}
