// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"net/http"

	"toolgate.dev/toolgate/internal/dispatcher/edge"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/stream"
)

// sessionParameter names the stream of a POST of HTTP+SSE in its query.
const sessionParameter = "sessionId"

// SSE answers in HTTP+SSE, the transport of revision 2024-11-05: GET opens the stream, whose first event names where to POST
// messages to; what answers them comes on the stream.
func (h *Handler) SSE() http.Handler {
	return h.guarded(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet:
			h.openSSE(w, r)
		case http.MethodPost:
			h.postSSE(w, r)
		default:
			h.notAllowed(w, r.Method, "GET, POST")
		}
	})
}

func (h *Handler) openSSE(w http.ResponseWriter, r *http.Request) {
	if !edge.Accept(r).EventStream {
		h.refuseHTTP(w, http.StatusNotAcceptable, &policy.Refusal{Kind: policy.InvalidRequest, Stage: policy.StageParse, Reason: "NotAcceptable",
			Message: "GET opens an event stream. Accept text/event-stream."})
		return
	}
	id := h.sessions.NewID()
	out := stream.NewGreeting("endpoint", r.URL.Path+"?"+sessionParameter+"="+id)
	c, refusal := h.openChannel(edge.Address(r), id, out)
	if refusal != nil {
		h.refuseHTTP(w, refusal.Kind.HTTPREST(), refusal) // there is no message yet that could be answered
		return
	}
	carrier := out.Attach()
	c.carry(r.Context(), func(ctx context.Context) { carrier.Run(ctx, w) })
}

func (h *Handler) postSSE(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get(sessionParameter)
	if h.HandOver != nil && id != "" && h.HandOver(w, r, id, h.SessionGone) {
		return
	}
	body, problem := edge.ReadBody(w, r, h.Pipeline.Limits().MaxRequestBytes)
	if problem != nil {
		h.Pipeline.Admit(edge.Address(r)) // every message costs
		h.refuseHTTP(w, problem.Status, problem.Refusal)
		return
	}
	c := h.channels.find(id)
	if c == nil {
		h.Pipeline.Admit(edge.Address(r))
		h.refuseHTTP(w, http.StatusNotFound, sessionNotFound())
		return
	}
	in, refusal := c.parse(body)
	if refusal != nil && refusal.Kind != policy.RateLimited {
		h.refuseHTTP(w, refusal.Kind.HTTPLegacy(), refusal)
		return
	}
	w.WriteHeader(http.StatusAccepted)
	if refusal != nil {
		h.refuse(in, refusal)
		return
	}
	_ = http.NewResponseController(w).Flush() // a client that has gone reads its answer no more
	c.take(in)                                //nolint:contextcheck // the message belongs to the stream, not to the request that brought it
}
