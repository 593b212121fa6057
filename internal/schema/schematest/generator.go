// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package schematest

import (
	"encoding/json"
	"maps"
	"math/big"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

// maxDepth ends the expansion of schemas that contain themselves.
const maxDepth = 24

// formats are valid strings of the formats that schemas of tools name.
var formats = map[string]string{
	"date": "2026-01-02", "date-time": "2026-01-02T03:04:05Z", "time": "03:04:05Z", "duration": "P1D",
	"email": "a@example.com", "hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
	"uri": "https://example.com/", "uri-reference": "/a", "uuid": "123e4567-e89b-42d3-a456-426614174000",
	"json-pointer": "/a", "regex": "a",
}

// generator makes one value. choice is a number in mixed radix: each alternative takes a digit of it.
type generator struct {
	root   any
	choice int
}

func (g *generator) pick(n int) int {
	digit := g.choice % n
	g.choice /= n
	return digit
}

// resolve follows a local reference; anything else gives nil, which is any value.
func (g *generator) resolve(ref string) any {
	fragment, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return nil
	}
	v := g.root
	for _, token := range strings.Split(fragment, "/")[1:] {
		token = jsonrpc.UnescapeToken(token)
		switch at := v.(type) {
		case map[string]any:
			v = at[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(at) {
				return nil
			}
			v = at[i]
		}
	}
	return v
}

func (g *generator) value(v any, depth int) any {
	s := g.merged(v, depth)
	if c, ok := s["const"]; ok {
		return c
	}
	if values, _ := s["enum"].([]any); len(values) > 0 {
		return values[0]
	}
	if depth > maxDepth {
		return nil
	}
	switch g.kind(s) {
	case "object":
		return g.object(s, depth)
	case "array":
		return g.array(s, depth)
	case "integer", "number":
		return g.number(s)
	case "boolean":
		return true
	case "null":
		return nil
	default:
		return g.str(s)
	}
}

// kind gives the type to make: the one that is declared, else the one that the keywords speak of.
func (g *generator) kind(s map[string]any) string {
	switch t := s["type"].(type) {
	case string:
		return t
	case []any:
		if len(t) > 0 {
			name, _ := t[0].(string)
			return name
		}
	}
	for _, hint := range []struct{ keyword, kind string }{
		{"properties", "object"}, {"required", "object"}, {"items", "array"}, {"minItems", "array"},
		{"minimum", "number"}, {"maximum", "number"}, {"exclusiveMinimum", "number"}, {"multipleOf", "number"},
	} {
		if _, ok := s[hint.keyword]; ok {
			return hint.kind
		}
	}
	return "string"
}

func (g *generator) object(s map[string]any, depth int) any {
	properties, _ := s["properties"].(map[string]any)
	obj := map[string]any{}
	required, _ := s["required"].([]any)
	for _, name := range required {
		if name, ok := name.(string); ok {
			sub, declared := properties[name]
			if !declared {
				sub = s["additionalProperties"]
			}
			obj[name] = g.value(sub, depth+1)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if len(obj) >= count(s, "minProperties") {
			break
		}
		if _, ok := obj[name]; !ok {
			obj[name] = g.value(properties[name], depth+1)
		}
	}
	for i := len(obj); i < count(s, "minProperties"); i++ {
		obj["m"+strconv.Itoa(i)] = g.value(s["additionalProperties"], depth+1)
	}
	return obj
}

func (g *generator) array(s map[string]any, depth int) any {
	prefix, _ := s["prefixItems"].([]any)
	rest := s["items"]
	if list, ok := rest.([]any); ok {
		prefix, rest = list, s["additionalItems"]
	}
	least := count(s, "minItems")
	if _, ok := s["contains"]; ok {
		least = max(least, 1)
		rest = s["contains"]
	}
	arr := []any{}
	for i := range least {
		if i < len(prefix) {
			arr = append(arr, g.value(prefix[i], depth+1))
		} else {
			arr = append(arr, g.value(rest, depth+1))
		}
	}
	return arr
}

func count(s map[string]any, keyword string) int {
	n, _ := s[keyword].(json.Number)
	i, _ := strconv.Atoi(n.String())
	return i
}

// number gives the least number that fits, or the greatest where there is no least one.
func (g *generator) number(s map[string]any) any {
	rat := func(keyword string) *big.Rat {
		n, ok := s[keyword].(json.Number)
		if !ok {
			return nil
		}
		r, _ := new(big.Rat).SetString(n.String())
		return r
	}
	step := big.NewRat(1, 1)
	if multiple := rat("multipleOf"); multiple != nil {
		step = multiple
	}
	n := new(big.Rat)
	if low := rat("minimum"); low != nil {
		n.Set(low)
	} else if low := rat("exclusiveMinimum"); low != nil {
		n.Add(low, step)
	} else if high := rat("maximum"); high != nil && high.Sign() < 0 {
		n.Set(high)
	} else if high := rat("exclusiveMaximum"); high != nil && high.Sign() <= 0 {
		n.Sub(high, step)
	}
	steps := new(big.Rat).Quo(n, step)
	if !steps.IsInt() { // up to the next multiple
		whole := new(big.Int).Div(steps.Num(), steps.Denom())
		n.Mul(new(big.Rat).SetInt(whole.Add(whole, big.NewInt(1))), step)
	}
	digits, _ := n.FloatPrec()
	return json.Number(n.FloatString(digits))
}

func (g *generator) str(s map[string]any) any {
	if pattern, ok := s["pattern"].(string); ok {
		return matching(pattern, count(s, "minLength"))
	}
	format, _ := s["format"].(string)
	text := formats[format]
	if text == "" {
		text = "a"
	}
	if least := count(s, "minLength"); len(text) < least {
		text += strings.Repeat("a", least-len(text))
	}
	if _, limited := s["maxLength"]; limited && format == "" {
		text = text[:min(len(text), count(s, "maxLength"))]
	}
	return text
}
