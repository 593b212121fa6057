// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/rest"
)

// A dispatcher that runs is asked over REST; its URL may be the one that MCP clients have.
func TestExplainByARunningDispatcher(t *testing.T) {
	t.Setenv(playServer, "1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "registry.json")
	if _, stderr, err := run(t.Context(), "registry", "init", "--out", file, "--", self); err != nil {
		t.Fatalf("registry init: %v, %s", err, stderr)
	}
	url, _ := serving(t, "--registry", file, "--stdio", "--", self)
	untilListed(t, url)
	for name, tc := range map[string]struct {
		args        []string
		wantCode    exit
		wantVerdict rest.Verdict
		wantReason  string
	}{
		"a call that reads":          {[]string{url, "say", `{"text":"x"}`}, 0, rest.VerdictAllow, ""},
		"at the dispatcher's root":   {[]string{strings.TrimSuffix(url, "mcp"), "say", `{"text":"x"}`}, 0, rest.VerdictAllow, ""},
		"by its qualified name":      {[]string{url, "my_server.say", `{"text":"x"}`}, 0, rest.VerdictAllow, ""},
		"arguments that do not fit":  {[]string{url, "say"}, errRefused, rest.VerdictDeny, "InvalidArguments"},
		"a tool that may destroy":    {[]string{url, "ask"}, errRefused, rest.VerdictDeny, "Untrusted"},
		"arguments that are no JSON": {[]string{url, "say", `{"text":`}, errRefused, rest.VerdictDeny, "NotStrictJSON"},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, err := run(t.Context(), append([]string{"explain", "--output", "json", "--url"}, tc.args...)...)
			var code exit
			if err != nil && !errors.As(err, &code) || code != tc.wantCode {
				t.Fatalf("%v, %s, want code %d", err, stderr, tc.wantCode)
			}
			var got rest.Evaluation
			if err := json.Unmarshal([]byte(stdout), &got); err != nil || got.Verdict != tc.wantVerdict || got.Reason != tc.wantReason || len(got.Stages) == 0 {
				t.Errorf("got %s (%v)", stdout, err)
			}
		})
	}
}

// untilListed waits until the dispatcher has read the server's tools.
func untilListed(t *testing.T, url string) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		response, err := http.Get(strings.TrimSuffix(url, "mcp") + "api/mcp/tools")
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil || response.StatusCode == http.StatusOK {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("the tools are not listed: %s", response.Status)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// What answers something else is no dispatcher, and is never taken for a word about a call.
func TestExplainBySomethingElse(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		answer string
		want   string
	}{
		"a page":                          {200, "<html>", "is a dispatcher there?"},
		"JSON of another shape":           {200, `{"ok":true}`, "no verdict"},
		"a verdict with a failing status": {500, `{"verdict":"allow"}`, "status 500"},
		"a REST error":                    {429, `{"error":{"message":"Slow down."}}`, "Slow down."},
		"a verdict that is not known":     {200, `{"verdict":"maybe"}`, `"maybe" is not known`},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tc.status)
				_, _ = w.Write([]byte(tc.answer)) // the test looks at what comes of it
			}))
			defer server.Close()
			_, _, err := run(t.Context(), "explain", "--url", server.URL, "say")
			var code exit
			if err == nil || errors.As(err, &code) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
