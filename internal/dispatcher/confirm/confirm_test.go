// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package confirm

import (
	"encoding/json"
	"strings"
	"testing"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

// question gives the text that a person reads, and wants the params to be JSON.
func question(t *testing.T, c Call) string {
	t.Helper()
	var params struct {
		Message         string
		RequestedSchema struct {
			Properties map[string]struct{ Type string }
		}
	}
	raw, err := Question(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &params); err != nil || params.RequestedSchema.Properties["confirm"].Type != "boolean" {
		t.Fatalf("%v: %s", err, raw)
	}
	return params.Message
}

func TestQuestion(t *testing.T) {
	cases := map[string]struct {
		call Call
		want []string
		not  []string
	}{
		"it shows what will be done": {Call{"files", "Tool", "remove", []byte(`{ "path" :  "/srv" }`), "it can destroy data"},
			[]string{"[files]", "Tool: remove", `Arguments: {"path":"/srv"}`, "it can destroy data"}, nil},
		"text cannot write lines of its own": {Call{"f", "Tool", "x\nTool: harmless", []byte(`{"a":"b\nWhy you are asked: no reason"}`), "a\r\nb"},
			[]string{`x\u{000A}Tool: harmless`, `b\nWhy`, `a\u{000D}\u{000A}b`}, []string{"\nTool: harmless", "\nWhy you are asked: no"}},
		"directions and invisible characters are shown": {Call{"f", "Tool", "a\u202eb\u200bc\ufeffd\u2028e\U000e0041", nil, ""},
			[]string{`a\u{202E}b\u{200B}c\u{FEFF}d\u{2028}e\u{E0041}`}, []string{"\u202e", "Arguments"}},
		"what is stacked on a letter is shown": {Call{"f", "Tool", "e\u0323\u0302" + "a\u0335\u0336\u0337", nil, ""}, []string{"e\u0323\u0302", `\u{0337}`}, nil},
		"white space pushes nothing out of sight": {Call{"f", "Tool", "x", []byte(`{"a":1,` + strings.Repeat(" ", 5000) + `"b":2}`), ""},
			[]string{`{"a":1,"b":2}`}, nil},
		"the longest arguments are shown to their end": {Call{"f", "Tool", "x", sized(maxArguments), ""}, []string{string(sized(maxArguments)) + "\n"}, nil},
		"a reason that is cut says so": {Call{"f", "Tool", "x", nil, strings.Repeat("z", maxReason+8)},
			[]string{"(8 bytes more, which are not shown)"}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := question(t, tc.call)
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q lacks %q", got, want)
				}
			}
			for _, not := range tc.not {
				if strings.Contains(got, not) {
					t.Errorf("%q has %q", got, not)
				}
			}
		})
	}
}

// sized are arguments of n characters whose last member is the one that matters.
func sized(n int) []byte {
	const head, tail = `{"a":"`, `","target":"/"}`
	return []byte(head + strings.Repeat("z", n-len(head)-len(tail)) + tail)
}

func TestNobodyIsAskedAboutWhatIsNotShown(t *testing.T) {
	for name, tc := range map[string]struct {
		call Call
		want string
	}{
		"arguments that are one character too long": {Call{"f", "Tool", "x", sized(maxArguments + 1), ""}, "the arguments of more than 4000 characters"},
		"arguments of megabytes":                    {Call{"f", "Tool", "x", sized(4 << 20), ""}, "the arguments"},
		"arguments that are long once they are shown": {Call{"f", "Tool", "x", []byte(`{"a":"` + strings.Repeat("\u202e", maxArguments/8) + `","b":1}`), ""},
			"the arguments"},
		"an address of a resource":   {Call{"f", "Resource", "file:///" + strings.Repeat("x/", maxName), nil, ""}, "the name of more than 1024 characters"},
		"the name of a tool":         {Call{"f", "Tool", strings.Repeat("x", maxName+1), nil, ""}, "the name"},
		"the name that a server has": {Call{strings.Repeat("x", maxName+1), "Tool", "x", nil, ""}, "the server's name"},
	} {
		if got, err := Question(tc.call); got != nil || err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: %v and a question of %d bytes, want %q", name, err, len(got), tc.want)
		}
	}
}

func TestGiven(t *testing.T) {
	for result, want := range map[string]bool{
		`{"action":"accept","content":{"confirm":true}}`:   true,
		`{"action":"accept","content":{"confirm":false}}`:  false,
		`{"action":"accept","content":{"confirm":"true"}}`: false,
		`{"action":"accept","content":{"confirm":1}}`:      false,
		`{"action":"accept","content":{"CONFIRM":true}}`:   false,
		`{"action":"accept","content":{}}`:                 false,
		`{"action":"accept"}`:                              false,
		`{"action":"Accept","content":{"confirm":true}}`:   false,
		`{"action":"decline","content":{"confirm":true}}`:  false,
		`{"action":"cancel"}`:                              false,
		`{"content":{"confirm":true}}`:                     false,
		`{}`:                                               false,
		``:                                                 false,
	} {
		if got := Given([]byte(result)); got != want {
			t.Errorf("%s: %t, want %t", result, got, want)
		}
	}
}

func FuzzQuestion(f *testing.F) {
	f.Add("tool", `{"a":"\u202e"}`, "why")
	f.Fuzz(func(t *testing.T, name, arguments, reason string) {
		if jsonrpc.Check([]byte(arguments), jsonrpc.Limits{}) != nil {
			return
		}
		q, err := Question(Call{"s", "Tool", name, []byte(arguments), reason})
		if err != nil {
			if len(name) <= maxName/8 && len(arguments) <= maxArguments/8 {
				t.Errorf("not asked: %v", err)
			}
			return
		}
		if err := jsonrpc.Check(q, jsonrpc.Limits{}); err != nil {
			t.Fatalf("%v: %s", err, q)
		}
		message, _ := jsonrpc.Member(q, "message")
		if text, _ := jsonrpc.String(message); strings.Count(text, "\n") != 3 {
			t.Errorf("another number of lines: %q", text)
		}
	})
}
