// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package features

import (
	"testing"

	"toolgate.dev/toolgate/internal/registry"
)

var everything = registry.Client{Sampling: true, SamplingTools: true, ElicitationForm: true, ElicitationURL: true, Roots: true}

func TestStrip(t *testing.T) {
	const all = `{"roots":{"listChanged":true},"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}},` +
		`"tasks":{},"extensions":{"io.modelcontextprotocol/tasks":{},"a/b":{}},"experimental":{"x":1}}`
	cases := map[string]struct {
		allowed registry.Client
		given   string
		want    string
	}{
		"tasks always go": {everything, all, `{"roots":{"listChanged":true},"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}},` +
			`"extensions":{"a/b":{}},"experimental":{"x":1}}`},
		"nothing is allowed":             {registry.Client{}, all, `{"extensions":{"a/b":{}},"experimental":{"x":1}}`},
		"tools of sampling alone go":     {registry.Client{Sampling: true}, `{"sampling":{"tools":{},"context":{}}}`, `{"sampling":{"context":{}}}`},
		"a form alone stays":             {registry.Client{ElicitationForm: true}, `{"elicitation":{"form":{},"url":{}}}`, `{"elicitation":{"form":{}}}`},
		"a URL alone stays":              {registry.Client{ElicitationURL: true}, `{"elicitation":{"form":{},"url":{}}}`, `{"elicitation":{"url":{}}}`},
		"an empty elicitation is a form": {registry.Client{ElicitationURL: true}, `{"elicitation":{}}`, `{}`},
		"no object is none":              {everything, `7`, `{}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := string(Strip([]byte(tc.given), tc.allowed)); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	const client = `{"roots":{},"sampling":{},"elicitation":{}}`
	cases := map[string]struct {
		allowed          registry.Client
		client           string
		method, params   string
		want             Verdict
		wantCapabilities string
	}{
		"a form":                                 {everything, client, "elicitation/create", `{"message":"a"}`, Allowed, ""},
		"a form by name":                         {everything, client, "elicitation/create", `{"mode":"form"}`, Allowed, ""},
		"a URL that the client does not open":    {everything, client, "elicitation/create", `{"mode":"url"}`, Missing, `{"elicitation":{"url":{}}}`},
		"a URL that policy denies":               {registry.Client{ElicitationForm: true}, `{"elicitation":{"url":{}}}`, "elicitation/create", `{"mode":"url"}`, Denied, ""},
		"a mode of another world":                {everything, `{"elicitation":{"form":{},"url":{}}}`, "elicitation/create", `{"mode":"voice"}`, Denied, ""},
		"a mode that is no string":               {everything, client, "elicitation/create", `{"mode":7}`, Denied, ""},
		"sampling":                               {everything, client, "sampling/createMessage", `{}`, Allowed, ""},
		"sampling with tools needs more":         {everything, client, "sampling/createMessage", `{"tools":[]}`, Missing, `{"sampling":{"tools":{}}}`},
		"sampling with tools that it has":        {everything, `{"sampling":{"tools":{}}}`, "sampling/createMessage", `{"tools":[]}`, Allowed, ""},
		"sampling with tools that policy denies": {registry.Client{Sampling: true}, `{"sampling":{"tools":{}}}`, "sampling/createMessage", `{"tools":[]}`, Denied, ""},
		"roots":                                  {everything, client, "roots/list", ``, Allowed, ""},
		"a client without anything":              {everything, `{}`, "roots/list", ``, Missing, `{"roots":{}}`},
		"a method that nobody knows":             {everything, client, "vendor/ask", `{}`, Denied, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, capabilities := Judge(tc.allowed, []byte(tc.client), tc.method, []byte(tc.params))
			if got != tc.want || string(capabilities) != tc.wantCapabilities {
				t.Errorf("%s %s, want %s %s", got, capabilities, tc.want, tc.wantCapabilities)
			}
			if got, _ := Judge(registry.Client{}, []byte(tc.client), tc.method, []byte(tc.params)); got != Denied {
				t.Errorf("%s without a policy that allows it", got)
			}
		})
	}
}

func TestForward(t *testing.T) {
	cases := map[string]struct{ method, params, want string }{
		"a person reads who asks":         {"elicitation/create", `{"message":"Your name?","requestedSchema":{}}`, `{"message":"[files] Your name?","requestedSchema":{}}`},
		"a model's text stays":            {"sampling/createMessage", `{"message":"x"}`, `{"message":"x"}`},
		"no task is begun at the client":  {"sampling/createMessage", `{"messages":[],"task":{"ttl":1}}`, `{"messages":[]}`},
		"what is no text cannot be named": {"elicitation/create", `{"message":7}`, `{"message":7}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := string(Forward("files", tc.method, []byte(tc.params))); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
