// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"toolgate.dev/toolgate/internal/jsonrpc"
)

// Request is a request of a client as its span tells it. Empty fields are left out.
type Request struct {
	// Name is the span's: the method, and the tool where it is known, so that no client can make up names without end.
	Name string

	Method, Tool, Prompt, URI, ProtocolVersion string
	// ID is the request's id as JSON.
	ID []byte
	// Client is the address of whoever asks.
	Client string
	// Parent and State are traceparent and tracestate of the request itself (W3C Trace Context), Ambient the traceparent of the
	// HTTP request that brought it, which is linked and is no parent.
	Parent, State, Ambient string
	Start                  time.Time
}

// Span is one span under way. It is for one goroutine at a time; End may be called once.
type Span struct {
	tracer *Tracer
	ctx    context.Context // it carries the span to its children, and no life
	span   trace.Span
	name   string
	common []attribute.KeyValue
}

// Serve begins the SERVER span of a request of a client.
func (t *Tracer) Serve(r Request) *Span {
	if t == nil {
		return nil
	}
	common := []attribute.KeyValue{attribute.String("mcp.method.name", r.Method)}
	if r.Tool != "" {
		common = append(common, attribute.String("gen_ai.tool.name", r.Tool), attribute.String("gen_ai.operation.name", "execute_tool"))
	}
	common = present(common, "gen_ai.prompt.name", r.Prompt)
	common = present(common, "mcp.resource.uri", r.URI)
	own := present(common[:len(common):len(common)], "mcp.protocol.version", r.ProtocolVersion)
	own = present(own, "jsonrpc.request.id", requestID(r.ID))
	own = present(own, "client.address", r.Client)
	own = append(own, attribute.String("network.transport", "tcp"), attribute.String("network.protocol.name", "http"))
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(r.Start), trace.WithAttributes(own...)}
	if ambient := remote(r.Ambient, ""); ambient.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: ambient}))
	}
	ctx := trace.ContextWithRemoteSpanContext(context.Background(), remote(r.Parent, r.State))
	s := &Span{tracer: t, name: r.Name, common: common}
	s.ctx, s.span = t.tracer.Start(ctx, s.name, options...)
	return s
}

// requestID is the string representation of an id.
func requestID(raw []byte) string {
	if text, ok := jsonrpc.String(raw); ok {
		return text
	}
	return string(raw)
}

func present(to []attribute.KeyValue, key, value string) []attribute.KeyValue {
	if value == "" {
		return to
	}
	return append(to, attribute.String(key, value))
}

var w3c propagation.TraceContext

// remote reads a trace context; what is not valid is none.
func remote(parent, state string) trace.SpanContext {
	if parent == "" {
		return trace.SpanContext{}
	}
	ctx := w3c.Extract(context.Background(), propagation.MapCarrier{"traceparent": parent, "tracestate": state})
	return trace.SpanContextFromContext(ctx)
}

// Upstream is the server as a CLIENT span tells it.
type Upstream struct {
	ProtocolVersion string
	// Transport is network.transport: pipe or tcp. Address and Port are there for tcp alone.
	Transport, Address string
	Port               int
	Start              time.Time
}

// Call begins the CLIENT span of the request that is forwarded.
func (s *Span) Call(u Upstream) *Span {
	if s == nil {
		return nil
	}
	own := present(s.common[:len(s.common):len(s.common)], "mcp.protocol.version", u.ProtocolVersion)
	own = present(own, "network.transport", u.Transport)
	own = present(own, "server.address", u.Address)
	if u.Port != 0 {
		own = append(own, attribute.Int("server.port", u.Port))
	}
	c := &Span{tracer: s.tracer, name: s.name}
	c.ctx, c.span = s.tracer.tracer.Start(s.ctx, s.name, trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(u.Start), trace.WithAttributes(own...))
	return c
}

// IDs are the trace's and the span's, in hex; empty for a nil Span.
func (s *Span) IDs() (traceID, spanID string) {
	if s == nil {
		return "", ""
	}
	c := s.span.SpanContext()
	return c.TraceID().String(), c.SpanID().String()
}

// Sampled says whether the span is one of those that are sent.
func (s *Span) Sampled() bool { return s != nil && s.span.SpanContext().IsSampled() }

// Question is a request of a server to a client as its span tells it. Empty fields are left out.
type Question struct {
	Method string
	// Client is the address of whoever is asked.
	Client string
	// TraceID and Parent, in hex, are of the span of the client's request that the question belongs to; empty for none. Sampled
	// says whether that is sent: the question's is, or is not, with it.
	TraceID, Parent string
	Sampled         bool
	Start           time.Time
	End             Ending
}

// Asked makes the CLIENT span of a question that has been answered: towards the client the dispatcher is the one that asks.
func (t *Tracer) Asked(q Question) (traceID, spanID string) {
	if t == nil {
		return "", ""
	}
	flags := "00"
	if q.Sampled {
		flags = "01"
	}
	ctx := context.Background()
	if q.Parent != "" {
		ctx = trace.ContextWithRemoteSpanContext(ctx, remote("00-"+q.TraceID+"-"+q.Parent+"-"+flags, ""))
	}
	own := present([]attribute.KeyValue{attribute.String("mcp.method.name", q.Method)}, "client.address", q.Client)
	s := &Span{tracer: t}
	s.ctx, s.span = t.tracer.Start(ctx, q.Method, trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(q.Start), trace.WithAttributes(own...))
	s.End(q.End)
	return s.IDs()
}

// Inject gives params in whose _meta the span is the parent: traceparent and tracestate are its own, all other bytes stay.
func (s *Span) Inject(params []byte) []byte {
	if s == nil {
		return params
	}
	carrier := propagation.MapCarrier{}
	w3c.Inject(s.ctx, carrier)
	meta, _ := jsonrpc.Member(params, "_meta")
	edits := []jsonrpc.Edit{{Key: "traceparent", Raw: jsonrpc.AppendString(nil, carrier["traceparent"])}, {Key: "tracestate"}}
	if state := carrier["tracestate"]; state != "" {
		edits[1].Raw = jsonrpc.AppendString(nil, state)
	}
	return jsonrpc.ReplaceMembers(params, jsonrpc.Edit{Key: "_meta", Raw: jsonrpc.ReplaceMembers(meta, edits...)})
}

// Ending is how a request ended; all fields are empty for one that went well.
type Ending struct {
	// ErrorType is error.type of the conventions, Code the JSON-RPC error code, Message its text.
	ErrorType, Code, Message string
	// Stage, Reason and Rule are those of a refusal.
	Stage, Reason, Rule string
	At                  time.Time
}

// End ends the span.
func (s *Span) End(e Ending) {
	if s == nil {
		return
	}
	if e.ErrorType != "" {
		attributes := []attribute.KeyValue{attribute.String("error.type", e.ErrorType)}
		attributes = present(attributes, "rpc.response.status_code", e.Code)
		attributes = present(attributes, "toolgate.stage", e.Stage)
		attributes = present(attributes, "toolgate.reason", e.Reason)
		attributes = present(attributes, "toolgate.rule", e.Rule)
		s.span.SetAttributes(attributes...)
		s.span.SetStatus(codes.Error, e.Message)
	}
	s.span.End(trace.WithTimestamp(e.At))
}
