// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"net/url"
	"strconv"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/audit"
	"toolgate.dev/toolgate/internal/dispatcher/metrics"
	"toolgate.dev/toolgate/internal/dispatcher/requests"
	"toolgate.dev/toolgate/internal/dispatcher/tracing"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/jsonrpc"
)

// UseTracer makes the spans of requests that begin from now on; nil makes none.
func (p *Pipeline) UseTracer(t *tracing.Tracer) { p.tracer.Store(t) }

// beginSpan begins the span of the request. Where spans are made, the trace is the span's.
func (x *exchange) beginSpan() {
	tracer := x.tracer.Load()
	if tracer == nil {
		return
	}
	name := metrics.KnownMethod(x.Call.Method)
	if tool := x.toolLabel(); tool != "" && tool != metrics.Other {
		name += " " + tool
	}
	r := tracing.Request{
		Name: name, Method: x.Call.Method, Tool: x.Call.Tool, Prompt: x.Call.Name, URI: x.Call.URI, ProtocolVersion: x.Call.ProtocolVersion,
		ID: x.ID, Client: x.Caller.Address, Parent: x.Trace.Context, State: x.Trace.State, Ambient: x.Trace.Ambient, Start: x.start,
	}
	if r.Parent != "" && r.State == "" {
		meta, _ := jsonrpc.Member(x.Params, "_meta")
		state, _ := jsonrpc.Member(meta, "tracestate")
		r.State, _ = jsonrpc.String(state)
	}
	x.span = tracer.Serve(r)
	x.Trace.ID, x.Trace.Span = x.span.IDs()
	x.Trace.Sampled = x.span.Sampled()
}

// asked makes the span of a request of the server to a client, below that of the client's request that it belongs to, and gives
// its ids; they are empty where no spans are made.
func (p *Pipeline) asked(c requests.Caller, trace *requests.Trace, method string, reply *upstream.Reply, start time.Time) (traceID, spanID string) {
	q := tracing.Question{Method: metrics.KnownMethod(method), Client: c.Address, Start: start, End: tracing.Ending{At: p.Now()}}
	if trace != nil && trace.Span != "" {
		q.TraceID, q.Parent, q.Sampled = trace.ID, trace.Span, trace.Sampled
	}
	if e := reply.Error; e != nil {
		q.End.Code = strconv.FormatInt(e.Code, 10)
		q.End.ErrorType, q.End.Message = q.End.Code, e.Message
	}
	return p.tracer.Load().Asked(q)
}

// beginForward begins the span of the request to the server, which is then the parent that the params name.
func (x *exchange) beginForward(conn upstream.Conn) {
	if x.span == nil {
		return
	}
	to := tracing.Upstream{ProtocolVersion: conn.Info().ProtocolVersion, Transport: x.transport(), Start: x.Now()}
	if to.Transport == metrics.TCP {
		if address, err := url.Parse(x.engine.Snapshot().Document().Upstream.URL); err == nil {
			to.Address = address.Hostname()
			to.Port, _ = strconv.Atoi(address.Port()) // 0 where the scheme says it
		}
	}
	x.client = x.span.Call(to)
	x.Params = x.client.Inject(x.Params)
}

// ending tells an answer as a span's end.
func (x *exchange) ending(a requests.Answer, f metrics.Failure) tracing.Ending {
	e := tracing.Ending{At: x.Now()}
	if f == (metrics.Failure{}) {
		return e
	}
	e.ErrorType, _ = f.Labels()
	if f.Code != 0 { // a span may hold a code that nobody knows
		e.Code = strconv.FormatInt(f.Code, 10)
		e.ErrorType = e.Code
	}
	switch {
	case a.Refusal != nil:
		e.Message, e.Stage, e.Reason, e.Rule = a.Refusal.Message, string(a.Refusal.Stage), a.Refusal.Reason, a.Refusal.Rule
	case a.Error != nil:
		e.Message = a.Error.Message
	}
	return e
}

func (x *exchange) endSpan(a requests.Answer, outcome audit.Outcome) {
	if x.span != nil {
		x.span.End(x.ending(a, x.failure(a, outcome)))
	}
}
