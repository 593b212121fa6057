// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/schema/pattern"
	"toolgate.dev/toolgate/internal/schema/quick"
	"toolgate.dev/toolgate/internal/schema/violation"
)

// Schema is a compiled schema. It is immutable and safe for concurrent use.
type Schema struct {
	dialect  dialect
	root     *jsonschema.Schema
	graph    *graph
	cost     *costModel
	declared *jsonrpc.Declared
	quick    *quick.Check
	defaults bool // some subschema has a default
}

// Compile compiles one schema. raw must have been accepted by jsonrpc.Check (no duplicate keys, valid UTF-8).
// Every error is a *CompileError.
func Compile(raw []byte, opts Options) (s *Schema, err error) {
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, &CompileError{Reason: ReasonInternal, Message: "makes the validator fail, so it is not used"}
		}
	}()
	s, failure := compile(raw, opts)
	if failure != nil {
		failure.Path = violation.Clip(failure.Path, violation.MaxPathBytes)
		return nil, failure
	}
	return s, nil
}

func compile(raw []byte, opts Options) (*Schema, *CompileError) {
	doc, failure := read(raw, opts)
	if failure != nil {
		return nil, failure
	}
	outline, failure := outlineOf(doc)
	if failure != nil {
		return nil, failure
	}
	dialect, failure := chooseDialect(doc, outline, opts)
	if failure != nil {
		return nil, failure
	}
	return build(doc, outline, dialect, opts)
}

// read decodes the schema within the limits on its text, and looks at its root.
func read(raw []byte, opts Options) (any, *CompileError) {
	if len(raw) > MaxSchemaBytes {
		return nil, &CompileError{Reason: ReasonTooLarge, Message: fmt.Sprintf(
			"has %d bytes; a schema has at most %d", len(raw), MaxSchemaBytes)}
	}
	doc, _, err := decode(raw)
	if err != nil {
		if limit := new(limitError); errors.As(err, &limit) {
			return nil, &CompileError{Path: limit.path, Reason: limit.reason, Message: limit.text}
		}
		return nil, &CompileError{Reason: ReasonNotJSON, Message: err.Error()}
	}
	if !opts.RequireObject {
		return doc, nil
	}
	if obj, _ := doc.(map[string]any); obj == nil || obj["type"] != "object" {
		return nil, &CompileError{Reason: ReasonNotObject, Message: `must have "type": "object" at its root`}
	}
	return doc, nil
}

// build compiles the decoded schema, bounds its cost, and puts our own keywords in where the library's are not good enough.
func build(doc any, o *outline, d dialect, opts Options) (*Schema, *CompileError) {
	c := jsonschema.NewCompiler()
	patterns := pattern.NewEngine()
	c.UseRegexpEngine(patterns.Compile)
	c.DefaultDraft(d.draft)
	c.UseLoader(denyLoader{})
	if opts.loader != nil {
		c.UseLoader(opts.loader)
	}
	if opts.AssertFormats {
		c.AssertFormat()
	}
	if err := c.AddResource(baseURL, doc); err != nil {
		return nil, o.explain(err)
	}
	root, err := c.Compile(baseURL)
	if err != nil {
		return nil, o.explain(err)
	}
	var dynamic []*jsonschema.Schema
	for _, path := range o.dynamicAnchors {
		sch, err := c.Compile(baseURL + "#" + escapeFragment(path))
		if err != nil {
			return nil, o.explain(err)
		}
		dynamic = append(dynamic, sch)
	}
	g, failure := newGraph(root, dynamic)
	if failure != nil {
		return nil, failure
	}
	cost, failure := newCostModel(g)
	if failure != nil {
		return nil, failure
	}
	s := &Schema{dialect: d, root: root, graph: g, cost: cost}
	s.finish(opts)
	return s, nil
}

// finish sets what is known of the whole graph.
func (s *Schema) finish(opts Options) {
	for _, n := range s.graph.nodes {
		s.defaults = s.defaults || n.sch.Default != nil
		if !opts.AssertFormats {
			n.sch.Format = nil // the library asserts formats up to draft-07
		}
		replaceKeywords(n.sch)
	}
	names := map[string]bool{}
	s.graph.root.declared(names, map[*node]bool{})
	s.declared = jsonrpc.NewDeclared(slices.Sorted(maps.Keys(names)))
	s.quick = quick.New(s.root) // of the schema as it is enforced, so after everything else
}

// Declared is the property names that the root declares, through local $ref, allOf and the like too.
func (s *Schema) Declared() *jsonrpc.Declared { return s.declared }

// Dialect is the dialect that the schema was read with: "draft-04", "draft-06", "draft-07", "2019-09" or "2020-12".
func (s *Schema) Dialect() string { return s.dialect.name }

// Validate checks one instance, which must have been accepted by jsonrpc.Check. It gives nil where the instance is valid,
// else at most violation.Most of them in a fixed order: by path, then by schema path. Nothing is coerced; 1.0 is an
// integer; numbers are compared exactly. Whatever can't be decided is a violation.
func (s *Schema) Validate(instance []byte) []violation.Violation {
	// No value is deeper than half of its bytes.
	if s.cost.readable(len(instance), len(instance)/2) && s.quick.Accepts(instance) {
		return nil
	}
	return s.validate(instance)
}

// validate is Validate without the short cut.
func (s *Schema) validate(instance []byte) (vs []violation.Violation) {
	defer func() {
		if p := recover(); p != nil {
			vs = []violation.Violation{{Keyword: KeywordLimit, Message: "makes the validator fail, so it is refused"}}
		}
	}()
	v, shape, err := decode(instance)
	if err != nil {
		if limit := new(limitError); errors.As(err, &limit) {
			return []violation.Violation{{Path: violation.Clip(limit.path, violation.MaxPathBytes), Keyword: KeywordLimit, Message: limit.text}}
		}
		return []violation.Violation{{Keyword: KeywordSyntax, Message: err.Error(), Expected: "strict JSON"}}
	}
	if !s.cost.affordable(s.graph.root, v, shape) {
		return []violation.Violation{{Keyword: KeywordLimit, Message: "is too large or too deep to check against this schema",
			Expected: "a smaller value, or one that is less deep"}}
	}
	err = s.root.Validate(v)
	if err == nil {
		return nil
	}
	var failed *jsonschema.ValidationError
	if !errors.As(err, &failed) {
		return []violation.Violation{{Keyword: KeywordLimit, Message: "can't be checked, so it is refused"}}
	}
	return violation.Of(failed, s.graph)
}

// baseURL is what the library knows the schema by. It resolves relative references and is never fetched.
const baseURL = "toolgate://schema/root"

// schemaPointer turns a URL of the library into a pointer into the schema, or leaves it a URL where it is in another document.
func schemaPointer(url string) string {
	doc, fragment, _ := strings.Cut(url, "#")
	fragment = unescapeFragment(fragment)
	if doc == baseURL {
		return fragment
	}
	return doc + "#" + fragment
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
