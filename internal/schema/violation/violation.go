// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package violation tells in words how an instance does not fit a schema, so that a model can correct its call.
//
// It owns the words, their order and how many there are. It reads the validator's own tree of causes and, by way of Places, the
// schema; it evaluates nothing. It must not import any other package of this module.
package violation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

// Most is how many violations are told of one instance.
const Most = 16

// MaxPathBytes and MaxNameBytes bound what a caller's own key names add to a text.
const (
	MaxPathBytes = 1024
	MaxNameBytes = 128
)

// Violation is one way in which an instance does not fit. It quotes the tool's own schema and the type of the caller's
// own value, never the value itself, so it can be shown to the caller.
type Violation struct {
	Path       string `json:"path"`               // RFC 6901 pointer into the instance, "" for the root
	Keyword    string `json:"keyword"`            // for example "required", "type", "additionalProperties"
	SchemaPath string `json:"schemaPath"`         // RFC 6901 pointer into the schema, to the keyword
	Message    string `json:"message"`            // one sentence, for example `missing "path"`
	Expected   string `json:"expected,omitempty"` // what would be valid, for example `string`, `one of "a", "b"`, `at most 10`
}

// Places knows a schema by the URLs that the validator has for the subschemas in it.
type Places interface {
	// Subschema is the one at a URL, nil where it is not known.
	Subschema(url string) *jsonschema.Schema
	// Pointer is its place as an RFC 6901 pointer into the schema.
	Pointer(url string) string
	// Applies says whether a keyword holds subschemas.
	Applies(keyword string) bool
}

// Of turns the validator's tree of causes into a list of Most violations at the most, in a fixed order: by path, then by schema
// path.
func Of(failed *jsonschema.ValidationError, in Places) []Violation {
	return collector{in}.render(failed)
}

// collector puts faults into words. It looks up subschemas to say what would have been valid.
type collector struct{ Places }

// render puts the first faults of a tree into words. An instance can have millions; words for all would cost far more than
// finding them did.
func (c collector) render(failed *jsonschema.ValidationError) []Violation {
	var first faults
	first.gather(failed)
	vs := make([]Violation, 0, len(first))
	for _, e := range first {
		vs = append(vs, c.words(e)...)
	}
	slices.SortFunc(vs, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.SchemaPath, b.SchemaPath),
			cmp.Compare(a.Keyword, b.Keyword), cmp.Compare(a.Message, b.Message))
	})
	vs = slices.Compact(vs)
	return vs[:min(len(vs), Most)]
}

// faults are the first Most leaves of a tree of causes, in a fixed order, each once. An anyOf or oneOf is a leaf.
type faults []*jsonschema.ValidationError

func (f *faults) gather(e *jsonschema.ValidationError) {
	switch e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
		for _, cause := range e.Causes {
			f.gather(cause)
		}
	default:
		f.insert(e)
	}
}

func (f *faults) insert(e *jsonschema.ValidationError) {
	if len(*f) == Most && compareFaults(e, (*f)[Most-1]) >= 0 {
		return
	}
	at, known := slices.BinarySearchFunc(*f, e, compareFaults)
	if known {
		return
	}
	*f = slices.Insert(*f, at, e)
	*f = (*f)[:min(len(*f), Most)]
}

// compareFaults orders by instance location, then by place in the schema. Equal faults say the same.
func compareFaults(a, b *jsonschema.ValidationError) int {
	if c := cmp.Or(slices.Compare(a.InstanceLocation, b.InstanceLocation), cmp.Compare(a.SchemaURL, b.SchemaURL)); c != 0 {
		return c
	}
	return slices.Compare(faultName(a), faultName(b))
}

// faultName tells the faults of one subschema at one place apart.
func faultName(e *jsonschema.ValidationError) []string {
	switch k := e.ErrorKind.(type) {
	case nil:
		return nil
	case *kind.PropertyNames:
		return []string{"propertyNames", k.Property}
	case *kind.Not:
		return []string{"not"} // the library leaves it out
	default:
		return k.KeywordPath()
	}
}

// words puts one fault into words.
func (c collector) words(e *jsonschema.ValidationError) []Violation {
	switch k := e.ErrorKind.(type) {
	case *kind.AnyOf:
		return c.alternatives(e)
	case *kind.OneOf:
		if k.Subschemas == nil {
			return c.alternatives(e)
		}
		return []Violation{c.violation(e, fmt.Sprintf("fits alternatives %d and %d, not one alone", k.Subschemas[0], k.Subschemas[1]),
			"a value that fits exactly one alternative")}
	case *kind.Required:
		return c.missing(e, k.Missing, "")
	case *kind.Dependency:
		return c.missing(e, k.Missing, k.Prop)
	case *kind.DependentRequired:
		return c.missing(e, k.Missing, k.Prop)
	case *kind.AdditionalProperties:
		return c.undeclared(e, k.Properties)
	case *kind.PropertyNames:
		return []Violation{c.badName(e, k.Property)}
	default:
		message, expected := words(k)
		return []Violation{c.violation(e, message, expected)}
	}
}

// violation places a text at the error's location and keyword.
func (c collector) violation(e *jsonschema.ValidationError, message, expected string) Violation {
	v := Violation{Path: Clip(Pointer(e.InstanceLocation), MaxPathBytes), Message: message, Expected: expected}
	v.SchemaPath = c.Pointer(e.SchemaURL)
	if _, ok := e.ErrorKind.(*kind.PropertyNames); ok {
		v.Keyword = "propertyNames"
		v.SchemaPath += "/propertyNames"
		return v
	}
	keyword := faultName(e)
	v.SchemaPath += Pointer(keyword)
	if len(keyword) > 0 {
		v.Keyword = keyword[0]
	} else { // a `false` in the place of a schema: name the keyword that holds it
		v.Keyword = c.lastKeyword(v.SchemaPath)
	}
	return v
}

// lastKeyword gives the keyword that a subschema at path belongs to.
func (c collector) lastKeyword(path string) string {
	tokens := strings.Split(path, "/")
	for i := len(tokens) - 1; i > 0; i-- {
		if c.Applies(tokens[i]) {
			return tokens[i]
		}
	}
	return "false"
}

// missing gives one violation per absent member. The path is the object that lacks it.
func (c collector) missing(e *jsonschema.ValidationError, names []string, because string) []Violation {
	sch := c.Subschema(e.SchemaURL)
	names = names[:min(len(names), Most)]
	vs := make([]Violation, 0, len(names))
	for _, name := range names {
		text := fmt.Sprintf("misses the required member %s", Quote(name))
		if because != "" {
			text += fmt.Sprintf(", which goes with %s", Quote(because))
		}
		want := Quote(name)
		if sch != nil && sch.Properties[name] != nil {
			want += ": " + describe(sch.Properties[name])
		}
		vs = append(vs, c.violation(e, text, want))
	}
	return vs
}

// undeclared gives one violation per member that is too much. The path is that member.
func (c collector) undeclared(e *jsonschema.ValidationError, names []string) []Violation {
	want := "no such member"
	if sch := c.Subschema(e.SchemaURL); sch != nil && len(sch.Properties) > 0 {
		want = "only members named " + quoteList(slices.Sorted(maps.Keys(sch.Properties)))
	}
	names = slices.Sorted(slices.Values(names))
	names = names[:min(len(names), Most)]
	vs := make([]Violation, 0, len(names))
	for _, name := range names {
		v := c.violation(e, fmt.Sprintf("the member %s is not declared", Quote(Clip(name, MaxNameBytes))), want)
		v.Path = Clip(v.Path+"/"+jsonrpc.EscapeToken(name), MaxPathBytes)
		vs = append(vs, v)
	}
	return vs
}

func (c collector) badName(e *jsonschema.ValidationError, name string) Violation {
	v := c.violation(e, fmt.Sprintf("the member name %s is not allowed", Quote(Clip(name, MaxNameBytes))), "")
	var first faults
	for _, cause := range e.Causes {
		first.gather(cause)
	}
	if len(first) > 0 {
		if vs := c.words(first[0]); vs[0].Expected != "" {
			v.Expected = "names that are " + vs[0].Expected
		}
	}
	return v
}
