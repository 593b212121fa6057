// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"

	"toolgate.dev/toolgate/internal/launcher"
)

// launch starts the command after -- for each connection to a socket.
func launch(ctx context.Context, args []string, e env) error {
	flags := flag.NewFlagSet("dispatcher launch", flag.ContinueOnError)
	socket := flags.String("socket", "", "`path` of the socket to make (required)")
	uid := flags.Int("allow-uid", -1, "the only user `id` that may connect; -1 for this process's own")
	if err := parse(flags, args, e); err != nil {
		return parsed(err)
	}
	switch {
	case *socket == "":
		return errors.New("launch needs --socket PATH")
	case flags.NArg() == 0:
		return errors.New("launch needs the server's command after --, such as: dispatcher launch --socket PATH -- node server.js")
	}
	// SIGTERM is the launcher's own to handle: it ends when its connections have. An interrupt, at a desk, ends it at once.
	return launcher.Serve(ctx, launcher.ServeOptions{
		Socket: *socket, Command: flags.Args(), AllowUID: *uid, Log: e.stderr,
	})
}

// install copies this binary to where another container finds it.
func install(_ context.Context, args []string, e env) error {
	flags := flag.NewFlagSet("dispatcher install", flag.ContinueOnError)
	to := flags.String("to", "", "`path` to copy this binary to: a file, or a directory that exists (required)")
	if err := parse(flags, args, e); err != nil {
		return parsed(err)
	}
	if *to == "" {
		return errors.New("install needs --to PATH")
	}
	return launcher.Install(*to)
}
