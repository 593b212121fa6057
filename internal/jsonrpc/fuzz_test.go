// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func addSeeds(f *testing.F) {
	files, err := filepath.Glob(filepath.Join(suiteDir, "*.json"))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if len(data) < 4096 {
			f.Add(data)
		}
	}
	for _, seed := range []string{
		call(`"name":"x","arguments":{"a":[1,2,{"b":null}]},"_meta":{"progressToken":"t"}`),
		`{"jsonrpc":"2.0","id":"\u00e9","result":{"content":[]}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x","data":{}}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"m"}]`,
		`{"jsonrpc":"2.0","id":1,"method":"m","param` + "\u017f" + `":{}}`,
	} {
		f.Add([]byte(seed))
	}
}

// FuzzCheck compares with encoding/json: what Check accepts has the same value there, and what Check refuses while
// encoding/json accepts it is refused for a reason beyond the grammar.
func FuzzCheck(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		switch err := Check(data, Limits{}); {
		case err == nil:
			want, err := reference(data)
			if err != nil || !json.Valid(data) {
				t.Fatalf("Check accepted %q, encoding/json says %v", data, err)
			}
			if got := decode(data); !reflect.DeepEqual(got, want) { // cmp.Diff takes exponential time on deep nesting
				t.Fatalf("%q: got %v, encoding/json has %v", data, got, want)
			}
			if again := Check(AppendCompactLines(nil, data), Limits{}); again != nil {
				t.Fatalf("%q without line breaks: %v", data, again)
			}
		case causeOf(err) == "":
			t.Fatalf("Check(%q) = %v, want a SyntaxError with its cause", data, err)
		case json.Valid(data) && (causeOf(err) == CauseSyntax || causeOf(err) == CauseTrailing):
			t.Fatalf("Check(%q) = %v, encoding/json accepts it", data, err)
		}
	})
}

// lenient is how a reader that ignores case and lets the last of two keys win sees a message.
type lenient struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int64
		Message string
		Data    json.RawMessage
	}
}

// FuzzParse holds that a lenient reader sees what Parse sees, in the input and in what is forwarded of it.
func FuzzParse(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse(data, Limits{})
		if err != nil {
			if codeOf(err) == 0 {
				t.Fatalf("Parse(%q) = %v, want a SyntaxError or an InvalidError", data, err)
			}
			return
		}
		checkLenient(t, data, &m)
		sent := m.Append(nil)
		checkLenient(t, sent, &m)
		again, err := Parse(sent, Limits{})
		if err != nil {
			t.Fatalf("Parse(%q) = %v, of what was forwarded for %q", sent, err, data)
		}
		if again.Kind != m.Kind || !again.ID.Equal(m.ID) || again.Unknown != 0 {
			t.Fatalf("%q was forwarded as %q", data, sent)
		}
	})
}

func checkLenient(t *testing.T, data []byte, m *Message) {
	t.Helper()
	var l lenient
	if err := json.Unmarshal(data, &l); err != nil {
		t.Fatalf("Parse accepted %q, encoding/json says %v", data, err)
	}
	if m.ID.IsZero() {
		l.ID = nil // null and absent are one
	}
	if l.Method != m.Method || string(l.ID) != string(m.ID.Raw()) || string(l.Params) != string(m.Params) || string(l.Result) != string(m.Result) {
		t.Fatalf("%q: a lenient reader sees %+v, Parse saw %+v", data, l, m)
	}
	if (l.Error == nil) != (m.Error == nil) || l.Error != nil && (l.Error.Code != m.Error.Code || l.Error.Message != m.Error.Message) {
		t.Fatalf("%q: a lenient reader sees error %+v, Parse saw %+v", data, l.Error, m.Error)
	}
	var p struct {
		Name string
		Meta struct{ ProgressToken json.RawMessage } `json:"_meta"`
	}
	if m.Params == nil || json.Unmarshal(m.Params, &p) != nil {
		return // a name that is no string
	}
	if name, _ := String(m.Param("name")); p.Name != name {
		t.Fatalf("%q: a lenient reader sees name %q, Parse saw %q", data, p.Name, name)
	}
	if got := m.MetaMember("progressToken"); string(got) != string(p.Meta.ProgressToken) {
		t.Fatalf("%q: a lenient reader sees token %s, Parse saw %s", data, p.Meta.ProgressToken, got)
	}
}

// FuzzReplaceMembers holds that one edit changes one member and nothing else.
func FuzzReplaceMembers(f *testing.F) {
	f.Add([]byte(`{ "a" : 1 , "b":[2] }`), "b", []byte("3"))
	f.Add([]byte(`{}`), "\x00\"", []byte(""))
	f.Add([]byte(`{"\u0061":{"a":1}}`), "a", []byte(""))
	f.Fuzz(func(t *testing.T, obj []byte, key string, value []byte) {
		if len(value) == 0 {
			value = nil
		}
		if Check(obj, Limits{}) != nil || !IsObject(obj) || value != nil && Check(value, Limits{MaxDepth: 8}) != nil {
			return
		}
		if Check(AppendString(nil, key), Limits{}) != nil || key != string([]rune(key)) {
			return
		}
		for _, c := range key {
			if c == 0 {
				return
			}
		}
		checkReplaced(t, obj, []Edit{{Key: key, Raw: trim(value)}})
	})
}

// FuzzUnchecked holds that the accessors stay within bytes that nobody has checked.
func FuzzUnchecked(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(_ *testing.T, data []byte) {
		decodeShallow(data)
		ReplaceMembers(data, Edit{Key: "a", Raw: []byte("1")}, Edit{Key: "b"})
		_ = NewDeclared([]string{"a"}).Check(data)
	})
}

func decodeShallow(data []byte) {
	for key, raw := range Members(data) {
		Member(raw, key)
	}
	for raw := range Elements(data) {
		Member(raw, "a")
	}
	String(data)
	Int(data)
	Bool(data)
	ParseID(data)
}
