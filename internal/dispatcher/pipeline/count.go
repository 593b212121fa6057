// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/audit"
	"toolgate.dev/toolgate/internal/dispatcher/metrics"
	"toolgate.dev/toolgate/internal/dispatcher/policy"
	"toolgate.dev/toolgate/internal/dispatcher/requests"
	"toolgate.dev/toolgate/internal/mcp"
	"toolgate.dev/toolgate/internal/registry"
)

// toolLabel is the tool's name where the registry knows it: a label must never hold what a client made up.
func (x *exchange) toolLabel() string {
	if x.Call.Tool == "" {
		return ""
	}
	if x.engine != nil && x.engine.Knows(x.Call.Tool) {
		return x.Call.Tool
	}
	return metrics.Other
}

// failure is how the answer failed, as whoever asked is told.
func (x *exchange) failure(a requests.Answer, outcome audit.Outcome) metrics.Failure {
	switch {
	case outcome == audit.ToolError:
		return metrics.Failure{Tool: true}
	case a.Cancelled:
		return metrics.Failure{Cancelled: true}
	case a.Refusal != nil && a.Refusal.AsResult(x.Call):
		return metrics.Failure{Tool: true}
	case a.Refusal != nil:
		return metrics.Failure{Code: a.Refusal.Kind.Code()}
	case a.Error != nil:
		return metrics.Failure{Code: a.Error.Code}
	default:
		return metrics.Failure{}
	}
}

func (x *exchange) count(a requests.Answer, outcome audit.Outcome, took time.Duration) {
	tool := x.toolLabel()
	x.Metrics.Served(metrics.Operation{Method: x.Call.Method, Tool: tool, Failure: x.failure(a, outcome),
		ProtocolVersion: x.Call.ProtocolVersion, Transport: metrics.TCP, Duration: took})
	if x.Call.Method == mcp.MethodCallTool {
		x.Metrics.Invoked(tool, string(outcome))
	}
	for _, hit := range x.decision.Rules.Warnings {
		x.Metrics.Decided(string(policy.StageRules), hit.Set+"/"+hit.Rule, metrics.Warn)
	}
	for _, hit := range x.decision.Rules.Audited {
		x.Metrics.Decided(string(policy.StageRules), hit.Set+"/"+hit.Rule, metrics.Audit)
	}
	for _, v := range x.decision.Violations {
		x.Metrics.Violated("arguments", v.Keyword)
	}
	if a.Refusal == nil {
		x.Metrics.Decided("", "", metrics.Allow)
		return
	}
	x.countRefusal(a.Refusal)
}

func (p *Pipeline) countRefusal(r *policy.Refusal) {
	action := metrics.Refuse
	if r.Kind == policy.NeedsConfirmation {
		action = metrics.Confirm
	}
	p.Metrics.Failed(string(r.Kind))
	p.Metrics.Decided(string(r.Stage), r.Rule, action)
	for _, v := range r.Violations {
		p.Metrics.Violated("arguments", v.Keyword)
	}
}

// forwarded counts one request to the server, and ends its span.
func (x *exchange) forwarded(a requests.Answer, version string, took time.Duration) {
	op := metrics.Operation{Method: x.Call.Method, Tool: x.toolLabel(), ProtocolVersion: version, Transport: x.transport(), Duration: took}
	if a.Refusal != nil {
		op.Failure.Code = a.Refusal.Kind.Code()
	} else {
		op.Failure = x.failure(a, x.outcome(a))
	}
	x.Metrics.Forwarded(op)
	if x.client != nil {
		x.client.End(x.ending(a, op.Failure))
	}
}

// transport is network.transport of OpenTelemetry's conventions for the way to the server.
func (x *exchange) transport() string {
	if x.engine.Snapshot().Document().Upstream.Transport == registry.TransportStdio {
		return metrics.Pipe
	}
	return metrics.TCP
}
