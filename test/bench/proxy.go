// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveProxy is the proxy that one writes first with the Go SDK: a Client towards the server, and a Server towards clients
// that forwards each tool. It checks nothing.
func serveProxy(ctx context.Context, args []string) error {
	if len(args) < 2 {
		return errors.New(roleProxy + " wants an address, and a URL or a command after --")
	}
	// As many connections as there are calls at once are kept: with the default of two it would measure TCP handshakes.
	web := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: args[1], DisableStandaloneSSE: true, HTTPClient: web}
	if args[1] == "--" && len(args) > 2 {
		transport = &mcp.CommandTransport{Command: exec.CommandContext(ctx, args[2], args[3:]...)}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "proxy", Version: "1"}, nil)
	session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		return fmt.Errorf("connecting to the server: %w", err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "proxy", Version: "1"}, nil)
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return fmt.Errorf("listing tools: %w", err)
		}
		server.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return session.CallTool(ctx, &mcp.CallToolParams{Name: r.Params.Name, Arguments: r.Params.Arguments})
		})
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{JSONResponse: true})
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	return listenAndServe(ctx, args[0], mux)
}
