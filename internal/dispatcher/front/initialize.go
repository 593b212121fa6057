// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"slices"

	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/session"
	"toolgate.dev/toolgate/internal/dispatcher/stream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
	"toolgate.dev/toolgate/internal/registry"
)

// initialize begins a session: it opens the session's connection, and answers from what the server said there. A running
// server never sees a second initialize. on is the stream of a client that has one for everything, nil for others. It gives the
// session, nil where there is none and the client knows why.
func (h *Handler) initialize(in *incoming, on *stream.Stream) *session.Session {
	wish, ok := jsonrpc.String(in.Param("protocolVersion"))
	if !ok {
		h.refuse(in, &policy.Refusal{Kind: policy.InvalidParams, Stage: policy.StageParse, Reason: "InvalidParams", Path: "/protocolVersion",
			Message: "initialize needs protocolVersion, a string such as " + mcp.LatestLegacy + "."})
		return nil
	}
	if !slices.Contains(mcp.Legacy, wish) {
		wish = mcp.LatestLegacy
	}
	s, refusal := h.sessions.Begin(in.ctx, in.address, wish, session.ClientOf(in.Message, h.allowed()), on)
	if refusal != nil {
		h.refuse(in, refusal)
		return nil
	}
	s.Enter()
	defer s.Leave()
	in.reply.Header().Set(mcp.HeaderSession, s.ID)
	h.sendResult(in, h.welcome(s))
	return s
}

// welcome is the result of initialize.
func (h *Handler) welcome(s *session.Session) []byte {
	info := s.Info()
	out := jsonrpc.AppendString([]byte(`{"protocolVersion":`), s.Version)
	capabilities := info.Capabilities
	if info.Era == upstream.Modern {
		capabilities = withoutLogging(capabilities) // a modern server knows no logging/setLevel
	}
	out = append(append(out, `,"capabilities":`...), h.serverCapabilities(capabilities)...)
	out = append(append(out, `,"serverInfo":`...), orUnknown(info.ServerInfo)...)
	if info.Instructions != nil {
		out = append(append(out, `,"instructions":`...), info.Instructions...)
	}
	if info.Era == upstream.Legacy && info.Meta != nil {
		out = append(append(out, `,"_meta":`...), info.Meta...)
	}
	return append(out, '}')
}

// allowed is what policy lets the server ask of clients.
func (h *Handler) allowed() registry.Client {
	if d := h.Pipeline.Document(); d != nil {
		return d.Policy.Client
	}
	return registry.Client{}
}

// orUnknown stands in for a server that did not say who it is: clients demand a name.
func orUnknown(serverInfo []byte) []byte {
	if jsonrpc.IsObject(serverInfo) {
		return serverInfo
	}
	return []byte(`{"name":"unknown","version":""}`)
}
