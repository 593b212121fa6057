// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/dialer"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/launcher"
	"toolgate.dev/toolgate/internal/registry"
)

// deskRevision is the name of the only revision of a registry file that was written at a desk.
const deskRevision = "desk"

// everyCapability is declared where tools are read: some servers list more of them to clients that can do more.
const everyCapability = `{"roots":{"listChanged":true},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}}}`

// registryCommand has one subcommand so far.
func registryCommand(ctx context.Context, args []string, e env) error {
	if len(args) == 0 || args[0] != "init" {
		return errors.New("the registry command is: dispatcher registry init [--out FILE] -- COMMAND, or with --url URL")
	}
	return registryInit(ctx, args[1:], e)
}

// initFlags are those of `dispatcher registry init`.
type initFlags struct {
	out, name, url, dir string
	transport           string
	timeout             time.Duration
	command             []string
}

func (f *initFlags) parse(args []string, e env) error {
	flags := flag.NewFlagSet("dispatcher registry init", flag.ContinueOnError)
	flags.StringVar(&f.out, "out", "", "`file` to write, which must not exist; standard output if left out")
	flags.StringVar(&f.name, "name", "", "the server's `name`; made from what it calls itself if left out")
	flags.StringVar(&f.url, "url", "", "`URL` of a server over HTTP, instead of a command")
	flags.StringVar(&f.transport, "transport", string(registry.TransportStreamableHTTP), "how the server at --url speaks: streamable-http, sse or websocket")
	flags.StringVar(&f.dir, "dir", "", "working `directory` of the command")
	flags.DurationVar(&f.timeout, "timeout", time.Minute, "how long the server may take to start and list its tools")
	if err := parse(flags, args, e); err != nil {
		return err
	}
	f.command = flags.Args()
	if (f.url == "") == (len(f.command) == 0) {
		return errors.New("registry init needs the server's command after --, or --url URL: one of the two")
	}
	if t := registry.TransportType(f.transport); t == registry.TransportStdio || !slices.Contains(registry.Transports(), t) {
		return fmt.Errorf("--transport %q is not one of streamable-http, sse, websocket", f.transport)
	}
	return nil
}

// registryInit writes a registry document that admits what the server lists right now, with the strictest policy.
func registryInit(ctx context.Context, args []string, e env) error {
	var f initFlags
	if err := f.parse(args, e); err != nil {
		return parsed(err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, f.timeout, fmt.Errorf("the server did not start and list its tools within %s", f.timeout))
	defer cancel()
	log, err := newLog(e.stderr, "warn")
	if err != nil {
		return err
	}
	local := launcher.Local(launcher.ServeOptions{Command: f.command, Dir: f.dir, Log: e.stderr})
	defer closeLogged(log, local)
	way, err := dialer.New(f.upstream(), localSpawner{local}, upstream.Options{}, log)
	if err != nil {
		return fmt.Errorf("--url %q: %w", f.url, err)
	}
	doc, err := f.read(ctx, way)
	if err != nil {
		return fmt.Errorf("reading the server's tools: %w", err)
	}
	return f.write(doc, e)
}

// upstream is how the server is reached.
func (f *initFlags) upstream() registry.Upstream {
	if f.url == "" {
		return registry.Upstream{Transport: registry.TransportStdio, Isolation: registry.IsolationSession}
	}
	return registry.Upstream{Transport: registry.TransportType(f.transport), URL: f.url, Remote: true}
}

// read connects to the server and makes the document of what it lists.
func (f *initFlags) read(ctx context.Context, way upstream.Dialer) (*registry.Document, error) {
	conn, err := way.Dial(ctx, upstream.Hello{Capabilities: []byte(everyCapability), Prefers: upstream.Modern}, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }() // the spawner tells of a process that does not end
	catalogue, err := conn.Catalogue(ctx)
	if err != nil {
		return nil, err
	}
	raw, _ := jsonrpc.Member(conn.Info().ServerInfo, "name")
	said, _ := jsonrpc.String(raw)
	doc := firstDocument(cmp.Or(f.name, serverName(said)))
	doc.Upstream = f.upstream()
	doc.Revisions[deskRevision] = registry.Revision{Tools: admitted(catalogue)}
	return doc, nil
}

// admitted admits every definition that can be served, and withholds the others with the reason.
func admitted(catalogue *upstream.Catalogue) []registry.Tool {
	tools := make([]registry.Tool, 0, len(catalogue.Tools))
	at := map[string]int{}
	for _, t := range catalogue.Tools {
		if i, twice := at[t.Name]; twice {
			tools[i] = registry.Tool{Name: t.Name, Withheld: registry.WithheldDuplicate, Message: "the server lists more than one tool of this name"}
			continue
		}
		if t.Name == "" {
			continue // nobody could call it
		}
		at[t.Name] = len(tools)
		tool := registry.Tool{Name: t.Name, Digest: t.Digest}
		if t.Err != nil {
			tool = registry.Tool{Name: t.Name, Withheld: registry.WithheldInvalid, Message: t.Err.Error()}
		}
		tools = append(tools, tool)
	}
	return tools
}

// firstDocument is the strictest policy with the usual numbers: destructive tools are held back until trust says otherwise.
func firstDocument(name string) *registry.Document {
	policy := registry.Usual()
	policy.Expose = registry.Expose{Tools: true, Resources: true, Prompts: true, Completions: true}
	policy.Client = registry.Client{Sampling: true, ElicitationForm: true, Roots: true}
	policy.Validation = registry.Validation{Arguments: registry.Enforce, Results: registry.Warn}
	return &registry.Document{
		Version: registry.Version, Sequence: 1,
		Server:    registry.Server{Namespace: "desk", Name: name},
		Policy:    policy,
		Revisions: map[string]registry.Revision{},
	}
}

// serverName makes a DNS label of what a server calls itself.
func serverName(said string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		default:
			return '-'
		}
	}, said[strings.LastIndex(said, "/")+1:])
	name = strings.Trim(name[:min(len(name), 63)], "-0123456789")
	return cmp.Or(name, "server")
}

// write writes the document, indented: people edit it, and its digest is over whatever bytes there are.
func (f *initFlags) write(doc *registry.Document, e env) error {
	data, _, err := doc.Encode()
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := json.Indent(&text, data, "", "  "); err != nil {
		return fmt.Errorf("indenting the document: %w", err)
	}
	if f.out == "" {
		_, err = e.stdout.Write(text.Bytes())
		return err
	}
	file, err := os.OpenFile(f.out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // no secret is in it
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s is there already: remove it, or name another file with --out", f.out)
	}
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	if _, err := io.Copy(file, &text); err != nil {
		_ = file.Close() // the first error is the one that counts
		return fmt.Errorf("writing %s: %w", f.out, err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("writing %s: %w", f.out, err)
	}
	_, err = fmt.Fprintf(e.stderr, "%s holds %d tools of %s\n", f.out, len(doc.Revisions[deskRevision].Tools), doc.Server.Name)
	return err
}
