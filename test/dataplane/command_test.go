// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/test/dataplane/scripted"
)

// TestRegistryInit writes a document for a server, and serves with it as it is: what is destructive, or does not say that it
// is not, is blocked, and all else can be called.
func TestRegistryInit(t *testing.T) {
	silent := `{"name":"silent","inputSchema":{"type":"object"}}`
	c := newChild(t, scripted.LogLines, greet, remove, silent, bare, `{"name":"twice","inputSchema":{"type":"object"}}`, `{"name":"twice","inputSchema":{"type":"object","x":1}}`)
	file := filepath.Join(t.TempDir(), registry.FileName)
	args := append([]string{"registry", "init", "--out", file, "--"}, c.command()...)
	if out, log, err := runs(t, args...); err != nil || out != "" || !strings.Contains(log, "5 tools of scripted") {
		t.Fatalf("registry init: %v, stdout %q, stderr %q", err, out, log)
	}
	first := must[[]byte](t)(os.ReadFile(file))
	doc := must[*registry.Document](t)(registry.Decode(first))
	withheld := map[string]string{}
	for _, rev := range doc.Revisions {
		for _, tool := range rev.Tools {
			withheld[tool.Name] = tool.Withheld
		}
	}
	want := map[string]string{"greet": "", "remove": "", "silent": "", "bare": "InvalidSchema", "twice": "DuplicateName"}
	if diff := cmp.Diff(want, withheld); diff != "" {
		t.Errorf("withheld (-want +got):\n%s", diff)
	}
	if doc.Policy.Trust.Trusted || doc.Server.Name != "scripted" || doc.Policy.Validation.Arguments != registry.Enforce {
		t.Errorf("document %s", first)
	}

	s := serveFile(t, file, c.command()...).ready().session(latest)
	if a := s.call("greet", `{"name":"Jane"}`); !a.good() {
		t.Errorf("a tool that only reads: %s", a.body)
	}
	for tool, reason := range map[string]string{"remove": "Untrusted", "silent": "Untrusted", "bare": "InvalidSchema", "twice": "DuplicateName"} {
		if a := s.call(tool, `{}`); a.refusal().Reason != reason {
			t.Errorf("%s: want %s, got %s", tool, reason, a.body)
		}
	}

	_, log, err := runs(t, args...)
	if err == nil || !strings.Contains(log, "is there already") {
		t.Errorf("over a file that is there: %v %s", err, log)
	}
	if again := must[[]byte](t)(os.ReadFile(file)); string(again) != string(first) {
		t.Error("the file that was there has changed")
	}
	out, _, err := runs(t, append([]string{"registry", "init", "--"}, c.command()...)...)
	if err != nil || out != string(first) {
		t.Errorf("to standard output: %v %s", err, out)
	}
}

// TestCommandsSayWhatIsWrong runs commands that cannot work.
func TestCommandsSayWhatIsWrong(t *testing.T) {
	taken := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	t.Cleanup(func() { _ = taken.Close() }) // nothing was ever served there
	dead := newChild(t, scripted.ExitFirst)
	for name, tc := range map[string]struct {
		args []string
		says []string
	}{
		"nothing":                         {nil, []string{"dispatcher serve", "registry init"}},
		"an unknown command":              {[]string{"server"}, []string{`"server"`, "serve, launch, install"}},
		"serve without a registry":        {[]string{"serve"}, []string{"--registry FILE", "registry init"}},
		"serve --stdio without a command": {[]string{"serve", "--registry", "x", "--stdio"}, []string{"after --"}},
		"serve with a command alone":      {[]string{"serve", "--registry", "x", "--", "node"}, []string{`"node"`, "--stdio"}},
		"serve with an unknown flag":      {[]string{"serve", "--document", "x"}, []string{"-document", "-registry"}},
		"serve where another listens":     {[]string{"serve", "--registry", "x", "--listen", taken.Addr().String()}, []string{"--listen", "in use", "another address"}},
		"serve with an unknown level":     {[]string{"serve", "--registry", "x", "--log-level", "loud"}, []string{"loud", "debug, info, warn, error"}},
		"launch without a socket":         {[]string{"launch", "--", "node"}, []string{"--socket"}},
		"launch without a command":        {[]string{"launch", "--socket", "x"}, []string{"after --"}},
		"install without a path":          {[]string{"install"}, []string{"--to"}},
		"registry alone":                  {[]string{"registry"}, []string{"registry init"}},
		"registry init of nothing":        {[]string{"registry", "init"}, []string{"--url", "after --"}},
		"registry init of two":            {[]string{"registry", "init", "--url", "http://127.0.0.1:1/mcp", "--", "node"}, []string{"one of the two"}},
		"registry init of what is no URL": {[]string{"registry", "init", "--url", "ftp://x"}, []string{"ftp://x", "http"}},
		"registry init of no program":     {[]string{"registry", "init", "--", "/nowhere/server"}, []string{"/nowhere/server"}},
		"registry init of cat":            {[]string{"registry", "init", "--", "/bin/cat"}, []string{"not an MCP server"}},
		"registry init of a dead server":  {append([]string{"registry", "init", "--"}, dead.command()...), []string{"exited with code 3", "there is no database"}},
		"registry init of nobody":         {[]string{"registry", "init", "--url", "http://" + closedAddress(t) + "/mcp"}, []string{"reading the server's tools", "refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, log, err := runs(t, tc.args...)
			if err == nil || err.Error() != "exit status 1" || out != "" {
				t.Errorf("ended with %v, stdout %q", err, out)
			}
			for _, want := range tc.says {
				if !strings.Contains(log, want) {
					t.Errorf("said %q, which has no %q", log, want)
				}
			}
		})
	}
}

// closedAddress is one at which nobody listens.
func closedAddress(t *testing.T) string {
	t.Helper()
	l := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

func TestCommandsThatOnlySay(t *testing.T) {
	for want, args := range map[string][]string{
		"v0.0.1-test": {"version"},
		"At a desk:":  {"help"},
		"In a pod":    {"--help"},
	} {
		if out, log, err := runs(t, args...); err != nil || !strings.Contains(out, want) || log != "" {
			t.Errorf("%v: %v, stdout %q, stderr %q", args, err, out, log)
		}
	}
	if _, log, err := runs(t, "serve", "--help"); err != nil || !strings.Contains(log, "-drain-timeout") {
		t.Errorf("serve --help: %v, %q", err, log)
	}
}
