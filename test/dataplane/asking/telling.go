// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package asking

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// listening lets clients subscribe to every resource.
func listening() *mcp.ServerOptions {
	return &mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	}
}

// target is the argument of update.
type target struct {
	URI string `json:"uri"`
}

// addTelling adds tools that tell clients of updates, changes and progress.
func addTelling(s *mcp.Server, record func(string)) {
	readOnly := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(s, &mcp.Tool{Name: "update", Annotations: readOnly}, func(ctx context.Context, _ *mcp.CallToolRequest, t target) (*mcp.CallToolResult, any, error) {
		return text("updated"), nil, s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: t.URI})
	})
	mcp.AddTool(s, &mcp.Tool{Name: "slow", Annotations: readOnly}, func(ctx context.Context, r *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
		progress := &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Total: 2, Message: "waiting"}
		if err := r.Session.NotifyProgress(ctx, progress); err != nil {
			return nil, nil, err
		}
		<-ctx.Done() // it has no end of its own
		record("slow was given up")
		return nil, nil, context.Cause(ctx)
	})
	var grown atomic.Int64
	mcp.AddTool(s, &mcp.Tool{Name: "grow", Annotations: readOnly}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		name := fmt.Sprint("grown-", grown.Add(1))
		s.AddPrompt(&mcp.Prompt{Name: name}, nil)
		s.AddResource(&mcp.Resource{URI: "asking://" + name, Name: name}, nil)
		return text(name), nil, nil
	})
}
