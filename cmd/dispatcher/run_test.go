// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/registry"
)

// playServer makes this test binary an MCP server over stdio.
const playServer = "TOOLGATE_TEST_PLAY_SERVER"

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && (os.Args[1] == "launch" || os.Args[1] == "serve"):
		if err := Run(context.Background(), os.Args[1:], env{os.Stdin, os.Stdout, os.Stderr, os.Getenv}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case os.Getenv(playServer) != "":
		play()
	default:
		testscript.Main(m, map[string]func(){"dispatcher": main})
	}
}

// The commands that read files, as scripts: what they print, and their exit codes.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata", RequireExplicitExec: true, RequireUniqueNames: true})
}

// play lists one more tool to clients that can sample, as some servers do.
func play() {
	sampling := false
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		m, err := jsonrpc.Parse(lines.Bytes(), jsonrpc.Limits{})
		if err != nil || m.Kind != jsonrpc.Request {
			continue
		}
		answer := jsonrpc.AppendError(nil, m.ID, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "Method not found"})
		switch m.Method {
		case "initialize":
			_, sampling = jsonrpc.Member(m.Param("capabilities"), "sampling")
			answer = jsonrpc.AppendResponse(nil, m.ID, []byte(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"@acme/My_Server","version":"1"}}`))
		case "tools/list":
			tools := `{"name":"say","inputSchema":{"type":"object","required":["text"]},"annotations":{"readOnlyHint":true}},{"name":"odd","inputSchema":{"type":"string"}}`
			if sampling {
				tools += `,{"name":"ask","inputSchema":{"type":"object"}}`
			}
			answer = jsonrpc.AppendResponse(nil, m.ID, []byte(`{"tools":[`+tools+`]}`))
		case "tools/call":
			answer = jsonrpc.AppendResponse(nil, m.ID, []byte(`{"content":[{"type":"text","text":"said"}]}`))
		}
		fmt.Println(string(answer)) //nolint:forbidigo // this process is the server
	}
}

// run runs one command line and gives what it printed.
func run(ctx context.Context, args ...string) (stdout, stderr string, err error) {
	var out, errs bytes.Buffer
	err = Run(ctx, args, env{strings.NewReader(""), &out, &errs, func(string) string { return "" }})
	return out.String(), errs.String(), err
}

func TestWrongCommandLines(t *testing.T) {
	cases := map[string]struct {
		args []string
		want string
	}{
		"no such command":                 {[]string{"surf"}, "serve, launch, install, registry, explain, audit, version or help"},
		"serve without a registry":        {[]string{"serve"}, "dispatcher registry init"},
		"serve with a stray command":      {[]string{"serve", "--registry", "x", "--", "npx"}, "add --stdio"},
		"stdio without a command":         {[]string{"serve", "--registry", "x", "--stdio"}, "needs the server's command after --"},
		"two ways to start":               {[]string{"serve", "--registry", "x", "--stdio", "--launch-socket", "s", "--", "npx"}, "give one"},
		"a level that is none":            {[]string{"serve", "--registry", "x", "--log-level", "loud"}, "debug, info, warn, error"},
		"an address that is none":         {[]string{"serve", "--registry", "x", "--listen", "nowhere:0:0"}, "name another address"},
		"launch without a socket":         {[]string{"launch", "--", "npx"}, "--socket PATH"},
		"launch without a command":        {[]string{"launch", "--socket", "/tmp/x"}, "command after --"},
		"install to nowhere":              {[]string{"install"}, "--to PATH"},
		"registry without its subcommand": {[]string{"registry"}, "registry init"},
		"registry init of nothing":        {[]string{"registry", "init"}, "one of the two"},
		"registry init of a bad URL":      {[]string{"registry", "init", "--url", "ftp://x"}, "http or https"},
		"a server that is not there":      {[]string{"registry", "init", "--", "/no/such/command"}, "reading the server's tools"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, _, err := run(t.Context(), tc.args...)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"--help"}, {"version"}, {"serve", "--help"}, {"launch", "-h"}, {"install", "-h"}, {"registry", "init", "-h"}} {
		stdout, stderr, err := run(t.Context(), args...)
		if err != nil || stdout+stderr == "" {
			t.Errorf("%v: %v, printed %q", args, err, stdout+stderr)
		}
	}
	if _, stderr, err := run(t.Context()); err == nil || !strings.Contains(stderr, "At a desk") {
		t.Errorf("without arguments: %v, %q", err, stderr)
	}
	if _, stderr, err := run(t.Context(), "serve", "--nonsense"); err == nil || !strings.Contains(stderr, "-registry") {
		t.Errorf("with an unknown flag: %v, %q", err, stderr)
	}
}

// The path of a developer: a first registry file from the server's own catalogue, and the server behind it.
func TestAtADesk(t *testing.T) {
	t.Setenv(playServer, "1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "registry.json")
	if _, stderr, err := run(t.Context(), "registry", "init", "--out", file, "--", self); err != nil || !strings.Contains(stderr, "3 tools of my-server") {
		t.Fatalf("registry init: %v, %s", err, stderr)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := registry.Decode(data)
	if err != nil {
		t.Fatalf("the file is no registry document: %v", err)
	}
	for _, tool := range doc.Revisions[deskRevision].Tools {
		if (tool.Name == "odd") != (tool.Withheld == "InvalidSchema") {
			t.Errorf("tool %+v", tool)
		}
	}
	if _, _, err := run(t.Context(), "registry", "init", "--out", file, "--", self); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("a second time: %v", err)
	}

	url, stop := serving(t, "--registry", file, "--stdio", "--", self)
	untilAnswered(t, url, "said")
	if err := stop(); err != nil {
		t.Errorf("serve: %v", err)
	}
}

// serving runs `dispatcher serve` on ports of its own, and gives where it serves MCP.
func serving(t *testing.T, args ...string) (url string, stop func() error) {
	t.Helper()
	return servingTo(t, io.Discard, args...)
}

// servingTo is serving with somewhere for the audit records to go.
func servingTo(t *testing.T, records io.Writer, args ...string) (url string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	logs := newTail()
	done := make(chan error, 1)
	go func() {
		done <- Run(ctx, append([]string{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}, args...),
			env{nil, records, logs, func(string) string { return "" }})
	}()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { _ = stop() })
	return "http://" + logs.find(t, regexp.MustCompile(`"for":"MCP","address":"([^"]+)"`)) + "/mcp", stop
}

// untilAnswered calls the server's tool until the answer holds want.
func untilAnswered(t *testing.T, url, want string) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		answer := post(t, url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":{"text":"x"}}}`)
		if strings.Contains(answer, want) {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("still %s, want %s", answer, want)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// The path in a pod: the server's container runs the launcher, and may be restarted at any time.
func TestInAPod(t *testing.T) {
	t.Setenv(playServer, "1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, socket := filepath.Join(dir, "registry.json"), filepath.Join(dir, "launch.sock")
	if _, _, err := run(t.Context(), "registry", "init", "--out", file, "--", self); err != nil {
		t.Fatal(err)
	}
	url, stop := serving(t, "--registry", file, "--revision", deskRevision, "--probe-listen", "127.0.0.1:0", "--launch-socket", socket)
	untilAnswered(t, url, `"code":-31012`) // the container has not started yet
	for range 2 {
		container := exec.CommandContext(t.Context(), self, "launch", "--socket", socket, "--", self)
		container.Stderr = os.Stderr
		if err := container.Start(); err != nil {
			t.Fatal(err)
		}
		untilAnswered(t, url, "said")
		if err := container.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = container.Wait() // it was killed
		untilAnswered(t, url, `"code":-31012`)
	}
	if err := stop(); err != nil {
		t.Errorf("serve: %v", err)
	}
}

func post(t *testing.T, url, body string) string {
	t.Helper()
	response, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// tail is a log that can be waited on.
type tail struct {
	mu    sync.Mutex
	text  bytes.Buffer
	wrote chan struct{}
}

func newTail() *tail { return &tail{wrote: make(chan struct{}, 1)} }

func (l *tail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.wrote <- struct{}{}:
	default:
	}
	return l.text.Write(p)
}

func (l *tail) find(t *testing.T, pattern *regexp.Regexp) string {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		l.mu.Lock()
		found := pattern.FindStringSubmatch(l.text.String())
		l.mu.Unlock()
		if found != nil {
			return found[1]
		}
		select {
		case <-l.wrote:
		case <-deadline:
			t.Fatalf("%s is not in the log", pattern)
		}
	}
}

func TestServerNames(t *testing.T) {
	for said, want := range map[string]string{
		"@acme/My_Server": "my-server", "": "server", "123": "server", "mcp-servers/everything": "everything", "Ärger": "rger",
		strings.Repeat("x", 80): strings.Repeat("x", 63),
	} {
		if got := serverName(said); got != want {
			t.Errorf("%q: got %q, want %q", said, got, want)
		}
	}
}
