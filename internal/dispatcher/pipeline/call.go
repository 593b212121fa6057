// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/audit"
	"toolgate.dev/toolgate/internal/dispatcher/input"
	"toolgate.dev/toolgate/internal/dispatcher/limits"
	"toolgate.dev/toolgate/internal/dispatcher/listing"
	"toolgate.dev/toolgate/internal/dispatcher/parking"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/requests"
	"toolgate.dev/toolgate/internal/dispatcher/tracing"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/pool"
	"toolgate.dev/toolgate/internal/mcp"
	"toolgate.dev/toolgate/internal/registry"
)

// errTimeout is the cause of a context whose call took too long.
var errTimeout = errors.New("no answer in time")

// exchange is one request on its way.
type exchange struct {
	*Pipeline
	*requests.Request
	engine   *policy.Engine
	trusted  bool
	start    time.Time
	decision policy.Decision
	// decided is the digest of the catalogue that the decision was made on.
	decided string
	era     upstream.Era
	// startedAs is the sequence of the record that said that the call is forwarded; 0 where there is none.
	startedAs uint64
	// sent says that the server may have begun to act on the call.
	sent bool

	// span is that of the request, client that of the request to the server; both nil where none are made.
	span, client *tracing.Span

	// held is what the request uses until it ends; a call that is parked takes it along.
	held holding

	// state is that of the request which this one continues, nil if it continues none; answers are what the client sent back.
	state   *input.State
	answers input.Answers
	// questions takes what the server asks on a connection of the request's own, nil where it has none.
	questions *parking.Call
	// confirmation is the one that a person has given, nil for none.
	confirmation *input.Confirmation
	confirming   bool // the answer asks for it
}

// holding is what a request uses: its places among the calls of its caller, all of them and those of its tool, and its
// connection. Each may be none.
type holding struct {
	place, tool limits.Place
	conn        func()
}

// end gives everything back.
func (h *holding) end() {
	if h.conn != nil {
		h.conn()
	}
	h.tool.End()
	h.place.End()
	*h = holding{}
}

// Do carries out one request. It always answers. ctx ends with ErrGivenUp as its cause when the client cancels.
func (p *Pipeline) Do(ctx context.Context, r *requests.Request) requests.Answer {
	x := &exchange{Pipeline: p, Request: r, engine: p.engine.Load(), start: p.Now()}
	x.beginSpan() //nolint:contextcheck // a span outlives its request where the call is parked
	if !p.flight.Begin() {
		return x.end(requests.Answer{Refusal: Draining()})
	}
	defer p.flight.End()
	p.Metrics.CallStarted()
	defer p.Metrics.CallEnded()
	return x.end(x.run(ctx))
}

// ReasonDraining is the reason of Draining.
const ReasonDraining = "Draining"

// Draining is the refusal of what begins after a drain.
func Draining() *policy.Refusal {
	return &policy.Refusal{Kind: policy.Unavailable, Stage: policy.StageLimits, Reason: ReasonDraining,
		Message: "This replica is shutting down and takes nothing new. Try again: another one answers."}
}

func (x *exchange) run(ctx context.Context) requests.Answer {
	if x.engine == nil {
		return requests.Answer{Refusal: noDocument()}
	}
	x.Call.Now = x.start
	x.trusted = x.Trusted(x.engine)
	defer x.held.end()
	waiting, refusal := x.resume()
	switch {
	case refusal != nil:
		return requests.Answer{Refusal: refusal}
	case waiting != nil:
		return x.proceed(ctx, waiting)
	}
	if x.held.place, refusal = x.callers.BeginCall(x.Caller.Address, x.Limits().MaxConcurrent); refusal != nil {
		return requests.Answer{Refusal: refusal}
	}
	if refusal = x.beginTool(); refusal != nil {
		return requests.Answer{Refusal: refusal}
	}
	if answer := x.decideEarly(ctx); answer != nil {
		return *answer
	}
	if x.Call.Method == mcp.MethodListTools && x.Source == nil {
		return x.list(x.Discovery.Catalogue())
	}
	if answer := x.own(); answer != nil {
		return *answer
	}
	conn, giveBack, err := x.connect(ctx)
	if err != nil {
		return x.failed(err)
	}
	x.held.conn = giveBack
	x.era = conn.Info().Era
	return x.over(ctx, conn)
}

// beginTool counts a call under its tool's own limits, which every call costs, refused or not.
func (x *exchange) beginTool() *policy.Refusal {
	if x.Call.Method != mcp.MethodCallTool {
		return nil
	}
	tool, known := x.engine.Snapshot().Tool(x.Call.Tool)
	if !known || tool.Limits == (registry.ToolLimits{}) {
		return nil
	}
	var refusal *policy.Refusal
	x.held.tool, refusal = x.callers.BeginToolCall(x.Caller.Address, tool.Name, tool.Limits)
	return refusal
}

// decideEarly decides on what discovery read, so that most refusals need no connection at all. A tool call that passes is
// decided again when the connection lists other definitions.
func (x *exchange) decideEarly(ctx context.Context) *requests.Answer {
	var catalogue *upstream.Catalogue
	if x.Call.Method == mcp.MethodCallTool {
		if catalogue = x.Discovery.Catalogue(); catalogue == nil {
			return nil
		}
	}
	x.decide(catalogue)
	if x.decision.Refusal != nil && x.decision.Refusal.Stage == policy.StagePin {
		return nil // what the connection lists is what counts
	}
	return x.settle(ctx, func() { x.decide(catalogue) })
}

func (x *exchange) decide(catalogue *upstream.Catalogue) {
	var view policy.View
	x.decided = ""
	if catalogue != nil {
		view, x.decided = listing.View(catalogue), catalogue.Digest
	}
	x.decision = x.engine.Decide(view, x.Call, x.trusted)
}

// over carries the request over a connection.
func (x *exchange) over(ctx context.Context, conn upstream.Conn) requests.Answer {
	switch x.Call.Method {
	case mcp.MethodListTools:
		if x.decision.Refusal != nil {
			return requests.Answer{Refusal: x.decision.Refusal}
		}
		catalogue, err := conn.Catalogue(ctx)
		if err != nil {
			return x.failed(err)
		}
		return x.list(catalogue)
	case mcp.MethodCallTool:
		return x.callTool(ctx, conn)
	case mcp.MethodListResources, mcp.MethodListTemplates:
		return x.listResources(ctx, conn)
	default:
		if refusal := x.recordStart(); refusal != nil {
			return requests.Answer{Refusal: refusal}
		}
		return x.forward(ctx, conn)
	}
}

// callTool decides by the connection's own catalogue, and carries the call out. After a mismatch of headers the catalogue is
// another: the call is decided on by that one, and tried once more.
func (x *exchange) callTool(ctx context.Context, conn upstream.Conn) requests.Answer {
	for again := false; ; again = true {
		catalogue, err := conn.Catalogue(ctx)
		if err != nil {
			return x.failed(err)
		}
		if x.decided == "" || x.decided != catalogue.Digest {
			x.decide(catalogue)
		}
		if answer := x.settle(ctx, func() { x.decide(catalogue) }); answer != nil {
			return *answer
		}
		answer := x.call(ctx, conn)
		if again || x.era != upstream.Modern || answer.Error == nil || answer.Error.Code != mcp.CodeHeaderMismatch {
			return answer
		}
	}
}

// call forwards a tool call that was let through.
func (x *exchange) call(ctx context.Context, conn upstream.Conn) requests.Answer {
	if refusal := x.recordStart(); refusal != nil {
		return requests.Answer{Refusal: refusal}
	}
	return x.checked(x.forward(ctx, conn))
}

// checked holds the result of a tool to its output schema.
func (x *exchange) checked(answer requests.Answer) requests.Answer {
	if answer.Result == nil || x.Call.Method != mcp.MethodCallTool {
		return answer
	}
	refusal, violations := x.engine.CheckResult(x.decision.Tool, answer.Result)
	for _, v := range violations {
		x.Metrics.Violated("result", v.Keyword)
	}
	if refusal != nil {
		return requests.Answer{Refusal: refusal, Era: x.era}
	}
	return answer
}

// timeout bounds the server's part of the request.
func (x *exchange) timeout() time.Duration { return x.decision.Timeout }

// forward sends the request and waits for the answer, no longer than the decision allows.
func (x *exchange) forward(ctx context.Context, conn upstream.Conn) requests.Answer {
	x.beginForward(conn)
	if x.questions != nil && x.era == upstream.Legacy {
		return x.park(ctx, conn)
	}
	cancel := x.Cancel
	if cancel == nil {
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
	}
	x.Deadline.Start(x.timeout(), func() { cancel(errTimeout) })
	defer x.Deadline.Stop()
	start := x.Now()
	x.sent = true
	answer := x.rounds(ctx, conn)
	x.forwarded(answer, conn.Info().ProtocolVersion, x.Now().Sub(start))
	return answer
}

// answerOf is the answer that a reply of the server, or the lack of one, makes.
func (x *exchange) answerOf(reply upstream.Reply, err error) requests.Answer {
	switch {
	case err == nil && !x.known(reply.Result):
		return requests.Answer{Era: x.era, Refusal: &policy.Refusal{Kind: policy.SerializationError, Stage: policy.StageUpstream, Tool: x.Call.Tool,
			Reason: "ResultType", Message: "The server answered with a result of a type that is not known here, or with a task, which is not passed on."}}
	case err == nil:
		return requests.Answer{Result: reply.Result, Error: reply.Error, Era: x.era}
	case errors.Is(err, errTimeout):
		return requests.Answer{Era: x.era, Refusal: &policy.Refusal{Kind: policy.TimeoutError, Stage: policy.StageUpstream, Tool: x.Call.Tool, Reason: "Timeout",
			Message: fmt.Sprintf("The server did not answer %s within %s; the call was cancelled and may or may not have had an effect.", x.Call.Method, x.timeout())}}
	default:
		return x.failed(err)
	}
}

// failed is the answer where the server, or the way to it, failed.
func (x *exchange) failed(err error) requests.Answer {
	if errors.Is(err, requests.ErrGivenUp) || errors.Is(err, context.Canceled) {
		return requests.Answer{Cancelled: true, Era: x.era}
	}
	return requests.Answer{Refusal: TransportRefusal(err, x.Call.Tool), Era: x.era}
}

// TransportRefusal tells a failure of the server, or of the way to it, in the words of the table of errors.
func TransportRefusal(err error, tool string) *policy.Refusal {
	if errors.Is(err, pool.ErrNoCapacity) {
		return limits.Refuse("NoCapacity", "All connections to the server are in use. Try again in some seconds.")
	}
	refusal := &policy.Refusal{Kind: policy.TransportError, Stage: policy.StageUpstream, Tool: tool, Reason: "Failed",
		Message: "The server could not be reached."}
	var failure *upstream.Error
	if errors.As(err, &failure) {
		refusal.Reason, refusal.Message = string(failure.Reason), failure.Message
	}
	if errors.Is(err, upstream.ErrTooLarge) || errors.Is(err, upstream.ErrNotStrict) {
		refusal.Kind = policy.SerializationError
	}
	return refusal
}

// end writes the record and the metrics of an answer, and ends its span.
func (x *exchange) end(a requests.Answer) requests.Answer {
	outcome := x.outcome(a)
	x.record(a, outcome)
	x.endSpan(a, outcome)
	return a
}

func (x *exchange) outcome(a requests.Answer) audit.Outcome {
	switch {
	case a.Cancelled:
		return audit.Cancelled
	case a.Refusal != nil && a.Refusal.Kind == policy.TransportError && x.sent && x.Call.Method == mcp.MethodCallTool:
		return audit.Unknown // the way was lost while the call was under way
	case a.Refusal != nil:
		return refusalOutcome(a.Refusal)
	case a.Input != nil && x.confirming:
		return audit.ConfirmPending
	case a.Input != nil:
		return audit.InputRequired
	case a.Error != nil:
		return audit.Failed
	case x.Call.Method == mcp.MethodCallTool && requests.Failed(a.Result):
		return audit.ToolError
	default:
		return audit.Success
	}
}

// refusalOutcome tells a denial from a failure: a denial is never recorded as anything but rejected.
func refusalOutcome(r *policy.Refusal) audit.Outcome {
	if r.Reason == reasonDeclined || r.Reason == reasonExpired {
		return audit.Declined
	}
	switch r.Kind {
	case policy.TimeoutError:
		return audit.TimedOut
	case policy.TransportError, policy.SerializationError:
		return audit.Failed
	case policy.ParseError, policy.InvalidRequest, policy.InvalidParams, policy.MethodNotFound, policy.HeaderMismatch, policy.MissingCapability,
		policy.UnsupportedVersion, policy.SessionNotFound, policy.NotAllowed, policy.ToolNotFound, policy.SchemaError, policy.Denied,
		policy.NeedsConfirmation, policy.RateLimited, policy.Unavailable:
	}
	return audit.Rejected
}
