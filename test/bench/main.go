// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures the dispatcher beside its server alone and beside other proxies, all in one run on one machine:
// what is compared are the ratios. docs/benchmarks.md says what is measured and how.
//
// It is also the server and the plain proxy that it measures with: it starts itself.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// The roles in which the command starts itself.
const (
	roleStdio = "serve-stdio" // an MCP server over standard input and output: serve-stdio TOOLS
	roleHTTP  = "serve-http"  // one over streamable HTTP: serve-http ADDRESS TOOLS
	roleProxy = "sdk-proxy"   // a proxy of the Go SDK's Server and Client: sdk-proxy ADDRESS URL, or sdk-proxy ADDRESS -- COMMAND
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case roleStdio:
			return serveStdio(args[1:])
		case roleHTTP:
			return serveHTTP(ctx, args[1:])
		case roleProxy:
			return serveProxy(ctx, args[1:])
		}
	}
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&o.dispatcher, "dispatcher", "", "the dispatcher's `binary` (required)")
	flags.StringVar(&o.peers, "peers", "", "`folder` of the proxies from npm; empty leaves them out")
	flags.StringVar(&o.out, "out", "", "`folder` for the result (required)")
	flags.BoolVar(&o.full, "full", false, "all combinations, and longer")
	flags.BoolVar(&o.profile, "profile", false, "profile the dispatchers under one load, and print where time and memory go")
	flags.StringVar(&o.only, "only", "", "`regexp` of targets to measure")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.dispatcher == "" || o.out == "" {
		return errors.New("--dispatcher and --out are needed; `make bench` gives both")
	}
	return measure(ctx, o)
}
