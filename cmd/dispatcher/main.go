// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Command dispatcher is the data plane of one MCP server, and what its pod needs besides: the launcher, and the copying of
// itself into another container. docs/architecture.md says how they play together.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the process at once
	err := Run(ctx, os.Args[1:], env{os.Stdin, os.Stdout, os.Stderr, os.Getenv})
	if err == nil {
		return
	}
	code := errShown
	if !errors.As(err, &code) {
		fmt.Fprintln(os.Stderr, "dispatcher:", err)
		leave(terminationLog, "dispatcher: "+err.Error())
	}
	stop()
	os.Exit(int(code))
}

// terminationLog is where a kubelet reads why a container ended. It is there in pods alone.
const terminationLog = "/dev/termination-log"

// leave writes why the process ends to a file that is there already. Where none is, standard error has said all.
func leave(path, why string) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return
	}
	_, _ = f.WriteString(why + "\n")
	_ = f.Close()
}
