// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/edge"
	"toolgate.dev/toolgate/internal/dispatcher/input"
	"toolgate.dev/toolgate/internal/dispatcher/pipeline"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/requests"
	"toolgate.dev/toolgate/internal/dispatcher/response"
	"toolgate.dev/toolgate/internal/dispatcher/session"
	"toolgate.dev/toolgate/internal/dispatcher/stream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
)

// reply is where the answer to one message goes: the response of the HTTP request that brought it, or the connection that it
// came on.
type reply interface {
	session.Reply
	// EventOnce is Event for a message that says no more when it is said twice before the client has read it.
	EventOnce(message []byte) bool
	// Streams says whether messages can precede the answer.
	Streams() bool
	// Resumable says where the client may take up what a broken connection did not bring.
	Resumable(store *stream.Store, primed bool)
	// Patience keeps a client that waits for long from giving up, until it is stopped; nil where clients wait.
	Patience() *time.Timer
	// Answer ends the reply, with an HTTP status where there is such a thing, and reports whether it keeps the message's
	// memory; Withhold ends it without an answer, and Accepted is for what wants none.
	Answer(status int, message []byte) (kept bool)
	Withhold()
	Accepted()
	// Header is what goes before an answer.
	Header() http.Header
}

// incoming is one message of a client.
type incoming struct {
	*jsonrpc.Message
	// ctx ends when the client has gone.
	ctx context.Context
	// http is the request that brought the message; nil on a connection that carries messages alone.
	http    *http.Request
	reply   reply
	address string
	modern  bool
	session bool   // the message belongs to a session
	begun   func() // called once a request can be cancelled; nil where nobody waits for that
	request requests.Request
	call    session.Call
}

// posted is one message over HTTP with all that it needs until it is answered, in one piece of memory.
type posted struct {
	incoming
	message  jsonrpc.Message
	response response.Response
}

// header gives a header of the HTTP request, empty where there is none.
func (m *incoming) header(name string) string {
	if m.http == nil {
		return ""
	}
	return edge.Header(m.http.Header, name)
}

// post takes one message: strict parse, then the caller's rate, then its era.
func (h *Handler) post(w http.ResponseWriter, r *http.Request) {
	limit := h.Pipeline.Limits().MaxRequestBytes
	body, problem := edge.ReadBody(w, r, limit)
	address := edge.Address(r)
	over := h.Pipeline.Admit(address)
	if problem != nil {
		h.refuseHTTP(w, problem.Status, problem.Refusal)
		return
	}
	h.Metrics.Received(len(body))
	p := &posted{incoming: incoming{ctx: r.Context(), http: r, address: address}}
	p.response.To(w, r)
	in := &p.incoming
	in.Message, in.reply = &p.message, &p.response
	var err error
	if p.message, err = jsonrpc.Parse(body, jsonrpc.Limits{MaxBytes: limit}); err != nil {
		h.refuse(in, parseRefusal(in, err))
		return
	}
	in.modern = isModern(in)
	switch accepts := p.response.Accepts; {
	case !accepts.JSON && !accepts.EventStream:
		h.refuseAs(in, http.StatusNotAcceptable, &policy.Refusal{Kind: policy.InvalidRequest, Stage: policy.StageParse, Reason: "NotAcceptable",
			Message: "Answers are application/json or text/event-stream. Accept both."})
	case over != nil:
		h.refuse(in, over)
	case in.modern && h.handedOver(w, in, body): //nolint:contextcheck // as below
	case in.modern:
		h.modern(in) //nolint:contextcheck // in carries the context of its HTTP request
	default:
		h.legacy(in) //nolint:contextcheck // a session outlives the HTTP request that began it
	}
}

// isModern says whether a message is of revision 2026-07-28: its _meta says so. A notification needs none, and there the header
// does: some clients tell of a cancellation, beside leaving.
func isModern(in *incoming) bool {
	if in.MetaMember(mcp.MetaVersion) != nil {
		return in.Kind != jsonrpc.Response
	}
	return in.Kind == jsonrpc.Notification && in.header(mcp.HeaderVersion) == mcp.Modern
}

// handedOver hands a request that continues another over to the replica that gave out its requestState.
func (h *Handler) handedOver(w http.ResponseWriter, in *incoming, body []byte) bool {
	state, _ := jsonrpc.String(in.Param("requestState"))
	issuer := input.Issuer(state)
	if issuer == "" || h.HandOver == nil {
		return false
	}
	r := in.http.Clone(in.http.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	return h.HandOver(w, r, issuer, func(http.ResponseWriter, *http.Request) {
		h.refuse(in, &policy.Refusal{Kind: policy.InvalidParams, Stage: policy.StageMethod, Reason: "InvalidInput", Path: "/requestState",
			Message: fmt.Sprintf("The requestState of this request is not taken: %s.", input.ErrElsewhere)})
	})
}

// parseRefusal tells what was wrong with a body, and finds the id for the answer where that can be read.
func parseRefusal(in *incoming, err error) *policy.Refusal {
	refusal := &policy.Refusal{Kind: policy.ParseError, Stage: policy.StageParse, Reason: "NotStrictJSON", Message: err.Error()}
	var (
		invalid *jsonrpc.InvalidError
		syntax  *jsonrpc.SyntaxError
	)
	switch {
	case errors.As(err, &invalid):
		refusal.Kind, refusal.Reason, refusal.Path = policy.InvalidRequest, "InvalidMessage", invalid.Path
		in.ID = invalid.ID
	case errors.As(err, &syntax):
		refusal.Path = syntax.Path
	}
	return refusal
}

// refuse answers a message that does not come as far as the pipeline, with a JSON-RPC error, and records that.
func (h *Handler) refuse(in *incoming, refusal *policy.Refusal) {
	h.Pipeline.RecordRefusal(requests.Caller{Address: in.address}, in.Method, refusal)
	h.sendError(in, refusal, "")
}

// refuseAs is refuse under an HTTP status that is not that of the refusal's kind.
func (h *Handler) refuseAs(in *incoming, status int, refusal *policy.Refusal) {
	h.Pipeline.RecordRefusal(requests.Caller{Address: in.address}, in.Method, refusal)
	h.send(in, status, jsonrpc.AppendError(nil, in.ID, refusal.JSONRPC(h.Pipeline.ServerName(), "")))
}

func (h *Handler) sendError(in *incoming, refusal *policy.Refusal, traceID string) {
	status := refusal.Kind.HTTPLegacy()
	if in.modern {
		status = refusal.Kind.HTTPModern()
	}
	if status == http.StatusServiceUnavailable {
		in.reply.Header().Set("Retry-After", "1")
	}
	h.send(in, status, jsonrpc.AppendError(nil, in.ID, refusal.JSONRPC(h.Pipeline.ServerName(), traceID)))
}

func (h *Handler) send(in *incoming, status int, message []byte) (kept bool) {
	h.Metrics.Sent(len(message))
	return in.reply.Answer(status, message)
}

// statusOf is the HTTP status of an error that the server itself gave: the modern revision binds some codes to one.
func statusOf(in *incoming, code int64) int {
	if !in.modern {
		return http.StatusOK
	}
	for _, kind := range []policy.Kind{policy.MethodNotFound, policy.HeaderMismatch, policy.MissingCapability, policy.UnsupportedVersion} {
		if kind.Code() == code {
			return kind.HTTPModern()
		}
	}
	return http.StatusOK
}

// messages are for answers that nobody keeps: their memory would be most of what a call takes.
var messages = sync.Pool{New: func() any { return new([]byte) }}

// maxPooled bounds what an answer leaves behind for the next, in bytes.
const maxPooled = 64 << 10

func (h *Handler) sendResult(in *incoming, result []byte) {
	memory := messages.Get().(*[]byte)
	message := jsonrpc.AppendResponse(slices.Grow((*memory)[:0], len(result)+len(in.ID.Raw())+40), in.ID, result)
	if kept := h.send(in, http.StatusOK, message); kept || cap(message) > maxPooled {
		return
	}
	*memory = message
	messages.Put(memory)
}

// request is a client's request as the pipeline takes it. The refusal says what its params lack.
func (h *Handler) request(in *incoming, version string, c session.Client) (*requests.Request, *policy.Refusal) {
	call, refusal := requests.Describe(in.Message)
	call.ProtocolVersion, call.Client = version, c.Claimed
	traceparent, _ := jsonrpc.String(in.MetaMember("traceparent"))
	request := &in.request
	*request = requests.Request{
		Call: call, Params: requests.Forwardable(in.Message), ID: in.ID.Raw(), Trace: requests.NewTrace(traceparent),
		Caller: requests.Caller{Address: in.address, Client: c.Label},
		Client: requests.Client{Capabilities: c.Capabilities, Info: c.Info, Form: c.Form},
	}
	request.Trace.Ambient = in.header("Traceparent")
	if in.Method == mcp.MethodListTools {
		request.Cursor = in.Param("cursor")
	}
	if token := in.MetaMember(mcp.ProgressToken); token != nil {
		if !isProgressToken(token) && refusal == nil {
			refusal = &policy.Refusal{Kind: policy.InvalidParams, Stage: policy.StageParse, Reason: "InvalidParams", Path: "/_meta/progressToken",
				Message: "progressToken must be a string or a number."}
		}
		request.Progress = h.progressTo(in.reply, token)
	}
	return request, refusal
}

// isProgressToken says whether a value is what revisions of MCP call a progress token.
func isProgressToken(raw []byte) bool {
	return jsonrpc.IsString(raw) || len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}

// progressTo passes the server's progress on under the client's own token.
func (h *Handler) progressTo(r reply, token []byte) func([]byte) {
	return func(params []byte) {
		params = jsonrpc.ReplaceMembers(params, jsonrpc.Edit{Key: mcp.ProgressToken, Raw: token})
		if !r.Event(jsonrpc.AppendNotification(nil, mcp.NotifyProgress, params)) {
			h.Metrics.Dropped("progress")
		}
	}
}

// do carries a request through the pipeline and answers the client.
func (h *Handler) do(ctx context.Context, in *incoming, request *requests.Request) {
	if timer := in.reply.Patience(); timer != nil {
		defer timer.Stop()
	}
	answer := h.Pipeline.Do(ctx, request)
	if answer.Refusal != nil && answer.Refusal.Reason == pipeline.ReasonDraining && in.session {
		answer.Refusal = sessionNotFound() // so that the client begins another, which another replica answers
	}
	switch {
	case answer.Cancelled:
		in.reply.Withhold()
	case answer.Refusal != nil && answer.Refusal.AsResult(request.Call):
		h.sendResult(in, h.shaped(in, upstreamNone, answer.Refusal.Result(h.Pipeline.ServerName(), request.Trace.ID)))
	case answer.Refusal != nil:
		h.sendError(in, answer.Refusal, request.Trace.ID)
	case answer.Input != nil:
		h.sendResult(in, answer.Input)
	case answer.Error != nil:
		h.send(in, statusOf(in, answer.Error.Code), jsonrpc.AppendError(nil, in.ID, answer.Error))
	default:
		h.sendResult(in, h.shaped(in, answer.Era, answer.Result))
	}
}
