// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package domainmodel_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/dispatcher/domainmodel"
	"toolgate.dev/toolgate/internal/registry"
)

const turtle = `# of the build
@prefix ex: <http://example.org/ns#> .
@prefix : <#> .
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
@base <http://example.org/> .

<a#b> a ex:Thing ; # a comment with a "quote
  ex:name "na\"me"@en-GB, 'other', """long "" one
over lines"""^^xsd:string ;
  ex:size 1.5e3, -2, true ;
  ex:in ( 1 [ ex:p _:b0 ] <c> ) .
:x ex:v1.2 ex:y.
[] ex:p ex:%41, ex:a\,b .
`

func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		format registry.ModelFormat
		text   string
		want   string // "" for none
	}{
		"Turtle of every kind":             {registry.ModelTurtle, turtle, ""},
		"names with marks":                 {registry.ModelTurtle, "@prefix हि: <http://e/> . हि:हिन्दी a हि:भाषा ; हि:a‿b हि:𝒜 .", ""},
		"an empty string at the end":       {registry.ModelTurtle, `<a> <b> "" .`, ""},
		"a string that is not closed":      {registry.ModelTurtle, "<a> <b> \"c .\n", "line 1: a string is not closed"},
		"an IRI that is not closed":        {registry.ModelTurtle, "<a> <b> <c .\n", "line 1: an IRI is not closed"},
		"a prefix that is not declared":    {registry.ModelTurtle, "<a> <b> <c> .\n<a> foaf:name 1 .", `line 2: the prefix "foaf:" is not declared`},
		"a bracket that is not closed":     {registry.ModelTurtle, "<a> <b> [ <c> <d> .\n", `a full stop within '['`},
		"a bracket that closes nothing":    {registry.ModelTurtle, "<a> <b> ( 1 ] .", `']' closes nothing`},
		"a statement without its end":      {registry.ModelTurtle, "<a> <b> <c>", "does not end with a full stop"},
		"JSON under the name of Turtle":    {registry.ModelTurtle, `{"a": 1}`, `'{' has no meaning here`},
		"JSON":                             {registry.ModelJSON, "{\"a\": [1, 2]}\n", ""},
		"JSON with a comma too many":       {registry.ModelJSON, "{\n\"a\": [1,]}", "is not JSON: line 2"},
		"JSON with a key twice":            {registry.ModelJSON, `{"a":1,"a":2}`, "is not JSON"},
		"Markdown":                         {registry.ModelMarkdown, "# <not \"closed", ""},
		"nothing at all":                   {registry.ModelMarkdown, " \n", "is empty"},
		"bytes that are no text":           {registry.ModelMarkdown, "\xff", "not UTF-8"},
		"a format that does not exist yet": {"owl", "x", "none of turtle"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := domainmodel.Check(tc.format, tc.text); err != nil {
				got = err.Error()
			}
			if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func FuzzCheckTurtle(f *testing.F) {
	f.Add(turtle)
	f.Add(`"""`)
	f.Add("a:.")
	f.Fuzz(func(_ *testing.T, text string) { _ = domainmodel.Check(registry.ModelTurtle, text) })
}

func TestLive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.json")
	told := 0
	m := domainmodel.New(func() { told++ }, slog.New(slog.DiscardHandler))
	m.Look()
	if m.Offered() || told != 0 {
		t.Error("a model where none is asked for")
	}
	m.Use(registry.DomainModel{File: path, Format: registry.ModelJSON})
	read := func(text string) string {
		t.Helper()
		if text != "" {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		m.Look()
		m.Look()
		result, _ := m.Read(domainmodel.URI)
		return string(result)
	}
	if got := read(""); got != "" || !m.State().Missing {
		t.Errorf("before there is a file: %s, %+v", got, m.State())
	}
	first := `{"contents":[{"uri":"toolgate://domain-model","mimeType":"application/json","text":"{\"a\":1}"}]}`
	if diff := cmp.Diff(first, read(`{"a":1}`)); diff != "" {
		t.Error(diff)
	}
	if got := read(`{"a":`); got != first || !strings.Contains(m.State().Error, "not JSON") {
		t.Errorf("the last good one does not stay: %s, %+v", got, m.State())
	}
	if got := read(`{"b":2}`); !strings.Contains(got, `\"b\"`) || m.State().Error != "" {
		t.Errorf("not replaced: %s, %+v", got, m.State())
	}
	if told != 4 {
		t.Errorf("told %d times of 4 changes", told)
	}
	if _, ok := m.Read("toolgate://domain-model/x"); ok {
		t.Error("another resource was read")
	}
	m.Use(registry.DomainModel{})
	if m.Offered() {
		t.Error("it is still there after the document took it away")
	}
}

func TestListsHoldTheModelAndNobodyElseOfItsScheme(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.md")
	if err := os.WriteFile(path, []byte("# Builds"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := domainmodel.New(func() {}, slog.New(slog.DiscardHandler))
	const theirs = `{"resources":[{"uri":"file:///a"},{"uri":"ToolGate://domain-model"},{"uri":"toolgate\u003a//x"}],"nextCursor":"n"}`
	if got := string(m.Listed([]byte(theirs), "resources", true)); got != `{"resources":[{"uri":"file:///a"}],"nextCursor":"n"}` {
		t.Errorf("without a model: %s", got)
	}
	m.Use(registry.DomainModel{File: path, Format: registry.ModelMarkdown})
	m.Look()
	got := string(m.Listed([]byte(theirs), "resources", true))
	if !strings.HasPrefix(got, `{"resources":[{"uri":"toolgate://domain-model","mimeType":"text/markdown","name":"domain-model"`) ||
		!strings.HasSuffix(got, `{"uri":"file:///a"}],"nextCursor":"n"}`) {
		t.Errorf("with one: %s", got)
	}
	if got := string(m.Listed([]byte(theirs), "resources", false)); strings.Contains(got, "domain-model") {
		t.Errorf("on a later page: %s", got)
	}
	if got := string(m.Listed([]byte(`{"resourceTemplates":[{"uriTemplate":"toolgate://{x}"}]}`), "resourceTemplates", true)); got != `{"resourceTemplates":[]}` {
		t.Errorf("templates: %s", got)
	}
	for _, odd := range []string{`{ "resources": [ {"uri": "file:///a"} ] }`, `{"content":[]}`, `{"resources":7}`} {
		if got := string(m.Listed([]byte(odd), "resources", false)); got != odd {
			t.Errorf("%s became %s", odd, got)
		}
	}
	if got := string(m.Listed(nil, "resources", true)); !strings.Contains(got, "domain-model") {
		t.Errorf("of a server without resources: %s", got)
	}
}
