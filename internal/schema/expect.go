// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// maxValueBytes bounds one of the schema's own values in a text, maxListed how many of them are listed, and
// maxDescribed how deep describe goes.
const (
	maxValueBytes = 200
	maxListed     = 20
	maxDescribed  = 4
)

// message says what is wrong, without the value.
func message(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "is of type " + k.Got
	case *kind.Enum:
		return "is none of the listed values"
	case *kind.Const:
		return "is not the one value that is allowed"
	case *kind.Format:
		return "is not of the format that is asked for"
	case *kind.FalseSchema:
		return "is not allowed here"
	case *kind.Not:
		return "is what the schema excludes"
	case *kind.UniqueItems:
		return fmt.Sprintf("items %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	case *kind.AdditionalItems:
		return fmt.Sprintf("has %d items too many", k.Count)
	case *kind.MinLength:
		return fmt.Sprintf("has %d characters", k.Got)
	case *kind.MaxLength:
		return fmt.Sprintf("has %d characters", k.Got)
	case *kind.MinItems:
		return fmt.Sprintf("has %d items", k.Got)
	case *kind.MaxItems:
		return fmt.Sprintf("has %d items", k.Got)
	case *kind.MinProperties:
		return fmt.Sprintf("has %d members", k.Got)
	case *kind.MaxProperties:
		return fmt.Sprintf("has %d members", k.Got)
	case *kind.Contains:
		return "has no item of the kind that is asked for"
	case *kind.MinContains:
		return fmt.Sprintf("has %d items of the kind that is asked for", len(k.Got))
	case *kind.MaxContains:
		return fmt.Sprintf("has %d items of the kind that is asked for", len(k.Got))
	case *kind.Pattern:
		return "does not match the pattern"
	case *kind.Minimum, *kind.Maximum, *kind.ExclusiveMinimum, *kind.ExclusiveMaximum:
		return "is out of range"
	case *kind.MultipleOf:
		return "is not a multiple"
	default:
		return "does not fit the schema"
	}
}

// expected says what would be valid, in the schema's own values.
func expected(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return strings.Join(k.Want, " or ")
	case *kind.Enum:
		return "one of " + valueList(k.Want)
	case *kind.Const:
		return "exactly " + value(k.Want)
	case *kind.Format:
		return "a string of format " + quote(k.Want)
	case *kind.FalseSchema:
		return "nothing"
	case *kind.UniqueItems:
		return "items that are all different"
	case *kind.MinLength:
		return fmt.Sprintf("at least %d characters", k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("at most %d characters", k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("at least %d items", k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("at most %d items", k.Want)
	case *kind.MinProperties:
		return fmt.Sprintf("at least %d members", k.Want)
	case *kind.MaxProperties:
		return fmt.Sprintf("at most %d members", k.Want)
	case *kind.Contains:
		return "at least 1 such item"
	case *kind.MinContains:
		return fmt.Sprintf("at least %d such items", k.Want)
	case *kind.MaxContains:
		return fmt.Sprintf("at most %d such items", k.Want)
	case *kind.Pattern:
		return "a string that matches " + clip(k.Want, maxNameBytes)
	case *kind.Minimum:
		return "at least " + decimal(k.Want)
	case *kind.Maximum:
		return "at most " + decimal(k.Want)
	case *kind.ExclusiveMinimum:
		return "more than " + decimal(k.Want)
	case *kind.ExclusiveMaximum:
		return "less than " + decimal(k.Want)
	case *kind.MultipleOf:
		return "a multiple of " + decimal(k.Want)
	default:
		return ""
	}
}

// describe says in a few words what a subschema accepts.
func describe(s *jsonschema.Schema) string { return describeTo(s, maxDescribed) }

func describeTo(s *jsonschema.Schema, depth int) string {
	switch {
	case s == nil || depth == 0:
		return "any value"
	case s.Ref != nil:
		return describeTo(s.Ref, depth-1)
	case s.Const != nil:
		return "exactly " + value(*s.Const)
	case s.Enum != nil:
		return "one of " + valueList(s.Enum.Values)
	case len(s.AnyOf) > 0:
		return describeAny(s.AnyOf, depth)
	case len(s.OneOf) > 0:
		return describeAny(s.OneOf, depth)
	case s.Types == nil:
		return "any value"
	}
	types := s.Types.ToStrings()
	if items, _ := s.Items.(*jsonschema.Schema); len(types) == 1 && types[0] == "array" {
		if items == nil {
			items = s.Items2020
		}
		if items != nil {
			return "array of " + describeTo(items, depth-1)
		}
	}
	return strings.Join(types, " or ")
}

func describeAny(alternatives []*jsonschema.Schema, depth int) string {
	texts := make([]string, 0, len(alternatives))
	for _, alternative := range alternatives[:min(len(alternatives), maxListed)] {
		texts = append(texts, describeTo(alternative, depth-1))
	}
	return joinOr(texts)
}

// value writes one of the schema's own values, shortened.
func value(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "a value of the schema"
	}
	return clip(strings.TrimSuffix(b.String(), "\n"), maxValueBytes)
}

func valueList(vs []any) string {
	texts := make([]string, 0, len(vs))
	for _, v := range vs {
		texts = append(texts, value(v))
	}
	return list(texts)
}

func quoteList(names []string) string {
	texts := make([]string, 0, len(names))
	for _, name := range names {
		texts = append(texts, quote(name))
	}
	return list(texts)
}

func list(texts []string) string {
	if more := len(texts) - maxListed; more > 0 {
		return strings.Join(texts[:maxListed], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(texts, ", ")
}

// decimal writes a number as people do, where it is not too long for that.
func decimal(r *big.Rat) string {
	if digits, exact := r.FloatPrec(); exact && digits <= 30 {
		if text := r.FloatString(digits); len(text) <= maxValueBytes {
			return text
		}
	}
	return new(big.Float).SetPrec(64).SetRat(r).Text('g', 12)
}

// quote writes a name as JSON, so that no control character gets through.
func quote(s string) string {
	return value(clip(s, maxNameBytes))
}

// clip shortens s to at most n bytes and an ellipsis, between characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
