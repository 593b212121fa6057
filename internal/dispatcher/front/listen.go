// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"net/http"
	"slices"

	"toolgate.dev/toolgate/internal/dispatcher/pipeline"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/requests"
	"toolgate.dev/toolgate/internal/dispatcher/subscription"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
)

// listen opens a subscription (MCP 2026-07-28, Subscriptions): an answer that goes on until the client closes it. It counts
// as one of its caller's sessions, and never as a call in flight, so that no drain waits for it.
func (h *Handler) listen(in *incoming) {
	wanted, refusal := subscription.ParseFilter(in.Param("notifications"))
	if refusal != nil {
		h.refuse(in, refusal)
		return
	}
	if !in.reply.Streams() {
		h.refuseAs(in, http.StatusNotAcceptable, &policy.Refusal{Kind: policy.InvalidRequest, Stage: policy.StageParse, Reason: "NotAcceptable",
			Message: "subscriptions/listen is answered with an event stream. Accept text/event-stream."})
		return
	}
	if h.Pipeline.Document() == nil || h.sessions.Closed() {
		h.refuse(in, h.sessions.Unready())
		return
	}
	leave, refusal := h.Pipeline.BeginSession(in.address)
	if refusal != nil {
		h.refuse(in, refusal)
		return
	}
	defer leave()
	info, _ := h.Info()
	agreed := wanted.Within(h.serverCapabilities(info.Capabilities))
	ctx, cancel := givenUpWith(in.ctx)
	defer cancel()
	l := h.listeners.Add(in.ID, agreed, in.reply.EventOnce)
	defer l.End()
	uris, gone, release, refusal := h.subscribe(ctx, in, l, agreed.URIs)
	if refusal != nil {
		h.refuse(in, refusal)
		return
	}
	defer release()
	l.Acknowledge(uris)
	select {
	case <-ctx.Done():
		in.reply.Withhold()
	case <-l.Ended():
		h.sendResult(in, l.Result())
	case <-gone: // and with it the subscriptions: the client asks anew
		h.sendResult(in, l.Result())
	}
}

// subscribe subscribes to resources on a connection that is held for the time of the subscription, and gives those that
// policy and the server let the client have, with what says that the connection has ended.
func (h *Handler) subscribe(ctx context.Context, in *incoming, l *subscription.Listener, uris []string) (had []string, gone <-chan struct{}, release func(), refusal *policy.Refusal) {
	if len(uris) == 0 {
		return nil, nil, func() {}, nil
	}
	info := slices.Clone(in.MetaMember(mcp.MetaClientInfo))
	conn, release, err := h.Connections.Session(ctx, upstream.Hello{ProtocolVersion: mcp.LatestLegacy, Capabilities: emptyObject, ClientInfo: info}, l)
	if err != nil {
		return nil, nil, nil, pipeline.TransportRefusal(err, "")
	}
	claimed, label := requests.ClaimedClient(info)
	for _, uri := range uris {
		answer := h.Pipeline.Do(ctx, &requests.Request{
			Call:   policy.Call{Method: mcp.MethodSubscribe, URI: uri, ProtocolVersion: mcp.Modern, Client: claimed},
			Params: append(jsonrpc.AppendString([]byte(`{"uri":`), uri), '}'),
			Caller: requests.Caller{Address: in.address, Client: label}, Trace: requests.NewTrace(""), Source: held{conn},
		})
		if answer.Result != nil {
			had = append(had, uri)
		}
		if r := answer.Refusal; r != nil && (r.Kind == policy.TransportError || r.Kind == policy.TimeoutError) {
			release()
			return nil, nil, nil, r
		}
	}
	return had, conn.Done(), release, nil
}

// held is a connection that somebody holds for longer than a request.
type held struct{ conn upstream.Conn }

func (c held) Conn(context.Context) (upstream.Conn, func(), error) { return c.conn, func() {}, nil }
