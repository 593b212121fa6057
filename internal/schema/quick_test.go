// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

// maker makes up schemas and instances of few names, few texts and few numbers, so that they meet.
type maker struct{ *rand.Rand }

func (m maker) of(words ...string) string { return words[m.IntN(len(words))] }

// some joins n members or elements that one makes.
func (m maker) some(n int, one func() string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = one()
	}
	return strings.Join(parts, ",")
}

func (m maker) small() string { return m.of("0", "1", "2", "3") }
func (m maker) number() string {
	return m.of("0", "-0", "1", "2", "-1", "1.0", "1.5", "2e0", "10e-1", "1e400", "9007199254740993", "123456789012345678901234567890", "-9223372036854775808")
}
func (m maker) text() string {
	return m.of(`""`, `"a"`, `"ab"`, `"\u0061"`, `"aé"`, `"工具"`, `"\ud83d\ude00"`, `"a\"b"`, `"\\"`)
}

func (m maker) instance(depth int) string {
	switch m.IntN(8) {
	case 0:
		return m.of("null", "true", "false")
	case 1, 2:
		return m.number()
	case 3, 4:
		return m.text()
	case 5:
		if depth > 3 {
			return "[]"
		}
		return "[" + m.of("", " ") + m.some(m.IntN(4), func() string { return m.instance(depth + 1) }) + "]"
	}
	if depth > 3 {
		return "{ }"
	}
	seen := map[string]bool{}
	var members []string
	for range m.IntN(5) {
		name := m.of(`"a"`, `"b"`, `"c"`, `"e"`, `"\u0061"`)
		if key := strings.ReplaceAll(name, `\u0061`, "a"); !seen[key] {
			seen[key] = true
			members = append(members, name+m.of(":", " : ")+m.instance(depth+1))
		}
	}
	return "{" + strings.Join(members, ", ") + "}"
}

// schema makes up a schema of the keywords that the short cut knows, and now and then of others.
func (m maker) schema(depth int) string {
	if depth > 3 {
		return m.of("true", "{}", `{"type":"string"}`, `{"type":["integer","null"]}`)
	}
	keywords := []func() string{
		func() string {
			return `"type":"` + m.of("object", "object", "string", "integer", "number", "array", "boolean", "null") + `"`
		},
		func() string {
			return `"type":["` + m.of("string", "object") + `","` + m.of("null", "integer", "array") + `"]`
		},
		func() string { return `"properties":{"a":` + m.schema(depth+1) + `,"b":` + m.schema(depth+1) + "}" },
		func() string { return `"required":[` + m.of(`"a"`, `"a","b"`, `"d"`) + "]" },
		func() string { return `"additionalProperties":` + m.of("false", "true", m.schema(depth+1)) },
		func() string { return `"items":` + m.schema(depth+1) },
		func() string {
			return `"allOf":[` + m.some(1+m.IntN(2), func() string { return m.schema(depth + 1) }) + "]"
		},
		func() string {
			return `"anyOf":[` + m.some(1+m.IntN(2), func() string { return m.schema(depth + 1) }) + "]"
		},
		func() string { return `"$ref":"#/$defs/x"` },
		func() string { return `"enum":[` + m.of(m.text(), m.text()+`,"zz"`, m.number(), "null") + "]" },
		func() string { return `"const":` + m.of(m.text(), m.number(), "{}") },
		func() string {
			return `"` + m.of("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties") + `":` + m.small()
		},
		func() string {
			return `"` + m.of("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum") + `":` + m.number()
		},
		func() string { return `"pattern":"` + m.of("^a", "b$", ".", "工") + `"` },
		func() string { return `"default":1,"title":"t","description":"d","examples":[1]` },
		func() string {
			return m.of(`"multipleOf":2`, `"uniqueItems":true`, `"propertyNames":{"maxLength":1}`, `"patternProperties":{"^a":{"type":"string"}}`,
				`"oneOf":[{"type":"string"},{"minLength":1}]`, `"not":{"type":"string"}`, `"dependentRequired":{"a":["b"]}`, `"prefixItems":[{"type":"string"}]`,
				`"if":{"type":"string"},"then":{"minLength":1}`, `"contains":{"type":"string"}`, `"unevaluatedProperties":false`)
		},
	}
	seen := map[string]bool{}
	var parts []string
	for range 1 + m.IntN(4) {
		one := keywords[m.IntN(len(keywords))]()
		if key := strings.SplitN(one, ":", 2)[0]; !seen[key] {
			seen[key] = true
			parts = append(parts, one)
		}
	}
	if depth == 0 {
		parts = append(parts, `"$defs":{"x":`+m.of(`{"type":"string"}`, `{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}}}`, m.schema(1))+"}")
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// TestShortCutNeverAcceptsWhatIsInvalid holds the short cut to the validator proper: its yes is a yes, and it says yes to
// most of what is valid.
func TestShortCutNeverAcceptsWhatIsInvalid(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(1, 2))}
	accepted, valid, compiled := 0, 0, 0
	for range 4000 {
		raw := m.schema(0)
		s, err := Compile([]byte(raw), Options{})
		if err != nil {
			continue
		}
		compiled++
		for range 25 {
			instance := m.instance(0)
			if !json.Valid([]byte(instance)) {
				t.Fatalf("made up what is no JSON: %s", instance)
			}
			quick, violations := s.quick.Accepts([]byte(instance)), s.validate([]byte(instance))
			if quick && len(violations) > 0 {
				t.Fatalf("the short cut accepts %s under %s: %v", instance, raw, violations)
			}
			if len(violations) == 0 {
				valid++
				if quick {
					accepted++
				}
			}
		}
	}
	t.Logf("%d schemas, %d valid instances, %d of them by the short cut", compiled, valid, accepted)
	if compiled < 1000 || valid < 10_000 || accepted < valid/3 {
		t.Errorf("too little was compared: %d schemas, %d valid instances, %d of them by the short cut", compiled, valid, accepted)
	}
}

func FuzzShortCut(f *testing.F) {
	f.Add(uint64(1), []byte(`{"a":1}`))
	f.Fuzz(func(t *testing.T, seed uint64, instance []byte) {
		raw := maker{rand.New(rand.NewPCG(seed, 0))}.schema(0)
		s, err := Compile([]byte(raw), Options{})
		if err != nil {
			return
		}
		accepts := s.quick.Accepts(instance) // must end whatever it reads
		if jsonrpc.Check(instance, jsonrpc.Limits{}) == nil && accepts && len(s.validate(instance)) > 0 {
			t.Errorf("the short cut accepts %s under %s", instance, raw)
		}
	})
}

// The short cut takes no memory: it is on the way of every call.
func TestShortCutTakesNoMemory(t *testing.T) {
	s, err := Compile([]byte(`{"type":"object","properties":{"path":{"type":"string","minLength":1},"mode":{"enum":["read","write"]},"limit":{"type":"integer","minimum":0},`+
		`"filter":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}},"required":["path"],"additionalProperties":false}`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	instance := []byte(`{"path":"/srv/data","mode":"read","limit":10,"filter":["a","b"]}`)
	if n := testing.AllocsPerRun(100, func() {
		if s.Validate(instance) != nil {
			t.Fatal("refused")
		}
	}); n > 0 {
		t.Errorf("%.0f allocations", n)
	}
}

// What the validator refuses to begin with, because it would take too long, the short cut does not begin with either.
func TestShortCutBearsNoMoreThanTheValidator(t *testing.T) {
	list := `{"type":"array","items":{"$ref":"#"}}`
	for name, tc := range map[string]struct{ schema, instance string }{
		"a long text before a large pattern":          {`{"pattern":"^(a{900}b{900}c{900}|x+)$"}`, `"` + strings.Repeat("x", 400_000) + `"`},
		"a pattern that is asked for again and again": {`{"allOf":[{"type":"string"}` + strings.Repeat(`,{"pattern":"^((.{30}){30}|x+)$"}`, 2000) + `]}`, `"` + strings.Repeat("x", 1000) + `"`},
		"as that of a name": {`{"allOf":[{"type":"object"}` + strings.Repeat(`,{"patternProperties":{"^((.{30}){30}|x+)$":true}}`, 2000) + `]}`,
			`{"` + strings.Repeat("x", 1000) + `":1}`},
		"as that of names, and deep below": {`{"properties":{"a":{"items":{"allOf":[{"type":"object"}` + strings.Repeat(`,{"propertyNames":{"pattern":"^((.{30}){30}|x+)$"}}`, 2000) + `]}}}}`,
			`{"a":[{"` + strings.Repeat("x", 1000) + `":1}]}`},
		"a union that contains itself": {`{"anyOf":[{"type":"string"}` + strings.Repeat(","+list, 64) + `]}`, strings.Repeat("[", 10) + "1" + strings.Repeat("]", 10)},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Compile([]byte(tc.schema), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if vs := s.Validate([]byte(tc.instance)); len(vs) != 1 || vs[0].Keyword != KeywordLimit {
				t.Errorf("got %v, want a violation of %s", vs, KeywordLimit)
			}
		})
	}
}

// TestPatternsOfOtherValuesCostAValueNothing: a large schema with a pattern for each of its properties takes texts as long as one with a single one.
func TestPatternsOfOtherValuesCostAValueNothing(t *testing.T) {
	var properties strings.Builder
	for i := range 500 {
		fmt.Fprintf(&properties, `%q:{"type":"string","pattern":"^[a-z]{20}x*$"},`, fmt.Sprint("p", i))
	}
	s, err := Compile([]byte(`{"type":"object","properties":{`+strings.TrimSuffix(properties.String(), ",")+`}}`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if vs := s.Validate([]byte(`{"p7":"` + strings.Repeat("x", 1_000_000) + `"}`)); len(vs) > 0 {
		t.Errorf("got %v", vs)
	}
}
