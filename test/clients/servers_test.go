// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// server is a real server from npm, and one call that succeeds without a network and always has the same result.
type server struct {
	env       []string // NAME=VALUE
	program   string
	args      []string
	tool      string
	arguments string
	modern    bool // it speaks both eras; the others the legacy one
	fails     bool // the result is an error: there is nothing here that the tool could use
}

// servers gives a dozen servers by name. What three of them ask in the internet they ask a site of the test.
func servers(t *testing.T) map[string]server {
	t.Helper()
	more, extra := os.Getenv("TOOLGATE_NPM"), os.Getenv("TOOLGATE_CLIENTS")
	site, scripts, repository := website(t), lintable(t), repository(t)
	return map[string]server{
		"everything": {
			program: more + "/everything/node_modules/.bin/mcp-server-everything", args: []string{"stdio"},
			tool: "echo", arguments: `{"message":"h\u00e9 \u2028 👩\u200d👧"}`,
		},
		"filesystem": {
			program: more + "/filesystem/node_modules/.bin/mcp-server-filesystem", args: []string{scripts},
			tool: "read_text_file", arguments: fmt.Sprintf(`{"path":"%s/a.js"}`, scripts),
		},
		"memory": {
			program: more + "/memory/node_modules/.bin/mcp-server-memory",
			tool:    "search_nodes", arguments: `{"query":"nobody-has-this-name"}`,
		},
		"sequential-thinking": {
			program: more + "/sequential-thinking/node_modules/.bin/mcp-server-sequential-thinking",
			tool:    "sequentialthinking", arguments: `{"thought":"one","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}`,
		},
		"time": {
			program: more + "/time/node_modules/.bin/time-mcp",
			tool:    "days_in_month", arguments: `{"date":"2026-02-01"}`,
		},
		"eslint": {
			program: extra + "/eslint/node_modules/.bin/mcp",
			tool:    "lint-files", arguments: fmt.Sprintf(`{"filePaths":["%s/a.js"]}`, scripts),
		},
		"commands": {
			program: extra + "/commands/node_modules/.bin/mcp-server-commands",
			tool:    "run_command", arguments: `{"command":"tr a-z A-Z","stdin":"h\u00e9 \u2028 1.50\r\n"}`,
		},
		"git": {
			program: extra + "/git/node_modules/.bin/git-mcp-server",
			tool:    "git_log", arguments: fmt.Sprintf(`{"path":%q,"stat":true}`, repository),
		},
		"context7": {
			env: []string{"CONTEXT7_API_URL=" + site}, program: extra + "/context7/node_modules/.bin/context7-mcp",
			tool: "query-docs", arguments: `{"libraryId":"/toolgate/docs","query":"h\u00e9"}`, modern: true,
		},
		"notion": {
			env: []string{"BASE_URL=" + site}, program: extra + "/notion/node_modules/.bin/notion-mcp-server",
			tool: "API-get-self", arguments: `{}`,
		},
		"chart": {
			env: []string{"VIS_REQUEST_SERVER=" + site}, program: extra + "/chart/node_modules/.bin/mcp-server-chart",
			tool: "generate_bar_chart", arguments: `{"data":[{"category":"h\u00e9","value":1.5}]}`,
		},
		// It wants a browser.
		"playwright": {program: extra + "/playwright/node_modules/.bin/playwright-mcp", tool: "browser_close", arguments: `{}`, fails: true},
	}
}

func (s server) command() []string {
	command := append([]string{"/usr/bin/env"}, s.env...)
	return append(append(command, node(), s.program), s.args...)
}

// website is what servers find instead of the internet: the same answer to every request, and to a POST what was sent too.
func website(t *testing.T) string {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		// A client that has left reads nothing.
		_, _ = fmt.Fprintf(w, `{"success":true,"resultObj":"https://charts.example/%x.png","object":"user","id":"1","name":"Ad\u00e1 \u2028"}`, sent)
	}))
	t.Cleanup(site.Close)
	return site.URL
}

// lintable is a folder with a script that ESLint finds faults with.
func lintable(t *testing.T) string {
	folder := t.TempDir()
	put(t, filepath.Join(folder, "eslint.config.mjs"), `export default [{ files: ["**/*.js"], rules: { "no-var": "error" } }];`)
	put(t, filepath.Join(folder, "a.js"), "var a = 'h\u00e9\u00a0';\r\n")
	return folder
}

// repository is a Git repository of one commit, which has the same hash on every machine.
func repository(t *testing.T) string {
	folder := t.TempDir()
	put(t, filepath.Join(folder, "a.txt"), "one\n")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "a.txt"}, {"commit", "-q", "--no-gpg-sign", "-m", "First h\u00e9"}} {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", folder}, args...)...)
		cmd.Env = append(os.Environ(),
			"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_AUTHOR_DATE=2026-01-01T00:00:00Z",
			"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.org", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return folder
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
