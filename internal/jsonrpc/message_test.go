// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestParseAccepts(t *testing.T) {
	for name, tc := range map[string]struct {
		input string
		want  Message
	}{
		"a request": {
			input: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`,
			want:  Message{Kind: Request, ID: rawID("1"), Method: "tools/call", Params: []byte(`{"name":"x"}`)},
		},
		"a request without params, in another order, with white space": {
			input: " {\n\t\"method\" : \"p\\u0069ng\", \"id\" : \"a\\/b\" , \"jsonrpc\" : \"2\\u002e0\" } ",
			want:  Message{Kind: Request, ID: rawID(`"a\/b"`), Method: "ping"},
		},
		"a notification": {
			input: `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			want:  Message{Kind: Notification, Method: "notifications/initialized"},
		},
		"a response": {
			input: `{"jsonrpc":"2.0","id":"x","result":{ }}`,
			want:  Message{Kind: Response, ID: rawID(`"x"`), Result: []byte(`{ }`)},
		},
		"an error": {
			input: `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"n\u00f6","data":[1e999]}}`,
			want:  Message{Kind: Response, ID: rawID("7"), Error: &Error{Code: -32601, Message: "nö", Data: []byte("[1e999]")}},
		},
		"an error with code 0 and no data": {
			input: `{"jsonrpc":"2.0","id":7,"error":{"code":0,"message":""}}`,
			want:  Message{Kind: Response, ID: rawID("7"), Error: &Error{}},
		},
		"an error without id": {
			input: `{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}`,
			want:  Message{Kind: Response, Error: &Error{Code: 1, Message: "m"}},
		},
		"an error with the id null": {
			input: `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`,
			want:  Message{Kind: Response, Error: &Error{Code: 1, Message: "m"}},
		},
		"the id 0": {
			input: `{"jsonrpc":"2.0","id":0,"method":"ping"}`,
			want:  Message{Kind: Request, ID: rawID("0"), Method: "ping"},
		},
		"the empty string as id": {
			input: `{"jsonrpc":"2.0","id":"","method":"ping"}`,
			want:  Message{Kind: Request, ID: rawID(`""`), Method: "ping"},
		},
		"an id beyond 2^53": {
			input: `{"jsonrpc":"2.0","id":-9007199254740993,"method":"ping"}`,
			want:  Message{Kind: Request, ID: rawID("-9007199254740993"), Method: "ping"},
		},
		"unknown members of the envelope": {
			input: `{"jsonrpc":"2.0","id":1,"method":"ping","vendor":{"Method":"x"},"x":1}`,
			want:  Message{Kind: Request, ID: rawID("1"), Method: "ping", Unknown: 2},
		},
		"vendor members of params": {
			input: `{"jsonrpc":"2.0","method":"v/x","params":{"vendor":1e400,"_meta":{"com.example/Name":1}}}`,
			want:  Message{Kind: Notification, Method: "v/x", Params: []byte(`{"vendor":1e400,"_meta":{"com.example/Name":1}}`)},
		},
		"case variants below arguments": {
			input: `{"jsonrpc":"2.0","method":"m","params":{"arguments":{"Name":1,"_Meta":2,"METHOD":3}}}`,
			want:  Message{Kind: Notification, Method: "m", Params: []byte(`{"arguments":{"Name":1,"_Meta":2,"METHOD":3}}`)},
		},
		"case variants in a result": {
			input: `{"jsonrpc":"2.0","id":1,"result":{"Content":[],"content":[],"Method":1}}`,
			want:  Message{Kind: Response, ID: rawID("1"), Result: []byte(`{"Content":[],"content":[],"Method":1}`)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse([]byte(tc.input), Limits{})
			if err != nil {
				t.Fatalf("Parse(%s) = %v, want nil", tc.input, err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(ID{}), cmpopts.IgnoreUnexported(Message{})); diff != "" {
				t.Errorf("Parse(%s): -want +got\n%s", tc.input, diff)
			}
		})
	}
}

func rawID(raw string) ID { return ID{raw: []byte(raw)} }

// call wraps the members of params in a request.
func call(paramMembers string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + paramMembers + `}}`
}

// TestParseRefuses holds the inputs of corpus/dataplane.md that a parser must refuse, by row, and the rest of their kinds.
func TestParseRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		input    string
		wantCode int64
		wantPath string
	}{
		"G-01 a case variant after the key":        {call(`"name":"ok","Name":"secret"`), CodeInvalidRequest, "/params/Name"},
		"G-01 a case variant before the key":       {call(`"Name":"secret","name":"ok"`), CodeInvalidRequest, "/params/Name"},
		"G-01 Method":                              {`{"jsonrpc":"2.0","id":1,"method":"a","Method":"b"}`, CodeInvalidRequest, "/Method"},
		"G-01 PARAMS":                              {`{"jsonrpc":"2.0","id":1,"method":"a","PARAMS":{}}`, CodeInvalidRequest, "/PARAMS"},
		"G-01 params with U+017F":                  {`{"jsonrpc":"2.0","id":1,"method":"a","paramſ":{}}`, CodeInvalidRequest, "/paramſ"},
		"G-01 params with U+017F as an escape":     {`{"jsonrpc":"2.0","id":1,"method":"a","param\u017f":{}}`, CodeInvalidRequest, "/paramſ"},
		"G-01 task with U+212A":                    {call(`"name":"x","tas\u212a":{}`), CodeInvalidRequest, "/params/tas\u212a"},
		"G-01 a variant spelt with escapes":        {call(`"name":"ok","N\u0061me":"secret"`), CodeInvalidRequest, "/params/Name"},
		"G-01 id with U+0130":                      {`{"jsonrpc":"2.0","id":1,"method":"a","\u0130d":2}`, CodeInvalidRequest, "/İd"},
		"G-03 the same name twice":                 {call(`"name":"nope","name":"greet"`), CodeParseError, "/params/name"},
		"G-04 the envelope in another case":        {`{"Jsonrpc":"2.0","ID":1,"method":"a"}`, CodeInvalidRequest, "/Jsonrpc"},
		"G-05 arguments and Arguments":             {call(`"name":"x","arguments":{},"Arguments":{}`), CodeInvalidRequest, "/params/Arguments"},
		"G-05 _meta and _Meta":                     {call(`"name":"x","_meta":{},"_Meta":{}`), CodeInvalidRequest, "/params/_Meta"},
		"G-05 ProgressToken in _meta":              {call(`"_meta":{"ProgressToken":1}`), CodeInvalidRequest, "/params/_meta/ProgressToken"},
		"G-05 a variant of the protocol's prefix":  {call(`"_meta":{"IO.modelcontextprotocol/x":1}`), CodeInvalidRequest, "/params/_meta/IO.modelcontextprotocol~1x"},
		"G-05 a variant of a prefixed key":         {call(`"_meta":{"io.modelcontextprotocol/protocolversion":1}`), CodeInvalidRequest, "/params/_meta/io.modelcontextprotocol~1protocolversion"},
		"G-06 a duplicate inside arguments":        {call(`"name":"x","arguments":{"path":"/a","path":"/b"}`), CodeParseError, "/params/arguments/path"},
		"G-06 a duplicate deep inside arguments":   {call(`"name":"x","arguments":{"a":[{"b":{"c":1,"\u0063":2}}]}`), CodeParseError, "/params/arguments/a/0/b/c"},
		"G-07 NaN":                                 {call(`"arguments":{"x":NaN}`), CodeParseError, "/params/arguments/x"},
		"G-07 Infinity":                            {call(`"arguments":{"x":Infinity}`), CodeParseError, "/params/arguments/x"},
		"G-08 a batch of a call":                   {`[` + call(`"name":"x"`) + `]`, CodeInvalidRequest, ""},
		"G-08 an empty batch":                      {`[]`, CodeInvalidRequest, ""},
		"G-08 white space before a batch":          {" \r\n\t[" + call(``) + "]", CodeInvalidRequest, ""},
		"G-08 a byte order mark before a batch":    {"\ufeff[" + call(``) + "]", CodeParseError, ""},
		"G-08 a byte order mark before a message":  {"\ufeff" + call(``), CodeParseError, ""},
		"G-09 a batch of one":                      {`[{"jsonrpc":"2.0","id":1,"method":"tools/call"}]`, CodeInvalidRequest, ""},
		"G-10 a batch of notification and call":    {`[{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":1,"method":"m"}]`, CodeInvalidRequest, ""},
		"G-11 a batch of responses":                {`[{"jsonrpc":"2.0","id":1,"result":{}}]`, CodeInvalidRequest, ""},
		"G-11 a mixed batch":                       {`[1,{"jsonrpc":"2.0","id":1,"result":{}},null]`, CodeInvalidRequest, ""},
		"G-12 a batch of many":                     {`[` + strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"m"},`, 99) + `0]`, CodeInvalidRequest, ""},
		"G-19 the id null":                         {`{"jsonrpc":"2.0","id":null,"method":"m"}`, CodeInvalidRequest, "/id"},
		"G-19 the id 1.0":                          {`{"jsonrpc":"2.0","id":1.0,"method":"m"}`, CodeInvalidRequest, "/id"},
		"G-19 the id 1e0":                          {`{"jsonrpc":"2.0","id":1e0,"method":"m"}`, CodeInvalidRequest, "/id"},
		"G-19 an id of another type":               {`{"jsonrpc":"2.0","id":[1],"method":"m"}`, CodeInvalidRequest, "/id"},
		"G-19 a result with the id null":           {`{"jsonrpc":"2.0","id":null,"result":{}}`, CodeInvalidRequest, "/id"},
		"G-19 a result without id":                 {`{"jsonrpc":"2.0","result":{}}`, CodeInvalidRequest, "/id"},
		"NUL in a key of params":                   {call(`"name\u0000x":1`), CodeParseError, "/params"},
		"a scalar":                                 {`"tools/call"`, CodeInvalidRequest, ""},
		"an empty object":                          {`{}`, CodeInvalidRequest, "/jsonrpc"},
		"no version":                               {`{"id":1,"method":"m"}`, CodeInvalidRequest, "/jsonrpc"},
		"another version":                          {`{"jsonrpc":"1.0","id":1,"method":"m"}`, CodeInvalidRequest, "/jsonrpc"},
		"the version as a number":                  {`{"jsonrpc":2.0,"id":1,"method":"m"}`, CodeInvalidRequest, "/jsonrpc"},
		"neither method nor result nor error":      {`{"jsonrpc":"2.0","id":1}`, CodeInvalidRequest, ""},
		"a method that is no string":               {`{"jsonrpc":"2.0","id":1,"method":["m"]}`, CodeInvalidRequest, "/method"},
		"params that are null":                     {`{"jsonrpc":"2.0","id":1,"method":"m","params":null}`, CodeInvalidRequest, "/params"},
		"params by position":                       {`{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}`, CodeInvalidRequest, "/params"},
		"_meta that is no object":                  {call(`"_meta":null`), CodeInvalidRequest, "/params/_meta"},
		"method and result":                        {`{"jsonrpc":"2.0","id":1,"method":"m","result":{}}`, CodeInvalidRequest, ""},
		"method and error":                         {`{"jsonrpc":"2.0","id":1,"method":"m","error":{"code":1,"message":""}}`, CodeInvalidRequest, ""},
		"result and error":                         {`{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`, CodeInvalidRequest, ""},
		"result and params":                        {`{"jsonrpc":"2.0","id":1,"result":{},"params":{}}`, CodeInvalidRequest, "/params"},
		"a result that is no object":               {`{"jsonrpc":"2.0","id":1,"result":null}`, CodeInvalidRequest, "/result"},
		"an error that is no object":               {`{"jsonrpc":"2.0","id":1,"error":"x"}`, CodeInvalidRequest, "/error"},
		"an error without code":                    {`{"jsonrpc":"2.0","id":1,"error":{"message":"m"}}`, CodeInvalidRequest, "/error/code"},
		"an error with a fractional code":          {`{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"m"}}`, CodeInvalidRequest, "/error/code"},
		"an error with a code beyond int64":        {`{"jsonrpc":"2.0","id":1,"error":{"code":9223372036854775808,"message":"m"}}`, CodeInvalidRequest, "/error/code"},
		"an error without message":                 {`{"jsonrpc":"2.0","id":1,"error":{"code":1}}`, CodeInvalidRequest, "/error/message"},
		"an error with a case variant of its code": {`{"jsonrpc":"2.0","id":1,"error":{"code":1,"Code":2,"message":"m"}}`, CodeInvalidRequest, "/error/Code"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Parse([]byte(tc.input), Limits{})
			if err == nil {
				t.Fatalf("Parse(%s) accepted a %s", tc.input, m.Kind)
			}
			if got := codeOf(err); got != tc.wantCode {
				t.Errorf("Code of %v = %d, want %d", err, got, tc.wantCode)
			}
			if got := pathOf(err); got != tc.wantPath {
				t.Errorf("path of %v = %q, want %q", err, got, tc.wantPath)
			}
		})
	}
}

func pathOf(err error) string {
	var (
		syntax  *SyntaxError
		invalid *InvalidError
	)
	switch {
	case errors.As(err, &syntax):
		return syntax.Path
	case errors.As(err, &invalid):
		return invalid.Path
	}
	return "?"
}

func TestInvalidErrorCarriesTheID(t *testing.T) {
	for input, want := range map[string]string{
		`{"id":7}`:                                          "7",
		`{"jsonrpc":"2.0","id":"a","method":1}`:             `"a"`,
		`{"jsonrpc":"2.0","id":"a","method":"m","Id":2}`:    `"a"`,
		`{"jsonrpc":"2.0","id":3,"result":[]}`:              "3",
		`{"jsonrpc":"2.0","id":1.5,"method":"m"}`:           "null",
		`{"jsonrpc":"2.0","ID":1,"method":"m"}`:             "null",
		`[{"jsonrpc":"2.0","id":1,"method":"tools/call"}]`:  "null",
		`{"jsonrpc":"2.0","id":1,"error":{"code":"x"}}`:     "1",
		`{"jsonrpc":"2.0","id":null,"method":"tools/call"}`: "null",
	} {
		_, err := Parse([]byte(input), Limits{})
		var invalid *InvalidError
		if !errors.As(err, &invalid) {
			t.Fatalf("Parse(%s) = %v, want an InvalidError", input, err)
		}
		if got := invalid.ID.String(); got != want {
			t.Errorf("Parse(%s): id %s, want %s", input, got, want)
		}
	}
}

func TestParamAndMetaMember(t *testing.T) {
	input := call(`"n\u0061me":"x","arguments": { "a" : 1 } ,"_meta":{"progressToken":"t","traceparent":null}`)
	parsed, err := Parse([]byte(input), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	built := Message{Kind: Request, Params: parsed.Params}
	for name, m := range map[string]*Message{"parsed": &parsed, "built by hand": &built} {
		for key, want := range map[string]string{"name": `"x"`, "arguments": `{ "a" : 1 }`, "missing": ""} {
			if got := string(m.Param(key)); got != want {
				t.Errorf("%s: Param(%q) = %q, want %q", name, key, got, want)
			}
		}
		for key, want := range map[string]string{"progressToken": `"t"`, "traceparent": "null", "name": ""} {
			if got := string(m.MetaMember(key)); got != want {
				t.Errorf("%s: MetaMember(%q) = %q, want %q", name, key, got, want)
			}
		}
	}
}

func TestIDEquality(t *testing.T) {
	for name, tc := range map[string]struct {
		a, b ID
		want bool
	}{
		"one integer":                      {rawID("5"), rawID("5"), true},
		"two integers that share a double": {rawID("9007199254740993"), rawID("9007199254740992"), false},
		"zero and minus zero":              {rawID("0"), rawID("-0"), true},
		"a string and an integer":          {rawID(`"1"`), rawID("1"), false},
		"two spellings of a string":        {rawID(`"a/\u00e9"`), rawID(`"\u0061\/é"`), true},
		"strings that differ in case":      {IDFromString("a"), IDFromString("A"), false},
		"no id and the empty string":       {ID{}, IDFromString(""), false},
		"no id twice":                      {ID{}, ID{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.a.Equal(tc.b); got != tc.want {
				t.Errorf("%s.Equal(%s) = %t, want %t", tc.a, tc.b, got, tc.want)
			}
			if got := tc.a.Key() == tc.b.Key(); got != tc.want {
				t.Errorf("keys %q and %q equal: %t, want %t", tc.a.Key(), tc.b.Key(), got, tc.want)
			}
		})
	}
}

func TestAppend(t *testing.T) {
	id := IDFromString("a\"\n\u2028</")
	for name, tc := range map[string]struct {
		got, want string
	}{
		"a request":              {string(AppendRequest(nil, rawID("-1"), "m", []byte(`{ "a":1e400 }`))), `{"jsonrpc":"2.0","id":-1,"method":"m","params":{ "a":1e400 }}`},
		"a request, no params":   {string(AppendRequest(nil, id, `m"`, nil)), `{"jsonrpc":"2.0","id":"a\"\n` + "\u2028" + `</","method":"m\""}`},
		"a notification":         {string(AppendNotification([]byte("x"), "m", []byte(`{}`))), `x{"jsonrpc":"2.0","method":"m","params":{}}`},
		"a response":             {string(AppendResponse(nil, rawID("1"), []byte(`{}`))), `{"jsonrpc":"2.0","id":1,"result":{}}`},
		"an error with no id":    {string(AppendError(nil, ID{}, &Error{Code: -1, Message: "\x01<&>\xff"})), `{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"\u0001<&>` + "\ufffd" + `"}}`},
		"an error with its data": {string(AppendError(nil, rawID("1"), &Error{Data: []byte("[]")})), `{"jsonrpc":"2.0","id":1,"error":{"code":0,"message":"","data":[]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.got != tc.want {
				t.Errorf("got  %s\nwant %s", tc.got, tc.want)
			}
		})
	}
}

// codeOf returns the code with which an error of Parse is answered, 0 for any other error.
func codeOf(err error) int64 {
	var (
		syntax  *SyntaxError
		invalid *InvalidError
	)
	switch {
	case errors.As(err, &syntax):
		return CodeParseError
	case errors.As(err, &invalid):
		return CodeInvalidRequest
	default:
		return 0
	}
}
