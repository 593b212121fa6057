// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package requests

import (
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

func TestForwardable(t *testing.T) {
	cases := map[string]struct{ params, want string }{
		"nothing of the protocol's": {`{"name": "a","_meta":{"x":1}}`, `{"name": "a","_meta":{"x":1}}`},
		"the protocol's own keys": {`{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","x": 1.0}}`,
			`{"name":"a","_meta":{"x": 1.0}}`},
		"nothing else is left": {`{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`, `{"name":"a"}`},
		"a wish for a task":    {`{"name":"a","task":{"ttl":1},"arguments":{ }}`, `{"name":"a","arguments":{ }}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m, err := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+tc.params+`}`), jsonrpc.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if got := string(Forwardable(&m)); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestTrace(t *testing.T) {
	good := "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	if got := NewTrace(good); got != (Trace{ID: "0af7651916cd43dd8448eb211c80319c", Parent: "b7ad6b7169203331", Context: good}) {
		t.Errorf("got %+v", got)
	}
	for _, bad := range []string{"", "00-0-0-01", "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"00-00000000000000000000000000000000-b7ad6b7169203331-01", strings.ToUpper(good)} {
		if got := NewTrace(bad); len(got.ID) != 32 || got.Parent != "" {
			t.Errorf("%q: got %+v, want a new trace", bad, got)
		}
	}
}

// Only a server that says false, or nothing, says that a call went well.
func TestFailed(t *testing.T) {
	for result, want := range map[string]bool{
		`{"content":[]}`:                   false,
		`{"content":[],"isError":false}`:   false,
		`{"content":[],"isError":null}`:    false,
		`{"content":[],"isError":true}`:    true,
		`{"content":[],"isError":"true"}`:  true,
		`{"content":[],"isError":"false"}`: true,
		`{"content":[],"isError":1}`:       true,
	} {
		if got := Failed([]byte(result)); got != want {
			t.Errorf("%s: %t, want %t", result, got, want)
		}
	}
}
