// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"toolgate.dev/toolgate/internal/mcp"
)

// operationBuckets are those of OpenTelemetry's MCP conventions, in seconds.
var operationBuckets = []float64{.01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60, 120, 300}

// exchangeBuckets begin below a millisecond, where most exchanges with a server in the pod are.
var exchangeBuckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

// operationLabels are the attributes of the conventions, with dots written as Prometheus has them.
var operationLabels = []string{"mcp_method_name", "gen_ai_operation_name", "gen_ai_tool_name", "error_type", "rpc_response_status_code",
	"mcp_protocol_version", "network_transport"}

// conventions are the names of OpenTelemetry's MCP conventions, and those that dashboards of earlier systems expect.
func (m *Metrics) conventions() {
	m.serverDuration = m.histogramVec("mcp_server_operation_duration_seconds",
		"Duration of a request of a client, from its last byte read to its answer, in seconds.", operationLabels...)
	m.clientDuration = m.histogramVec("mcp_client_operation_duration_seconds",
		"Duration of a request to the server until its answer, in seconds.", operationLabels...)
	m.exchanges = m.counterVec("mcp_context_exchanges_total", "Requests of clients, by method.", "method")
	m.exchangeTime = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "mcp_context_exchange_duration_seconds", Help: "Duration of a request of a client, in seconds.", Buckets: exchangeBuckets})
	m.registry.MustRegister(m.exchangeTime)
	m.health = m.gauge("mcp_server_health_status", "1 while the server answers its probes, 0 otherwise.")
	m.invocations = m.counterVec("mcp_tool_invocations_total", "Calls of tools, by outcome.", "tool", "outcome")
	m.errors = m.counterVec("mcp_errors_total", "Refusals and failures, by kind.", "kind")
}

// Operation is one request of a client or to the server.
type Operation struct {
	Method string
	// Tool is a name from the registry, else Other; empty for methods that have none.
	Tool string
	// Failure says how it failed; the zero value that it did not.
	Failure         Failure
	ProtocolVersion string
	// Transport is that of the connection: TCP or Pipe.
	Transport string
	Duration  time.Duration
}

// The transports of OpenTelemetry's network.transport that a dispatcher has.
const (
	TCP  = "tcp"
	Pipe = "pipe"
)

// Failure is how an operation failed: at most one of its fields is set.
type Failure struct {
	// Code is that of a JSON-RPC error.
	Code int64
	// Tool says that the result has isError.
	Tool bool
	// Cancelled says that the client gave up.
	Cancelled bool
}

// Labels are error.type and rpc.response.status_code of the conventions; both empty where nothing failed. A code that is in
// no list of ours is `_OTHER`, the conventions' word: a server could make up a new one each time.
func (f Failure) Labels() (errorType, code string) {
	switch {
	case f.Tool:
		return "tool_error", ""
	case f.Cancelled:
		return "cancelled", ""
	case f.Code == 0:
		return "", ""
	case !codes[f.Code]:
		return "_OTHER", "_OTHER"
	}
	text := strconv.FormatInt(f.Code, 10)
	return text, text
}

// labels are an array, so that counting takes no memory.
func (o Operation) labels() [7]string {
	errorType, code := o.Failure.Labels()
	name := ""
	if o.Method == mcp.MethodCallTool {
		name = "execute_tool"
	}
	return [7]string{KnownMethod(o.Method), name, o.Tool, errorType, code, knownVersion(o.ProtocolVersion), o.Transport}
}

// Served counts one request of a client.
func (m *Metrics) Served(op Operation) {
	seconds := op.Duration.Seconds()
	labels := op.labels()
	m.serverDuration.WithLabelValues(labels[:]...).Observe(seconds)
	m.exchanges.WithLabelValues(KnownMethod(op.Method)).Inc()
	m.exchangeTime.Observe(seconds)
}

// Forwarded counts one request to the server.
func (m *Metrics) Forwarded(op Operation) {
	labels := op.labels()
	m.clientDuration.WithLabelValues(labels[:]...).Observe(op.Duration.Seconds())
}

// Invoked counts one call of a tool; outcome is that of its audit record.
func (m *Metrics) Invoked(tool, outcome string) { m.invocations.WithLabelValues(tool, outcome).Inc() }

// Failed counts one error by its kind.
func (m *Metrics) Failed(kind string) { m.errors.WithLabelValues(kind).Inc() }

// Healthy sets the health of the server.
func (m *Metrics) Healthy(healthy bool) {
	if healthy {
		m.health.Set(1)
		return
	}
	m.health.Set(0)
}
