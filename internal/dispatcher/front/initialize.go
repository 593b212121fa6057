// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"slices"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/pipeline"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
)

// initialize begins a session: it opens the session's connection, and answers from what the server said there. A running
// server never sees a second initialize.
func (h *Handler) initialize(in *incoming) {
	wish, ok := jsonrpc.String(in.Param("protocolVersion"))
	if !ok {
		h.refuse(in, &policy.Refusal{Kind: policy.InvalidParams, Stage: policy.StageParse, Reason: "InvalidParams", Path: "/protocolVersion",
			Message: "initialize needs protocolVersion, a string such as " + latestLegacy + "."})
		return
	}
	if !slices.Contains(legacyVersions, wish) {
		wish = latestLegacy
	}
	s, refusal := h.begin(in, wish)
	if refusal != nil {
		h.refuse(in, refusal)
		return
	}
	defer s.use()()
	in.reply.Header().Set(headerSession, s.id)
	h.sendResult(in, s.welcome())
}

// begin opens a session. The connection outlives the HTTP request.
func (h *Handler) begin(in *incoming, version string) (*session, *policy.Refusal) {
	document := h.Pipeline.Document()
	if document == nil || h.sessions.closed() {
		return nil, h.unready()
	}
	leave, refusal := h.Pipeline.BeginSession(in.address)
	if refusal != nil {
		return nil, refusal
	}
	s := &session{
		id: newSessionID(), h: h, address: in.address, version: version, client: clientOf(in, document.Policy.Client),
		calls: map[string]*call{}, asks: map[string]*ask{},
	}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	hello := upstream.Hello{ProtocolVersion: version, Capabilities: s.client.capabilities, ClientInfo: slices.Clone(in.Param("clientInfo"))}
	conn, release, err := h.Connections.Session(in.http.Context(), hello, s)
	if err != nil {
		s.cancel(err)
		leave()
		h.Log.Warn("session not begun", "err", err, "address", in.address)
		return nil, pipeline.TransportRefusal(err, "")
	}
	s.conn, s.forget = conn, func() { release(); leave() }
	if info := conn.Info(); info.Era == upstream.Legacy && info.ProtocolVersion < s.version {
		s.version = max(info.ProtocolVersion, oldestLegacy)
	}
	s.idle = time.AfterFunc(time.Duration(h.Pipeline.Limits().SessionIdleSeconds)*time.Second, s.expire)
	h.Metrics.SessionOpened()
	if !h.sessions.add(s) {
		s.end(errClosing)
		return nil, h.unready()
	}
	go s.watch()
	return s, nil
}

func (h *Handler) unready() *policy.Refusal {
	if h.sessions.closed() {
		return pipeline.Draining()
	}
	return &policy.Refusal{Kind: policy.Denied, Stage: policy.StageMethod, Reason: "NoRegistry",
		Message: "This dispatcher has no valid registry document yet, so it begins no session."}
}

// welcome is the result of initialize.
func (s *session) welcome() []byte {
	info := s.conn.Info()
	out := jsonrpc.AppendString([]byte(`{"protocolVersion":`), s.version)
	capabilities := info.Capabilities
	if info.Era == upstream.Modern {
		capabilities = statelessCapabilities(capabilities) // what a modern server streams is not passed on yet
	}
	out = append(append(out, `,"capabilities":`...), s.h.serverCapabilities(capabilities)...)
	out = append(append(out, `,"serverInfo":`...), orUnknown(info.ServerInfo)...)
	if info.Instructions != nil {
		out = append(append(out, `,"instructions":`...), info.Instructions...)
	}
	if info.Era == upstream.Legacy && info.Meta != nil {
		out = append(append(out, `,"_meta":`...), info.Meta...)
	}
	return append(out, '}')
}

// orUnknown stands in for a server that did not say who it is: clients demand a name.
func orUnknown(serverInfo []byte) []byte {
	if jsonrpc.IsObject(serverInfo) {
		return serverInfo
	}
	return []byte(`{"name":"unknown","version":""}`)
}
