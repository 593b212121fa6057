// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

func TestParseToolAccepts(t *testing.T) {
	yes, no := true, false
	for name, tc := range map[string]struct {
		def  string
		want Tool
	}{
		"the least there can be": {
			def:  `{"name":"a","inputSchema":{"type":"object"}}`,
			want: Tool{Name: "a", InputSchema: []byte(`{"type":"object"}`)},
		},
		"everything": {
			def: `{"outputSchema":{"type":"array"},"name":"a\u0062","title":"T","description":"D","icons":[],"_meta":{"x":1},"vendor":1,
				"execution":{"taskSupport":"required"},"inputSchema":{ "type" : "object" },
				"annotations":{"title":"AT","readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":false,"vendor":"x"}}`,
			want: Tool{
				Name: "ab", Title: "T", Description: "D", TaskRequired: true,
				InputSchema: []byte(`{ "type" : "object" }`), OutputSchema: []byte(`{"type":"array"}`),
				Annotations: Annotations{Title: "AT", ReadOnly: &no, Destructive: &yes, Idempotent: &yes, OpenWorld: &no},
			},
		},
		"null for whatever is optional": {
			def:  `{"name":"a","inputSchema":{"type":"object"},"title":null,"description":null,"outputSchema":null,"annotations":null,"execution":null}`,
			want: Tool{Name: "a", InputSchema: []byte(`{"type":"object"}`)},
		},
		"null for each hint": {
			def:  `{"name":"a","inputSchema":{"type":"object"},"annotations":{"title":null,"readOnlyHint":null,"destructiveHint":null},"execution":{"taskSupport":null}}`,
			want: Tool{Name: "a", InputSchema: []byte(`{"type":"object"}`)},
		},
		"a name that MCP advises against": {
			def:  `{"name":"greet (with Icons)","inputSchema":{"type":"object"}}`,
			want: Tool{Name: "greet (with Icons)", InputSchema: []byte(`{"type":"object"}`)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseTool([]byte(tc.def))
			if err != nil {
				t.Fatalf("ParseTool(%s) = %v", tc.def, err)
			}
			if string(got.Definition) != tc.def || got.Digest == "" {
				t.Errorf("definition %s, digest %q", got.Definition, got.Digest)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(Tool{}, "Definition", "Digest")); diff != "" {
				t.Errorf("ParseTool(%s): -want +got\n%s", tc.def, diff)
			}
		})
	}
}

func TestParseToolRefuses(t *testing.T) {
	// with returns a definition that is right but for the given members.
	with := func(members string) string {
		return `{"name":"a","inputSchema":{"type":"object"},` + members + `}`
	}
	for name, tc := range map[string]struct {
		def      string
		wantKind error
		wantPath string
	}{
		"no object":                         {`["a"]`, ErrInvalidDefinition, ""},
		"no name":                           {`{"inputSchema":{"type":"object"}}`, ErrInvalidDefinition, "/name"},
		"an empty name":                     {`{"name":"","inputSchema":{"type":"object"}}`, ErrInvalidDefinition, "/name"},
		"a name that is no string":          {`{"name":7,"inputSchema":{"type":"object"}}`, ErrInvalidDefinition, "/name"},
		"no input schema":                   {`{"name":"a"}`, ErrNoInputSchema, "/inputSchema"},
		"no input schema and a wrong title": {`{"name":"a","title":1}`, ErrNoInputSchema, "/inputSchema"},
		"null as input schema":              {`{"name":"a","inputSchema":null}`, ErrNoInputSchema, "/inputSchema"},
		"true as input schema":              {`{"name":"a","inputSchema":true}`, ErrInvalidSchema, "/inputSchema"},
		"a root without type":               {`{"name":"a","inputSchema":{}}`, ErrInvalidSchema, "/inputSchema/type"},
		"a root of another type":            {`{"name":"a","inputSchema":{"type":"string"}}`, ErrInvalidSchema, "/inputSchema/type"},
		"a root of several types":           {`{"name":"a","inputSchema":{"type":["object"]}}`, ErrInvalidSchema, "/inputSchema/type"},
		"an output schema that is none":     {with(`"outputSchema":[]`), ErrInvalidSchema, "/outputSchema"},
		"a title of another type":           {with(`"title":1`), ErrInvalidDefinition, "/title"},
		"a description of another type":     {with(`"description":{}`), ErrInvalidDefinition, "/description"},
		"annotations of another type":       {with(`"annotations":[]`), ErrInvalidDefinition, "/annotations"},
		"a hint that is a string":           {with(`"annotations":{"readOnlyHint":"true"}`), ErrInvalidDefinition, "/annotations/readOnlyHint"},
		"a hint that is a number":           {with(`"annotations":{"destructiveHint":0}`), ErrInvalidDefinition, "/annotations/destructiveHint"},
		"an annotated title, no string":     {with(`"annotations":{"title":{}}`), ErrInvalidDefinition, "/annotations/title"},
		"execution of another type":         {with(`"execution":"required"`), ErrInvalidDefinition, "/execution"},
		"task support of another type":      {with(`"execution":{"taskSupport":true}`), ErrInvalidDefinition, "/execution/taskSupport"},
		"task support that MCP lacks":       {with(`"execution":{"taskSupport":"always"}`), ErrInvalidDefinition, "/execution/taskSupport"},
		"a case variant of a member":        {with(`"Name":"b"`), ErrInvalidDefinition, "/Name"},
		"a case variant of a hint":          {with(`"annotations":{"readonlyhint":true}`), ErrInvalidDefinition, "/annotations/readonlyhint"},
	} {
		t.Run(name, func(t *testing.T) {
			tool, err := ParseTool([]byte(tc.def))
			var member *MemberError
			if !errors.As(err, &member) || !errors.Is(err, tc.wantKind) || member.Path != tc.wantPath {
				t.Errorf("ParseTool(%s) = %v, want %v at %s", tc.def, err, tc.wantKind, tc.wantPath)
			}
			if tool.Digest == "" || string(tool.Definition) != tc.def {
				t.Errorf("ParseTool(%s) gives digest %q and definition %s beside its error", tc.def, tool.Digest, tool.Definition)
			}
		})
	}
}

func TestParseToolIsStrict(t *testing.T) {
	for _, def := range []string{`{"name":"a","name":"b"}`, `{"name":"a"`, "", `{"name":"\ud800"}`} {
		tool, err := ParseTool([]byte(def))
		var syntax *jsonrpc.SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("ParseTool(%s) = %v, want a SyntaxError", def, err)
		}
		if tool.Name != "" || tool.Digest != "" {
			t.Errorf("ParseTool(%s) gives %q with digest %q beside its error", def, tool.Name, tool.Digest)
		}
	}
}

func TestParseTools(t *testing.T) {
	for name, tc := range map[string]struct {
		result     string
		wantDefs   int
		wantCursor string
		wantErr    string
	}{
		"a page":                      {`{"tools":[{"name":"a"}, 7 ],"nextCursor":"x\u0079","ttlMs":1}`, 2, "xy", ""},
		"the last page":               {`{"tools":[]}`, 0, "", ""},
		"a null cursor":               {`{"tools":[],"nextCursor":null}`, 0, "", ""},
		"no tools":                    {`{}`, 0, "", "invalid tool definition (/tools): a tool list must have an array of tools, which may be empty"},
		"null tools":                  {`{"tools":null}`, 0, "", "invalid tool definition (/tools): a tool list must have an array of tools, which may be empty"},
		"a cursor of another type":    {`{"tools":[],"nextCursor":3}`, 0, "", "invalid tool definition (/nextCursor): must be a string"},
		"a case variant of tools":     {`{"tools":[],"Tools":[]}`, 0, "", `invalid tool definition (/Tools): the key differs only in case from "tools"`},
		"no object":                   {`[]`, 0, "", "invalid tool definition: must be an object"},
		"a duplicate key in one tool": {`{"tools":[{"a":1,"a":2}]}`, 0, "", "reading a tool list: invalid JSON at byte 17 (/tools/0/a): the key stands twice in one object; readers differ in which one they take"},
	} {
		t.Run(name, func(t *testing.T) {
			defs, cursor, err := ParseTools([]byte(tc.result))
			if len(defs) != tc.wantDefs || cursor != tc.wantCursor {
				t.Errorf("ParseTools(%s) = %d definitions, cursor %q, want %d, %q", tc.result, len(defs), cursor, tc.wantDefs, tc.wantCursor)
			}
			if got := errText(err); got != tc.wantErr {
				t.Errorf("ParseTools(%s): error %q, want %q", tc.result, got, tc.wantErr)
			}
		})
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
