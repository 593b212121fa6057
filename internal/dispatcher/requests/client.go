// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package requests

import (
	"context"
	"fmt"

	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
)

// Client is what the client of a request can be asked while that is under way, and how. The zero value can be asked nothing.
type Client struct {
	// Capabilities are the client's, a JSON object that is stripped of what policy denies; nil for none.
	Capabilities []byte
	// Info is the raw clientInfo, nil if absent.
	Info []byte
	// Form says that the client can put a form before its person, whatever policy lets servers ask.
	Form bool
	// Asker asks at once (up to revision 2025-11-25); nil where the client's revision has no such thing.
	Asker Asker
	// Rounds says that the client takes a result that asks for input, and continues in another request (2026-07-28). State
	// and Responses are the raw requestState and inputResponses of one that continues another, nil if absent.
	Rounds           bool
	State, Responses []byte
	// Dial gives a connection for this request alone, on which the server hears of the client's capabilities and asks
	// handler. Nil where Source is all that there is.
	Dial func(ctx context.Context, hello upstream.Hello, handler upstream.Handler) (upstream.Conn, func(), error)
}

// Asker asks a client something while its request is under way. ctx bounds how long the client may take.
type Asker interface {
	Ask(ctx context.Context, method string, params []byte) upstream.Reply
}

// Introduced gives the params with what the client is and can, for a server that hears of that in each request.
func (c *Client) Introduced(params []byte) []byte {
	if c.Capabilities == nil {
		return params
	}
	meta, _ := jsonrpc.Member(params, "_meta")
	edits := []jsonrpc.Edit{{Key: mcp.MetaCapabilities, Raw: c.Capabilities}}
	if jsonrpc.IsObject(c.Info) {
		edits = append(edits, jsonrpc.Edit{Key: mcp.MetaClientInfo, Raw: c.Info})
	}
	return jsonrpc.ReplaceMembers(params, jsonrpc.Edit{Key: "_meta", Raw: jsonrpc.ReplaceMembers(meta, edits...)})
}

// NotAskable is the refusal that a server gets whose question does not reach the client.
func NotAskable(method string) *policy.Refusal {
	return &policy.Refusal{Kind: policy.MethodNotFound, Stage: policy.StageMethod, Reason: "ClientFeatureDenied",
		Message: fmt.Sprintf("%s is not available: the client cannot do it, or policy does not let this server ask.", method)}
}
