// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package input

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	many := strings.Builder{}
	for i := range maxQuestions + 1 {
		fmt.Fprintf(&many, `"q%d":{"method":"roots/list"},`, i)
	}
	state := "s"
	cases := map[string]struct {
		result  string
		want    Round
		wantErr string
	}{
		"questions and a state": {`{"inputRequests":{"name":{"method":"elicitation/create","params":{"message":"x"}}},"requestState":"s"}`,
			Round{[]Question{{"name", "elicitation/create", []byte(`{"message":"x"}`)}}, &state}, ""},
		"a state alone":           {`{"requestState":"s"}`, Round{State: &state}, ""},
		"no questions at all":     {`{"inputRequests":{}}`, Round{}, ""},
		"neither":                 {`{}`, Round{}, "neither"},
		"a list":                  {`{"inputRequests":[]}`, Round{}, "no object"},
		"a question of our own":   {`{"inputRequests":{"toolgate.dev/confirmation":{"method":"roots/list"}}}`, Round{}, "not the server's"},
		"one of our own, escaped": {`{"inputRequests":{"t\u006folgate.dev\/confirmation":{"method":"roots/list"}}}`, Round{}, "not the server's"},
		"two under one key":       {`{"inputRequests":{"a":{"method":"roots/list"},"\u0061":{"method":"elicitation/create"}}}`, Round{}, "under one key"},
		"a question without form": {`{"inputRequests":{"a":7}}`, Round{}, "no object"},
		"params that are a list":  {`{"inputRequests":{"a":{"method":"roots/list","params":[]}}}`, Round{}, "params"},
		"a state that is no text": {`{"requestState":7}`, Round{}, "no string"},
		"a state without measure": {`{"requestState":"` + strings.Repeat("a", maxState) + `"}`, Round{}, "bytes"},
		"too many questions":      {`{"inputRequests":{` + strings.TrimSuffix(many.String(), ",") + `}}`, Round{}, "more than"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Read([]byte(tc.result))
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("got %v, want %q", err, tc.wantErr)
				}
				return
			}
			if err != nil || cmp.Diff(tc.want, got) != "" {
				t.Errorf("%v %s", err, cmp.Diff(tc.want, got))
			}
		})
	}
}

func TestReadAnswers(t *testing.T) {
	answers, err := ReadAnswers([]byte(`{"a":{"action":"accept"},"b":{}}`))
	if err != nil || string(answers["a"]) != `{"action":"accept"}` || len(answers) != 2 {
		t.Errorf("%v %v", answers, err)
	}
	for _, wrong := range []string{`null`, `[]`, `{"a":7}`, `{"a":null}`} {
		if _, err := ReadAnswers([]byte(wrong)); err == nil {
			t.Errorf("%s was taken", wrong)
		}
	}
}

func TestWriting(t *testing.T) {
	got := string(Result([]byte(`{"_meta":{"x":1},"requestState":"theirs","inputRequests":{}}`), []Question{{"a", "roots/list", nil}, {"b", "x", []byte(`{}`)}}, "ours"))
	want := `{"_meta":{"x":1},"requestState":"ours","inputRequests":{"a":{"method":"roots/list"},"b":{"method":"x","params":{}}},"resultType":"input_required"}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	state := "s"
	if got := string(Continue([]byte(`{"name":"x"}`), Answers{"b": []byte(`{}`), "a": []byte(`{"n":1}`)}, &state)); got !=
		`{"name":"x","inputResponses":{"a":{"n":1},"b":{}},"requestState":"s"}` {
		t.Errorf("got %s", got)
	}
	if got := string(Continue([]byte(`{ "name":"x"}`), nil, nil)); got != `{ "name":"x"}` {
		t.Errorf("bytes were changed for nothing: %s", got)
	}
}
