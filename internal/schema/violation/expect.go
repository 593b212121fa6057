// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package violation

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"

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

// words says what is wrong, without the value, and what would be valid, in the schema's own values.
func words(k jsonschema.ErrorKind) (message, expected string) {
	switch k := k.(type) {
	case *kind.Type:
		return "is of type " + k.Got, strings.Join(k.Want, " or ")
	case *kind.Enum:
		return "is none of the listed values", "one of " + valueList(k.Want)
	case *kind.Const:
		return "is not the one value that is allowed", "exactly " + value(k.Want)
	case *kind.Format:
		return "is not of the format that is asked for", "a string of format " + Quote(k.Want)
	case *kind.Pattern:
		return "does not match the pattern", "a string that matches " + Clip(k.Want, MaxNameBytes)
	case *kind.MultipleOf:
		return "is not a multiple", "a multiple of " + decimal(k.Want)
	case *kind.FalseSchema:
		return "is not allowed here", "nothing"
	case *kind.Not:
		return "is what the schema excludes", ""
	case *kind.UniqueItems:
		return fmt.Sprintf("items %d and %d are equal", k.Duplicates[0], k.Duplicates[1]), "items that are all different"
	case *kind.AdditionalItems:
		return fmt.Sprintf("has %d items too many", k.Count), ""
	case *kind.Contains:
		return "has no item of the kind that is asked for", "at least 1 such item"
	}
	if message, expected = wordsOnCount(k); message != "" {
		return message, expected
	}
	if expected = wordsOnRange(k); expected != "" {
		return "is out of range", expected
	}
	return "does not fit the schema", ""
}

// wordsOnCount is words for keywords that count something, or empty.
func wordsOnCount(k jsonschema.ErrorKind) (message, expected string) {
	count := func(got int, bound string, want int, what string) (message, expected string) {
		return fmt.Sprintf("has %d %s", got, what), fmt.Sprintf("%s %d %s", bound, want, what)
	}
	const least, most = "at least", "at most"
	switch k := k.(type) {
	case *kind.MinLength:
		return count(k.Got, least, k.Want, "characters")
	case *kind.MaxLength:
		return count(k.Got, most, k.Want, "characters")
	case *kind.MinItems:
		return count(k.Got, least, k.Want, "items")
	case *kind.MaxItems:
		return count(k.Got, most, k.Want, "items")
	case *kind.MinProperties:
		return count(k.Got, least, k.Want, "members")
	case *kind.MaxProperties:
		return count(k.Got, most, k.Want, "members")
	case *kind.MinContains:
		return count(len(k.Got), least, k.Want, "items of the kind that is asked for")
	case *kind.MaxContains:
		return count(len(k.Got), most, k.Want, "items of the kind that is asked for")
	default:
		return "", ""
	}
}

// wordsOnRange says which numbers would be valid, or "" for keywords that don't bound numbers.
func wordsOnRange(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Minimum:
		return "at least " + decimal(k.Want)
	case *kind.Maximum:
		return "at most " + decimal(k.Want)
	case *kind.ExclusiveMinimum:
		return "more than " + decimal(k.Want)
	case *kind.ExclusiveMaximum:
		return "less than " + decimal(k.Want)
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
	return Clip(strings.TrimSuffix(b.String(), "\n"), maxValueBytes)
}

func valueList(vs []any) string { return list(vs, value) }

func quoteList(names []string) string { return list(names, Quote) }

// list writes the first of the values.
func list[T any](vs []T, write func(T) string) string {
	texts := make([]string, 0, maxListed)
	for _, v := range vs[:min(len(vs), maxListed)] {
		texts = append(texts, write(v))
	}
	text := strings.Join(texts, ", ")
	if more := len(vs) - maxListed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
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
