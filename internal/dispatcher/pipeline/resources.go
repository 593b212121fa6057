// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"

	"toolgate.dev/toolgate/internal/dispatcher/domainmodel"
	"toolgate.dev/toolgate/internal/dispatcher/requests"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
)

// own answers what asks for a resource of the dispatcher's scheme: no server is ever asked for one. Nil is not for us.
func (x *exchange) own() *requests.Answer {
	if x.Call.URI == "" || !domainmodel.Own(x.Call.URI) {
		return nil
	}
	if x.Call.Method == mcp.MethodReadResource {
		if result, ok := x.Model.Read(x.Call.URI); ok {
			return &requests.Answer{Result: result}
		}
		return &requests.Answer{Error: &jsonrpc.Error{Code: mcp.CodeResourceNotFound, Message: "There is no such resource; resources/list names those that there are."}}
	}
	return &requests.Answer{Error: &jsonrpc.Error{Code: mcp.CodeResourceNotFound, Message: "This resource can be read, and not subscribed to."}}
}

// listResources forwards a list and puts the dispatcher's own resources into it. Of a server without resources it asks nothing.
func (x *exchange) listResources(ctx context.Context, conn upstream.Conn) requests.Answer {
	key := "resources"
	if x.Call.Method == mcp.MethodListTemplates {
		key = "resourceTemplates"
	}
	cursor, paged := jsonrpc.Member(x.Params, "cursor")
	first := !paged || jsonrpc.IsNull(cursor)
	if _, has := jsonrpc.Member(conn.Info().Capabilities, "resources"); !has && x.Model.Offered() {
		return requests.Answer{Result: x.Model.Listed(nil, key, first), Era: x.era}
	}
	if refusal := x.recordStart(); refusal != nil {
		return requests.Answer{Refusal: refusal}
	}
	answer := x.forward(ctx, conn)
	if answer.Result != nil {
		answer.Result = x.Model.Listed(answer.Result, key, first)
	}
	return answer
}
