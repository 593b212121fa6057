// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"net/http"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

func TestCheckName(t *testing.T) {
	for name, tc := range map[string]struct {
		body, header string
		want         string // of the message; empty where the header is right
	}{
		"a tool":                      {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}`, "a", ""},
		"another tool":                {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}`, "b", `says "b"`},
		"no header":                   {`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"a"}}`, "", "is missing"},
		"a resource":                  {`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x:y"}}`, "x:y", ""},
		"a name in base64":            {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"é"}}`, "=?base64?w6k=?=", ""},
		"what is no base64":           {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}`, "=?base64?!?=", "says"},
		"a method that names nothing": {`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := jsonrpc.Parse([]byte(tc.body), jsonrpc.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			header := http.Header{}
			if tc.header != "" {
				header.Set("Mcp-Name", tc.header)
			}
			refusal := CheckName(header, &m)
			if (refusal == nil) != (tc.want == "") || refusal != nil && !strings.Contains(refusal.Message, tc.want) {
				t.Errorf("got %+v, want %q", refusal, tc.want)
			}
		})
	}
}

func TestCheckParams(t *testing.T) {
	const schema = `{"properties":{"region":{"x-mcp-header":"Region"},"n":{"x-mcp-header":"N"},"deep":{"properties":{"on":{"x-mcp-header":"On"}}}}}`
	for name, tc := range map[string]struct {
		arguments string
		headers   map[string]string
		wrong     string // the header that is
	}{
		"all as they are":             {`{"region":"eu","n":7,"deep":{"on":true}}`, map[string]string{"Region": "eu", "N": "7", "On": "true"}, ""},
		"a number in another form":    {`{"n":7}`, map[string]string{"N": "7.0"}, ""},
		"absent, and no header":       {`{"region":null}`, nil, ""},
		"absent, and a header":        {`{}`, map[string]string{"Region": "eu"}, "Region"},
		"another value":               {`{"region":"eu"}`, map[string]string{"Region": "us"}, "Region"},
		"another value at depth":      {`{"deep":{"on":false}}`, map[string]string{"On": "true"}, "On"},
		"a header is missing":         {`{"n":7}`, nil, "N"},
		"a number beyond safe digits": {`{"n":9007199254740993}`, map[string]string{"N": "9007199254740993"}, "N"},
		"a header that nobody asks":   {`{}`, map[string]string{"Other": "x"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			header := http.Header{}
			for k, v := range tc.headers {
				header.Set("Mcp-Param-"+k, v)
			}
			refusal := CheckParams(header, []byte(schema), []byte(tc.arguments))
			if (refusal == nil) != (tc.wrong == "") || refusal != nil && !strings.Contains(refusal.Message, "Mcp-Param-"+tc.wrong) {
				t.Errorf("got %+v, want a word about %q", refusal, tc.wrong)
			}
		})
	}
}
