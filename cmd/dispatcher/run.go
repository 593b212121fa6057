// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// version is set by the linker.
var version = "dev"

// env is what a command gets from its process.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
}

// exit is an exit code that says all there is to say: what it means has been printed already.
type exit int

func (x exit) Error() string { return fmt.Sprintf("exit code %d", int(x)) }

// errShown says that the reason has been printed already.
const errShown = exit(1)

const usage = `dispatcher puts policy between MCP clients and one MCP server.

At a desk:
  dispatcher registry init --out registry.json -- npx some-server   write a registry file from what the server lists
  dispatcher serve --registry registry.json --stdio -- npx some-server
                                              serve it at http://127.0.0.1:7310/mcp
  dispatcher explain --registry FILE --tools FILE TOOL '{...}'
                                              say whether a call would be let through, and why; or with --url URL
  dispatcher audit [--format turtle|json] [FILE]
                                              write audit records as W3C PROV, or as one JSON array
  dispatcher audit verify [FILE]              say whether audit records are missing or were changed

In a pod (Toolgate's manager writes these command lines):
  dispatcher install --to PATH                copy this binary to PATH
  dispatcher launch --socket PATH --allow-uid N -- COMMAND [ARGS]
                                              start COMMAND for each connection to the socket
  dispatcher serve --registry FILE --revision REV --launch-socket PATH

  dispatcher version                          print the version
  dispatcher COMMAND --help                   list the flags of a command
`

// command is one subcommand.
type command func(ctx context.Context, args []string, e env) error

var commands = map[string]command{
	"serve":    serve,
	"launch":   launch,
	"install":  install,
	"registry": registryCommand,
	"audit":    auditCommand,
	"explain":  explainCommand,
	"version":  func(_ context.Context, _ []string, e env) error { return say(e.stdout, version) },
	"help": func(_ context.Context, _ []string, e env) error {
		return say(e.stdout, strings.TrimSuffix(usage, "\n"))
	},
}

func say(w io.Writer, text string) error {
	_, err := fmt.Fprintln(w, text)
	return err
}

// Run runs the subcommand that args name. The error says what to do instead.
func Run(ctx context.Context, args []string, e env) error {
	if len(args) == 0 {
		_, _ = io.WriteString(e.stderr, usage)
		return errShown
	}
	name := args[0]
	if name == "-h" || name == "--help" || name == "-help" {
		name = "help"
	}
	run, ok := commands[name]
	if !ok {
		return fmt.Errorf("there is no command %q: serve, launch, install, registry, explain, audit, version or help", name)
	}
	return run(ctx, args[1:], e)
}

// parse reads flags. Of what is wrong with them the flag package itself tells, on stderr.
func parse(flags *flag.FlagSet, args []string, e env) error {
	flags.SetOutput(e.stderr)
	err := flags.Parse(args)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, flag.ErrHelp):
		return errHelp
	default:
		return errShown
	}
}

// errHelp says that help was asked for and given, which is no failure.
var errHelp = errors.New("help was shown")

// parsed turns a parsing that ended in help into success.
func parsed(err error) error {
	if errors.Is(err, errHelp) {
		return nil
	}
	return err
}

// list is a flag that may be given more than once.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

// Set adds one value.
func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}
