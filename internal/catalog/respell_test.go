// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// parse reads JSON for a test, numbers as they are spelt.
func parse(t interface{ Fatal(...any) }, data []byte) any {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// respell writes a value with its keys in another order, other white space, other escapes and other spellings of numbers.
func respell(t *rapid.T, v any) string {
	space := func() string { return rapid.SampledFrom([]string{"", " ", "\n\t", "\r\n"}).Draw(t, "space") }
	switch v := v.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		parts := make([]string, len(keys))
		for i, key := range rapid.Permutation(keys).Draw(t, "keys") {
			parts[i] = space() + respell(t, key) + ":" + respell(t, v[key])
		}
		return "{" + strings.Join(parts, ",") + space() + "}"
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = respell(t, v[i]) + space()
		}
		return "[" + strings.Join(parts, ",") + "]"
	case string:
		return respellString(t, v)
	case json.Number:
		return respellNumber(t, v.String())
	case bool:
		return fmt.Sprint(v)
	}
	return "null"
}

func respellString(t *rapid.T, s string) string {
	if rapid.IntRange(0, 3).Draw(t, "escape") > 0 {
		out, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r >= 0x10000:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04X\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		case r == '/':
			b.WriteString(`\/`)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return `"` + b.String() + `"`
}

// place is one value inside a document, with a way to put another there, or to remove it.
type place struct {
	value  any
	set    func(any)
	remove func() // nil where an element cannot be removed on its own
}

// places lists every value inside v.
func places(v any) []place {
	var all []place
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = append(all, place{v[key], func(n any) { v[key] = n }, func() { delete(v, key) }})
			all = append(all, places(v[key])...)
		}
	case []any:
		for i := range v {
			all = append(all, place{v[i], func(n any) { v[i] = n }, nil})
			all = append(all, places(v[i])...)
		}
	}
	return all
}

// different draws a value that is not v.
func different(t *rapid.T, v any) any {
	switch v := v.(type) {
	case string:
		return v + rapid.SampledFrom([]string{" ", "x", "\u200b", "\u0301"}).Draw(t, "suffix")
	case json.Number:
		return json.Number("1" + strings.TrimPrefix(v.String(), "-"))
	case bool:
		return !v
	case nil:
		return false
	}
	return nil
}

func TestDigestDependsOnTheValueAlone(t *testing.T) {
	tools := realTools(t)
	rapid.Check(t, func(t *rapid.T) {
		tool := tools[rapid.IntRange(0, len(tools)-1).Draw(t, "tool")]
		text := respell(t, parse(t, tool.Definition))
		again, err := ParseTool([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if again.Digest != tool.Digest {
			t.Errorf("tool %q has digest %s, respelt %s:\n%s", tool.Name, tool.Digest, again.Digest, text)
		}
	})
}

func TestDigestDependsOnEveryMember(t *testing.T) {
	tools := realTools(t)
	rapid.Check(t, func(t *rapid.T) {
		tool := tools[rapid.IntRange(0, len(tools)-1).Draw(t, "tool")]
		doc := parse(t, tool.Definition)
		all := places(doc)
		p := all[rapid.IntRange(0, len(all)-1).Draw(t, "place")]
		if p.remove != nil && rapid.Bool().Draw(t, "remove") {
			p.remove()
		} else {
			p.set(different(t, p.value))
		}
		text := respell(t, doc)
		if digest, err := Digest([]byte(text)); err != nil || digest == tool.Digest {
			t.Errorf("tool %q was changed at %v and kept its digest (%v)", tool.Name, p.value, err)
		}
	})
}

// FuzzDigest holds that the canonical form is the same value, has the same digest, and is the same for a re-serialisation
// by encoding/json.
func FuzzDigest(f *testing.F) {
	for _, tool := range realTools(f)[:20] {
		if len(tool.Definition) < 4096 {
			f.Add(tool.Definition)
		}
	}
	f.Add([]byte(`{"a":[1.0,-0,1e-7,"\u00e9\/\ud83d\ude00"],"\u0000b":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		digest, err := Digest(data)
		if err != nil {
			return
		}
		canonical := appendCanonical(nil, data)
		if again, err := Digest(canonical); err != nil || again != digest {
			t.Fatalf("%q has digest %s, its canonical form %s has %s (%v)", data, digest, canonical, again, err)
		}
		again, err := json.Marshal(parse(t, data))
		if err != nil {
			t.Fatal(err)
		}
		if other, err := Digest(again); err != nil || other != digest {
			t.Fatalf("%q has digest %s, written again as %q it has %s (%v)", data, digest, again, other, err)
		}
	})
}
