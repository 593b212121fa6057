// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"cmp"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/audit"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/requests"
	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/mcp"
	"toolgate.dev/toolgate/internal/registry"
)

// recordStart writes the record that a request is about to be forwarded, where it is a call that may change something or
// must not happen unrecorded: a missing end then reads as unknown. The refusal says that it cannot be recorded. A second try
// of the same request is not started anew.
func (x *exchange) recordStart() *policy.Refusal {
	block := x.mustRecord()
	if x.startedAs != 0 || !block && (x.Call.Method != mcp.MethodCallTool || x.decision.Effective.ReadOnly) {
		return nil
	}
	r := x.base(audit.Started)
	r.ArgumentsDigest, r.ArgumentsBytes = x.Audit.Digest(x.Call.Arguments), len(x.Call.Arguments)
	x.payloads.Load().Fill(&r, x.Call.Arguments, nil)
	var err error
	x.startedAs, err = x.Audit.Write(r)
	x.Metrics.Recorded(err)
	if err == nil {
		return nil
	}
	x.Log.Error("audit record lost", "method", x.Call.Method, "tool", x.Call.Tool, "refused", block, "err", err)
	if !block {
		return nil
	}
	return &policy.Refusal{Kind: policy.Denied, Stage: policy.StageUpstream, Tool: x.Call.Tool, Reason: "NotRecorded",
		Message: "The request cannot be recorded at this moment, and one like it is not made unrecorded. Try again later."}
}

// mustRecord says whether the request does not happen when it cannot be recorded.
func (x *exchange) mustRecord() bool {
	switch x.engine.Snapshot().Document().Policy.Audit.OnFailure {
	case registry.AuditContinue:
		return false
	case registry.AuditBlock:
		return x.ofConsequence()
	case registry.AuditBlockDestructive:
	}
	return x.decision.Effective.Destructive // also where nothing is said; a document with another word is refused
}

// base is what all records of an exchange share.
func (x *exchange) base(outcome audit.Outcome) audit.Record {
	r := audit.Record{
		Time: x.Now().UTC(), TraceID: x.Trace.ID, Span: x.Trace.Span, Parent: x.Trace.Parent,
		Caller: x.Caller.Name(), Client: x.Caller.Client,
		Server: x.ServerName(), Method: x.Call.Method, Tool: x.Call.Tool, Outcome: outcome,
		ToolDigest: x.decision.Tool.Digest,
	}
	if x.engine != nil {
		r.RegistryDigest = x.engine.Snapshot().Digest()
	}
	return r
}

// ofConsequence says which requests are recorded even where they succeed.
func (x *exchange) ofConsequence() bool {
	switch x.Call.Method {
	case mcp.MethodCallTool, mcp.MethodReadResource, mcp.MethodGetPrompt:
		return true
	default:
		return false
	}
}

func (x *exchange) record(a requests.Answer, outcome audit.Outcome) {
	now := x.Now()
	x.count(a, outcome, now.Sub(x.start))
	if outcome == audit.Success && !x.ofConsequence() {
		return
	}
	r := x.base(outcome)
	r.Stages, r.StartedAs = x.decision.Stages, x.startedAs
	r.Duration = milliseconds(now.Sub(x.start))
	r.ArgumentsDigest, r.ArgumentsBytes = x.Audit.Digest(x.Call.Arguments), len(x.Call.Arguments)
	r.ResultDigest, r.ResultBytes = x.Audit.Digest(a.Result), len(a.Result)
	x.payloads.Load().Fill(&r, x.Call.Arguments, a.Result)
	if a.Refusal != nil {
		r.Kind, r.Reason, r.Rule = a.Refusal.Kind, a.Refusal.Reason, a.Refusal.Rule
	}
	for _, hit := range x.decision.Rules.Audited {
		r.Audited = append(r.Audited, hit.Set+"/"+hit.Rule)
	}
	x.write(r)
}

// RecordRefusal records and counts the refusal of a message that never became a request: one that is no strict JSON, has
// the wrong headers, or asks of a client what policy denies.
func (p *Pipeline) RecordRefusal(c requests.Caller, method string, refusal *policy.Refusal) {
	p.countRefusal(refusal)
	p.write(audit.Record{
		Time: p.Now().UTC(), TraceID: requests.NewTrace("").ID, Caller: c.Name(), Client: c.Client, Server: p.ServerName(),
		Method: method, Tool: refusal.Tool, Outcome: refusalOutcome(refusal), Kind: refusal.Kind, Reason: refusal.Reason, Rule: refusal.Rule,
	})
}

// RecordAsk records a request of the server to a client: the caller here is who was asked, and trace that of the client's
// request that it belongs to, nil if none is known.
func (p *Pipeline) RecordAsk(c requests.Caller, trace *requests.Trace, event upstream.Event, reply upstream.Reply, asked time.Time) {
	now := p.Now()
	r := audit.Record{
		Time: now.UTC(), Caller: c.Name(), Client: c.Client, Server: p.ServerName(), Method: event.Method,
		Outcome: audit.Success, Duration: milliseconds(now.Sub(asked)),
		ArgumentsDigest: p.Audit.Digest(event.Params), ArgumentsBytes: len(event.Params),
		ResultDigest: p.Audit.Digest(reply.Result), ResultBytes: len(reply.Result),
	}
	traceID, span := p.asked(c, trace, event.Method, &reply, asked)
	if trace == nil {
		trace = &requests.Trace{ID: cmp.Or(traceID, requests.NewTrace("").ID)}
	}
	r.TraceID, r.Span, r.Parent = trace.ID, span, cmp.Or(trace.Span, trace.Parent)
	if reply.Error != nil {
		r.Outcome = audit.Failed
	}
	p.payloads.Load().Fill(&r, event.Params, reply.Result)
	p.write(r)
}

func (p *Pipeline) write(r audit.Record) {
	_, err := p.Audit.Write(r)
	p.Metrics.Recorded(err)
	if err != nil {
		p.Log.Error("audit record lost", "method", r.Method, "err", err)
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
