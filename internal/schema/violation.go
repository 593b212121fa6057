// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// maxPathBytes and maxNameBytes bound what a caller's own key names add to a text.
const (
	maxPathBytes = 1024
	maxNameBytes = 128
)

// violations turns the library's tree of causes into a flat list, in a fixed order.
func (s *Schema) violations(failed *jsonschema.ValidationError) []Violation {
	return collector{s.graph}.render(failed)
}

// explainMeta tells the first reason why the metaschema refuses a schema.
func explainMeta(meta *jsonschema.SchemaValidationError) *CompileError {
	var failed *jsonschema.ValidationError
	if !errors.As(meta.Err, &failed) {
		return &CompileError{Path: schemaPointer(meta.URL), Reason: ReasonInvalid, Message: "is not a valid schema"}
	}
	if path, cause := badRegex(failed); cause != nil {
		return &CompileError{Path: schemaPointer(meta.URL) + path, Reason: ReasonPattern, Message: badPattern(cause)}
	}
	vs := (&Schema{graph: &graph{}}).violations(failed)
	if len(vs) == 0 {
		return &CompileError{Path: schemaPointer(meta.URL), Reason: ReasonInvalid, Message: "is not a valid schema"}
	}
	message := vs[0].Message
	if vs[0].Expected != "" {
		message += "; expected " + vs[0].Expected
	}
	return &CompileError{Path: schemaPointer(meta.URL) + vs[0].Path, Reason: ReasonInvalid, Message: message}
}

// badRegex finds a pattern that the metaschema's `format: regex` refused.
func badRegex(e *jsonschema.ValidationError) (path string, cause error) {
	if f, ok := e.ErrorKind.(*kind.Format); ok && f.Want == "regex" {
		return pointer(e.InstanceLocation), f.Err
	}
	for _, c := range e.Causes {
		if path, cause := badRegex(c); cause != nil {
			if names, ok := e.ErrorKind.(*kind.PropertyNames); ok {
				return pointer(e.InstanceLocation) + "/" + escapeToken(names.Property), cause
			}
			return path, cause
		}
	}
	return "", nil
}

// collector puts faults into words. It looks up subschemas to say what would have been valid.
type collector struct{ graph *graph }

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
	return vs[:min(len(vs), MaxViolations)]
}

// faults are the first MaxViolations leaves of a tree of causes, in a fixed order, each once. An anyOf or oneOf is a leaf.
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
	if len(*f) == MaxViolations && compareFaults(e, (*f)[MaxViolations-1]) >= 0 {
		return
	}
	at, known := slices.BinarySearchFunc(*f, e, compareFaults)
	if known {
		return
	}
	*f = slices.Insert(*f, at, e)
	*f = (*f)[:min(len(*f), MaxViolations)]
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
	v := Violation{Path: clip(pointer(e.InstanceLocation), maxPathBytes), Message: message, Expected: expected}
	v.SchemaPath = schemaPointer(e.SchemaURL)
	if _, ok := e.ErrorKind.(*kind.PropertyNames); ok {
		v.Keyword = "propertyNames"
		v.SchemaPath += "/propertyNames"
		return v
	}
	keyword := faultName(e)
	v.SchemaPath += pointer(keyword)
	if len(keyword) > 0 {
		v.Keyword = keyword[0]
	} else { // a `false` in the place of a schema: name the keyword that holds it
		v.Keyword = lastKeyword(v.SchemaPath)
	}
	return v
}

// lastKeyword gives the keyword that a subschema at path belongs to.
func lastKeyword(path string) string {
	tokens := strings.Split(path, "/")
	for i := len(tokens) - 1; i > 0; i-- {
		if slices.Contains(oneSchema, tokens[i]) || slices.Contains(listOfSchemas, tokens[i]) || slices.Contains(mapOfSchemas, tokens[i]) {
			return tokens[i]
		}
	}
	return "false"
}

// subschema finds the schema that an error speaks of.
func (c collector) subschema(e *jsonschema.ValidationError) *jsonschema.Schema {
	if n := c.graph.byURL[e.SchemaURL]; n != nil {
		return n.sch
	}
	return nil
}

// missing gives one violation per absent member. The path is the object that lacks it.
func (c collector) missing(e *jsonschema.ValidationError, names []string, because string) []Violation {
	sch := c.subschema(e)
	names = names[:min(len(names), MaxViolations)]
	vs := make([]Violation, 0, len(names))
	for _, name := range names {
		text := fmt.Sprintf("misses the required member %s", quote(name))
		if because != "" {
			text += fmt.Sprintf(", which goes with %s", quote(because))
		}
		want := quote(name)
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
	if sch := c.subschema(e); sch != nil && len(sch.Properties) > 0 {
		want = "only members named " + quoteList(sortedKeys(sch.Properties))
	}
	names = slices.Sorted(slices.Values(names))
	names = names[:min(len(names), MaxViolations)]
	vs := make([]Violation, 0, len(names))
	for _, name := range names {
		v := c.violation(e, fmt.Sprintf("the member %s is not declared", quote(clip(name, maxNameBytes))), want)
		v.Path = clip(v.Path+"/"+escapeToken(name), maxPathBytes)
		vs = append(vs, v)
	}
	return vs
}

func (c collector) badName(e *jsonschema.ValidationError, name string) Violation {
	v := c.violation(e, fmt.Sprintf("the member name %s is not allowed", quote(clip(name, maxNameBytes))), "")
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
