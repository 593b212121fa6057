// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/audit"
	"toolgate.dev/toolgate/internal/dispatcher/features"
	"toolgate.dev/toolgate/internal/dispatcher/input"
	"toolgate.dev/toolgate/internal/dispatcher/limits"
	"toolgate.dev/toolgate/internal/dispatcher/parking"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/requests"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
	"toolgate.dev/toolgate/internal/mcp"
)

// maxParked bounds the calls that wait for another round. Each keeps a connection, of which the others need some too.
const maxParked = 32

// Why a call that waited is cancelled at its server.
var (
	errAbandoned    = fmt.Errorf("%w: it did not continue it in time", requests.ErrGivenUp)
	errNotContinued = errors.New("the request that continues it was refused")
)

// parked is a call to a server of an earlier revision that waits for its client's next round.
type parked struct {
	call *parking.Call
	conn upstream.Conn
	held holding
	// last is the request that it was parked by.
	last *exchange
	// startedAs is the record of the call's beginning: no round before the last one is its end.
	startedAs uint64
}

// end cancels the call and gives back what it holds.
func (p *parked) end(cause error) {
	p.call.Cancel(cause)
	p.held.end()
}

// abandon ends a call that nobody continued, and records that.
func (p *parked) abandon() {
	p.end(errAbandoned)
	r := p.last.base(audit.Cancelled)
	r.Reason, r.StartedAs = "Abandoned", p.startedAs
	p.last.write(r)
}

// connect gives the connection that carries the request: one of its own where the server may have to ask its client, which
// continues in rounds.
func (x *exchange) connect(ctx context.Context) (upstream.Conn, func(), error) {
	c := &x.Client
	if !c.Rounds || c.Dial == nil || !requests.TakesInput(x.Call.Method) || !features.Askable(c.Capabilities) {
		return x.Source.Conn(ctx)
	}
	x.questions = parking.New(parking.Rules{
		Admit: x.admit, Hold: x.Deadline.Hold, Now: x.Now,
		Asked: func(event upstream.Event, reply upstream.Reply, since time.Time) { //nolint:contextcheck // its parent is in the trace
			x.RecordAsk(x.Caller, &x.Trace, event, reply, since)
		},
		Dropped: func(string) { x.Metrics.Dropped("no_stream") },
	})
	return c.Dial(ctx, upstream.Hello{Capabilities: c.Capabilities, ClientInfo: c.Info, Prefers: upstream.Modern}, x.questions)
}

// admit holds a question of the server to policy and to what the client can do.
func (x *exchange) admit(event upstream.Event) ([]byte, *jsonrpc.Error) {
	allowed := x.allowed()
	if d := x.Document(); d != nil {
		allowed = d.Policy.Client // as it is now
	}
	if verdict, _ := features.Judge(allowed, x.Client.Capabilities, event.Method, event.Params); verdict != features.Allowed {
		refusal := requests.NotAskable(event.Method)
		x.RecordRefusal(x.Caller, event.Method, refusal)
		return nil, refusal.JSONRPC(x.ServerName(), x.Trace.ID)
	}
	return features.Forward(x.ServerName(), event.Method, event.Params), nil
}

// park makes the call in a way that outlives this request, should the server ask for something meanwhile.
func (x *exchange) park(ctx context.Context, conn upstream.Conn) requests.Answer {
	timeout := x.timeout()
	call := upstream.Call{Method: x.Call.Method, Params: x.Params, Owner: x.Owner}
	if x.Progress != nil {
		call.Progress = x.questions.Progress
	}
	start := x.Now()
	x.sent = true
	x.questions.Run(ctx, func(ctx context.Context) (upstream.Reply, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		x.Deadline.Start(timeout, func() { cancel(errTimeout) })
		defer x.Deadline.Stop()
		reply, err := conn.Call(ctx, call)
		x.forwarded(x.answerOf(reply, err), conn.Info().ProtocolVersion, x.Now().Sub(start))
		return reply, err
	})
	return x.await(ctx, x.questions, conn)
}

// await waits for the end of the call, or asks the client what the server asks.
func (x *exchange) await(ctx context.Context, call *parking.Call, conn upstream.Conn) requests.Answer {
	questions, reply, err := call.Wait(ctx, x.Progress)
	if questions == nil {
		return x.answerOf(reply, err)
	}
	p := &parked{call: call, conn: conn, held: x.held, last: x, startedAs: x.startedAs}
	id := x.lot.Park(p, roundTTL)
	if id == 0 {
		call.Cancel(errNotContinued)
		return requests.Answer{Era: x.era, Refusal: limits.Refuse("InputPending", "Too many calls wait for input. Answer some, or try again in some minutes.")}
	}
	x.held = holding{}
	answer := x.giveOut(nil, questions, input.State{Parked: id, Keys: input.Keys(questions), Content: x.content()}, roundTTL)
	if answer.Input != nil {
		x.startedAs = 0
		return answer
	}
	if p, ok := x.lot.Take(id); ok {
		p.end(errNotContinued)
	}
	return answer
}

// unpark gives the call that a state names, nil if it names none. The server works on what the client said first: a request
// that says something else does not continue it.
func (x *exchange) unpark(state input.State) (*parked, *policy.Refusal) {
	if state.Parked == 0 {
		return nil, nil
	}
	p, ok := x.lot.Take(state.Parked)
	switch {
	case !ok:
		return nil, x.notTaken(requests.KeyState, errors.New("the call that it continues has ended; begin the request again without it"))
	case state.Content != x.content():
		return p, x.notTaken(requests.KeyState, errors.New("it continues a call with other arguments, which the server already works on"))
	}
	return p, nil
}

// proceed continues a call that waited. It is decided again, under the policy of now: what is denied now is cancelled.
func (x *exchange) proceed(ctx context.Context, p *parked) requests.Answer {
	x.held, x.era, x.startedAs, x.sent = p.held, p.conn.Info().Era, p.startedAs, true
	p.held = holding{}
	if answer := x.decideAgain(ctx, p.conn); answer != nil {
		p.call.Cancel(errNotContinued)
		return *answer
	}
	answers := input.Answers{}
	for key, answer := range x.answers {
		if slices.Contains(x.state.Keys, key) {
			answers[key] = answer
		}
	}
	p.call.Answer(answers)
	return x.checked(x.await(ctx, p.call, p.conn))
}

// decideAgain gives an answer where a call that waited may not go on.
func (x *exchange) decideAgain(ctx context.Context, conn upstream.Conn) *requests.Answer {
	var catalogue *upstream.Catalogue
	if x.Call.Method == mcp.MethodCallTool {
		var err error
		if catalogue, err = conn.Catalogue(ctx); err != nil {
			answer := x.failed(err)
			return &answer
		}
	}
	x.decide(catalogue)
	return x.settle(ctx, nil)
}
