// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"toolgate.dev/toolgate/internal/dispatcher/edge"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/requests"
	"toolgate.dev/toolgate/internal/dispatcher/session"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
)

// checkVersionHeader refuses a version that nobody speaks. No header is fine: the session knows its version.
func checkVersionHeader(r *http.Request) *policy.Refusal {
	version := edge.Header(r.Header, mcp.HeaderVersion)
	if version == "" || slices.Contains(mcp.Legacy, version) {
		return nil
	}
	return unsupportedVersion(version)
}

func unsupportedVersion(version string) *policy.Refusal {
	return &policy.Refusal{Kind: policy.UnsupportedVersion, Stage: policy.StageParse, Reason: "UnsupportedProtocolVersion", Supported: mcp.Revisions, Requested: version,
		Message: fmt.Sprintf("Protocol version %q is not supported. Supported: %s.", version, strings.Join(mcp.Revisions, ", "))}
}

// legacy takes a message of a revision up to 2025-11-25.
func (h *Handler) legacy(in *incoming) {
	if in.Method == mcp.MethodInitialize && in.Kind == jsonrpc.Request {
		h.initialize(in, nil)
		return
	}
	if in.header(mcp.HeaderVersion) == mcp.Modern && in.Kind != jsonrpc.Response {
		in.modern = true
		h.refuse(in, &policy.Refusal{Kind: policy.InvalidParams, Stage: policy.StageParse, Reason: "MetaMissing", Path: "/_meta",
			Message: "A message of revision 2026-07-28 carries " + mcp.MetaVersion + " in params._meta."})
		return
	}
	if refusal := checkVersionHeader(in.http); refusal != nil {
		h.refuse(in, refusal)
		return
	}
	id := in.header(mcp.HeaderSession)
	if id == "" {
		h.withoutSession(in)
		return
	}
	s := h.sessions.Find(id)
	if s == nil {
		h.refuse(in, sessionNotFound())
		return
	}
	s.Enter()
	defer s.Leave()
	h.within(s, in)
}

// within takes a message that belongs to a session.
func (h *Handler) within(s *session.Session, in *incoming) {
	switch in.Kind {
	case jsonrpc.Request:
		h.requestIn(s, in)
	case jsonrpc.Notification:
		h.notificationIn(s, in)
		in.reply.Accepted()
	case jsonrpc.Response:
		m := in.Message.Clone()
		s.Answered(&m)
		in.reply.Accepted()
	}
}

// requestIn takes a request within a session.
func (h *Handler) requestIn(s *session.Session, in *incoming) {
	if in.Method == mcp.MethodPing {
		h.sendResult(in, []byte("{}"))
		return
	}
	request, refusal := h.request(in, s.Version, s.Client)
	if refusal != nil {
		h.refuse(in, refusal)
		return
	}
	c := &in.call
	*c = session.Call{Reply: in.reply, Deadline: &request.Deadline, Trace: &request.Trace}
	ctx, ok := s.Begin(in.ID, c)
	if !ok {
		h.refuse(in, &policy.Refusal{Kind: policy.InvalidRequest, Stage: policy.StageParse, Reason: "IDInUse", Path: "/id",
			Message: "A request with this id is still under way in this session."})
		return
	}
	defer s.Finish(c)
	if in.begun != nil {
		in.begun()
	}
	in.reply.Resumable(s.Streams(), s.Primed())
	request.Source, request.Owner, in.session = s, c, true
	request.Client.Asker, request.Cancel = c, c.Cancel
	h.do(ctx, in, request)
}

// notificationIn takes a notification of the client. Those that nobody here knows are not passed on, like unknown methods.
func (h *Handler) notificationIn(s *session.Session, in *incoming) {
	switch in.Method {
	case mcp.NotifyInitialized: // the server has had its own
	case mcp.NotifyCancelled:
		if id, ok := jsonrpc.ParseID(in.Param("requestId")); ok {
			s.GiveUp(id)
		}
	case mcp.NotifyRootsChanged:
		if s.Can("roots") {
			s.Notify(in.Method, requests.Forwardable(in.Message))
		}
	case mcp.NotifyProgress:
		s.Notify(in.Method, requests.Forwardable(in.Message))
	default:
		h.passThrough(s, in)
	}
}

// passThrough passes on a notification that spec.passthrough names, where no rule has anything against it: a server may act on it as on a
// request of that name.
func (h *Handler) passThrough(s *session.Session, in *incoming) {
	if d := h.Pipeline.Document(); d == nil || !policy.PassesThrough(&d.Policy, in.Method) {
		h.Metrics.Dropped("unknown_notification")
		return
	}
	request, refusal := h.request(in, s.Version, s.Client)
	if refusal == nil {
		refusal = h.Pipeline.Check(request.Call)
	}
	if refusal != nil {
		h.Pipeline.RecordRefusal(request.Caller, in.Method, refusal)
		return
	}
	s.Notify(in.Method, request.Params)
}

// withoutSession takes a message of a client that keeps no session: requests are carried by a connection that remembers
// nothing.
func (h *Handler) withoutSession(in *incoming) {
	switch in.Kind {
	case jsonrpc.Notification:
		in.reply.Accepted()
		return
	case jsonrpc.Response:
		h.refuse(in, sessionMissing())
		return
	case jsonrpc.Request:
	}
	if in.Method == mcp.MethodPing {
		h.sendResult(in, []byte("{}"))
		return
	}
	if in.Method == mcp.MethodSubscribe || in.Method == mcp.MethodUnsubscribe {
		h.refuse(in, sessionMissing()) // nobody would be there to hear of it
		return
	}
	version := in.header(mcp.HeaderVersion)
	if version == "" {
		version = mcp.Assumed
	}
	request, refusal := h.request(in, version, session.Client{})
	if refusal != nil {
		h.refuse(in, refusal)
		return
	}
	request.Source = h.anonymous(in.Method)
	h.do(context.WithoutCancel(in.ctx), in, request)
}

// anonymous gives the source of a call without a session. Listing tools needs no connection at all.
func (h *Handler) anonymous(method string) requests.Source {
	if method == mcp.MethodListTools {
		return nil
	}
	return anonymousSource{h.Connections}
}

type anonymousSource struct{ Connections }

func (a anonymousSource) Conn(ctx context.Context) (upstream.Conn, func(), error) {
	return a.Anonymous(ctx)
}
