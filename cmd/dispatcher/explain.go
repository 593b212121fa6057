// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/explain"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/rest"
	"toolgate.dev/toolgate/internal/dispatcher/watch"
)

// The exit codes of explain beside 0, the call would be let through, and 1, it could not tell.
const (
	errRefused = exit(2)
	errConfirm = exit(3)
)

// explainFlags are those of `dispatcher explain`.
type explainFlags struct {
	registry, revision, tools, url, output string
	timeout                                time.Duration
	call                                   explain.Call
}

func (f *explainFlags) parse(args []string, e env) error {
	flags := flag.NewFlagSet("dispatcher explain", flag.ContinueOnError)
	flags.StringVar(&f.registry, "registry", "", "`path` of the registry document, a file or the directory of its files, with --tools")
	flags.StringVar(&f.tools, "tools", "", "`file` with the server's tools/list: {\"tools\": [...]}")
	flags.StringVar(&f.revision, "revision", "", "the server's `revision` in the document; may be left out where there is only one")
	flags.StringVar(&f.url, "url", "", "`URL` of a dispatcher that runs, such as http://127.0.0.1:7310, instead of the files")
	flags.StringVar(&f.output, "output", "text", "`form` of the answer: text or json")
	flags.DurationVar(&f.timeout, "timeout", 30*time.Second, "how long the dispatcher at --url may take")
	if err := parse(flags, args, e); err != nil {
		return err
	}
	words := flags.Args()
	switch {
	case len(words) == 0 || len(words) > 2:
		return errors.New("explain needs the tool's name, and its arguments as JSON, @FILE or - for standard input: dispatcher explain --url URL TOOL '{...}'")
	case (f.url == "") == (f.registry == "" && f.tools == ""):
		return errors.New("explain needs --registry FILE and --tools FILE, or --url URL: one of the two")
	case f.url == "" && (f.registry == "" || f.tools == ""):
		return errors.New("explain needs --registry FILE and --tools FILE together: what is admitted, and what the server lists")
	case f.output != "text" && f.output != "json":
		return fmt.Errorf("--output %q is not one of text, json", f.output)
	}
	f.call.Tool = words[0]
	if len(words) == 1 {
		return nil
	}
	var err error
	f.call.Arguments, err = argument(words[1], e.stdin)
	return err
}

// argument is a text of the command line, or what the file or standard input that it names holds.
func argument(text string, stdin io.Reader) ([]byte, error) {
	name, isFile := strings.CutPrefix(text, "@")
	var data []byte
	var err error
	switch {
	case text == "-":
		data, err = io.ReadAll(stdin)
	case isFile:
		data, err = os.ReadFile(name)
	default:
		data = []byte(text)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the arguments: %w", err)
	}
	return data, nil
}

// explainCommand says what would become of a call, and why.
func explainCommand(ctx context.Context, args []string, e env) error {
	var f explainFlags
	if err := f.parse(args, e); err != nil {
		return parsed(err)
	}
	evaluation, err := f.evaluate(ctx)
	if err != nil {
		return fmt.Errorf("explain: %w", err)
	}
	if f.output == "json" {
		encoder := json.NewEncoder(e.stdout)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(evaluation)
	} else {
		_, err = io.WriteString(e.stdout, explain.Text(evaluation))
	}
	if err != nil {
		return err
	}
	return verdict(evaluation)
}

func (f *explainFlags) evaluate(ctx context.Context) (rest.Evaluation, error) {
	if f.url != "" {
		ctx, cancel := context.WithTimeoutCause(ctx, f.timeout, fmt.Errorf("no answer within %s", f.timeout))
		defer cancel()
		return explain.Remote(ctx, &http.Client{}, f.url, f.call)
	}
	document, _, err := watch.Read(f.registry)
	if err != nil {
		return rest.Evaluation{}, fmt.Errorf("--registry: %w", err)
	}
	tools, err := os.ReadFile(f.tools)
	if err != nil {
		return rest.Evaluation{}, fmt.Errorf("--tools: %w", err)
	}
	return explain.Offline(document, f.revision, tools, f.call, time.Now())
}

// verdict is the exit code. A dispatcher that has not read its server's tools yet cannot tell.
func verdict(e rest.Evaluation) error {
	switch {
	case e.Kind == policy.TransportError:
		return errShown
	case e.Verdict == rest.VerdictAllow:
		return nil
	case e.Verdict == rest.VerdictDeny:
		return errRefused
	case e.Verdict == rest.VerdictConfirm:
		return errConfirm
	default:
		return fmt.Errorf("explain: the verdict %q is not known here", e.Verdict)
	}
}
