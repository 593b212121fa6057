// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package httpsse

import (
	"bytes"
	"context"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
)

// TestGoSDKServer speaks to the Go SDK's server of this transport, which asks and reports while it is called.
func TestGoSDKServer(t *testing.T) {
	sdk := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	mcp.AddTool(sdk, &mcp.Tool{Name: "busy"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1}); err != nil {
			return nil, nil, err
		}
		roots, err := r.Session.ListRoots(ctx, nil) //nolint:staticcheck // the revisions of this transport have roots
		if err != nil {
			return nil, nil, err
		}
		text := map[bool]string{true: "none", false: "some"}[len(roots.Roots) == 0]
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
	conn := dial(t, mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return sdk }, nil), &recorder{make(chan upstream.Event, 10)})
	if cat, err := conn.Catalogue(t.Context()); err != nil || len(cat.Tools) != 1 || cat.Tools[0].Err != nil {
		t.Fatalf("catalogue %+v, %v", cat, err)
	}
	progress := 0
	reply, err := conn.Call(t.Context(), upstream.Call{Method: "tools/call", Params: []byte(`{"name":"busy","arguments":{}}`), Progress: func([]byte) { progress++ }})
	if err != nil || !bytes.Contains(reply.Result, []byte(`"text":"none"`)) || progress != 1 {
		t.Errorf("got %s %v, %v, %d of progress", reply.Result, reply.Error, err, progress)
	}
}
