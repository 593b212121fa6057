// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"errors"
	"math/big"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// replaceKeywords puts our own keywords in place of two of the library's: its propertyNames reports a location that later
// siblings overwrite, and its uniqueItems hashes differently nested values alike, so that an instance can be made
// which takes quadratic time.
func replaceKeywords(s *jsonschema.Schema) {
	if s.PropertyNames != nil {
		s.Extensions = append(s.Extensions, propertyNames{s.PropertyNames})
		s.PropertyNames = nil
	}
	if s.UniqueItems {
		s.Extensions = append(s.Extensions, uniqueItems{})
		s.UniqueItems = false
	}
}

type propertyNames struct{ names *jsonschema.Schema }

func (k propertyNames) Validate(ctx *jsonschema.ValidatorContext, v any) {
	obj, isObject := v.(map[string]any)
	if !isObject {
		return
	}
	for name := range obj {
		if err := k.names.Validate(name); err != nil {
			var causes []*jsonschema.ValidationError
			if failed := new(jsonschema.ValidationError); errors.As(err, &failed) {
				causes = failed.Causes
			}
			ctx.AddErrors(causes, &kind.PropertyNames{Property: name})
		}
	}
}

type uniqueItems struct{}

func (uniqueItems) Validate(ctx *jsonschema.ValidatorContext, v any) {
	arr, isArray := v.([]any)
	if !isArray || len(arr) < 2 {
		return
	}
	seen := make(map[string]int, len(arr))
	var buf []byte
	for i, item := range arr {
		buf = appendCanonical(buf[:0], item)
		if first, duplicate := seen[string(buf)]; duplicate {
			ctx.AddError(&kind.UniqueItems{Duplicates: [2]int{first, i}})
			return
		}
		seen[string(buf)] = i
	}
}

// appendCanonical writes v so that equal values, and only those, give equal bytes. Every value says where it ends.
func appendCanonical(buf []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(buf, 'n')
	case bool:
		return strconv.AppendBool(buf, v)
	case string:
		return appendText(append(buf, 's'), v)
	case json.Number:
		return appendText(append(buf, 'd'), canonicalNumber(v.String()))
	case []any:
		buf = append(buf, '[')
		for _, item := range v {
			buf = appendCanonical(buf, item)
		}
		return append(buf, ']')
	case map[string]any:
		buf = append(buf, '{')
		for _, key := range sortedKeys(v) {
			buf = appendCanonical(appendText(buf, key), v[key])
		}
		return append(buf, '}')
	default:
		panic("schema: a value that the decoder never makes")
	}
}

func appendText(buf []byte, s string) []byte {
	buf = strconv.AppendInt(buf, int64(len(s)), 10)
	return append(append(buf, ':'), s...)
}

func canonicalNumber(text string) string {
	if text != "-0" && !strings.ContainsAny(text, ".eE") {
		return text
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		panic("schema: a number that the decoder never makes")
	}
	return r.RatString()
}
