// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics owns the Prometheus series of a dispatcher: their names, labels and bounds.
//
// Labels never hold what a stranger chose: methods come from a fixed list, tools from the registry, and anything else is
// `_other`. It must not import Kubernetes, the API, or the packages that move messages.
package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Other stands for a method or a tool that is not known.
const Other = "_other"

// durations are the buckets that OpenTelemetry's MCP conventions recommend for operations, in seconds.
var durations = []float64{.001, .005, .01, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60, 120, 300}

// Metrics are the series of one dispatcher. It is safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	serverDuration *prometheus.HistogramVec
	clientDuration *prometheus.HistogramVec
	exchanges      *prometheus.CounterVec
	exchangeTime   prometheus.Histogram
	health         prometheus.Gauge
	invocations    *prometheus.CounterVec
	errors         *prometheus.CounterVec

	decisions     *prometheus.CounterVec
	violations    *prometheus.CounterVec
	confirmations *prometheus.CounterVec
	reloads       *prometheus.CounterVec
	dropped       *prometheus.CounterVec
	handovers     *prometheus.CounterVec
	bytes         *prometheus.CounterVec
	sessions      prometheus.Gauge
	inFlight      prometheus.Gauge
}

// New makes the series, all at zero, with those of the Go runtime and the process.
func New() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.conventions()
	m.own()
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// conventions are the names of OpenTelemetry's MCP conventions, and those that dashboards of earlier systems expect.
func (m *Metrics) conventions() {
	m.serverDuration = m.histogramVec("mcp_server_operation_duration_seconds",
		"Duration of a request of a client, from its last byte read to its answer, in seconds.",
		"mcp_method_name", "gen_ai_tool_name", "error_type", "mcp_protocol_version")
	m.clientDuration = m.histogramVec("mcp_client_operation_duration_seconds",
		"Duration of a request to the server, in seconds.", "mcp_method_name", "gen_ai_tool_name", "error_type")
	m.exchanges = m.counterVec("mcp_context_exchanges_total", "Messages of clients, by method.", "method")
	m.exchangeTime = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "mcp_context_exchange_duration_seconds", Help: "Duration of an exchange with a client, in seconds.", Buckets: durations})
	m.health = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "mcp_server_health_status", Help: "1 while the server answers its probes, 0 otherwise."})
	m.invocations = m.counterVec("mcp_tool_invocations_total", "Calls of tools, by outcome.", "tool", "outcome")
	m.errors = m.counterVec("mcp_errors_total", "Refusals and failures, by kind.", "kind")
	m.registry.MustRegister(m.exchangeTime, m.health)
}

// own are the series that only Toolgate has.
func (m *Metrics) own() {
	m.decisions = m.counterVec("toolgate_policy_decisions_total", "Decisions on messages, by the stage and the rule that decided.",
		"stage", "rule", "action")
	m.violations = m.counterVec("toolgate_schema_violations_total", "Violations of schemas, by keyword.", "subject", "keyword")
	m.confirmations = m.counterVec("toolgate_confirmations_total", "Confirmations of calls by people, by what became of them.", "outcome")
	m.reloads = m.counterVec("toolgate_registry_reloads_total", "Readings of the registry document that changed something.", "result")
	m.dropped = m.counterVec("toolgate_messages_dropped_total", "Messages of the server that had no owner or no room.", "reason")
	m.handovers = m.counterVec("toolgate_handovers_total", "Requests for a session that another replica holds.", "result")
	m.bytes = m.counterVec("toolgate_bytes_total", "Bytes of messages from and to clients.", "direction")
	m.sessions = prometheus.NewGauge(prometheus.GaugeOpts{Name: "toolgate_sessions", Help: "Open sessions of clients."})
	m.inFlight = prometheus.NewGauge(prometheus.GaugeOpts{Name: "toolgate_calls_in_flight", Help: "Requests that wait for the server."})
	m.registry.MustRegister(m.sessions, m.inFlight)
}

func (m *Metrics) counterVec(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

func (m *Metrics) histogramVec(name, help string, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: durations}, labels)
	m.registry.MustRegister(v)
	return v
}

// Handler answers GET /metrics in the format that the scraper asks for.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Registry is where the series are, for tests and for gauges that others compute.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }

// GaugeFunc adds a gauge that is computed when it is read.
func (m *Metrics) GaugeFunc(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
}

// CounterFunc adds a counter that somebody else counts.
func (m *Metrics) CounterFunc(name, help string, value func() int64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(value()) }))
}

// Operation is one request of a client or to the server.
type Operation struct {
	Method string
	// Tool is a name from the registry, else Other; empty for methods that have none.
	Tool string
	// ErrorType is empty on success, `tool_error` for a result with isError, else the kind of the error.
	ErrorType       string
	ProtocolVersion string
	Duration        time.Duration
}

// Served counts one request of a client.
func (m *Metrics) Served(op Operation) {
	method := knownMethod(op.Method)
	m.serverDuration.WithLabelValues(method, op.Tool, op.ErrorType, op.ProtocolVersion).Observe(op.Duration.Seconds())
	m.exchanges.WithLabelValues(method).Inc()
	m.exchangeTime.Observe(op.Duration.Seconds())
}

// Forwarded counts one request to the server.
func (m *Metrics) Forwarded(op Operation) {
	m.clientDuration.WithLabelValues(knownMethod(op.Method), op.Tool, op.ErrorType).Observe(op.Duration.Seconds())
}

// Invoked counts one call of a tool; outcome is that of its audit record.
func (m *Metrics) Invoked(tool, outcome string) { m.invocations.WithLabelValues(tool, outcome).Inc() }

// Failed counts one error by its kind.
func (m *Metrics) Failed(kind string) { m.errors.WithLabelValues(kind).Inc() }

// Decided counts one decision; rule is empty where none decided.
func (m *Metrics) Decided(stage, rule, action string) {
	m.decisions.WithLabelValues(stage, rule, action).Inc()
}

// Violated counts one violation of a schema; subject is arguments or result.
func (m *Metrics) Violated(subject, keyword string) {
	m.violations.WithLabelValues(subject, keyword).Inc()
}

// Confirmation counts what became of the confirmation of a call: Asked, Confirmed, or the reason of a refusal.
func (m *Metrics) Confirmation(outcome string) { m.confirmations.WithLabelValues(outcome).Inc() }

// Reloaded counts one reading of the registry document; result is applied or refused.
func (m *Metrics) Reloaded(result string) { m.reloads.WithLabelValues(result).Inc() }

// Healthy sets the health of the server.
func (m *Metrics) Healthy(healthy bool) {
	if healthy {
		m.health.Set(1)
		return
	}
	m.health.Set(0)
}

// Dropped counts a message that reached nobody.
func (m *Metrics) Dropped(reason string) { m.dropped.WithLabelValues(reason).Inc() }

// Received counts bytes from clients, Sent bytes to them.
func (m *Metrics) Received(n int) { m.bytes.WithLabelValues("in").Add(float64(n)) }

// Sent counts bytes to clients.
func (m *Metrics) Sent(n int) { m.bytes.WithLabelValues("out").Add(float64(n)) }

// SessionOpened and SessionClosed move the gauge of sessions.
func (m *Metrics) SessionOpened() { m.sessions.Inc() }

// SessionClosed is the other half of SessionOpened.
func (m *Metrics) SessionClosed() { m.sessions.Dec() }

// CallStarted and CallEnded move the gauge of calls in flight.
func (m *Metrics) CallStarted() { m.inFlight.Inc() }

// CallEnded is the other half of CallStarted.
func (m *Metrics) CallEnded() { m.inFlight.Dec() }

// HandedOver counts a request that was for another replica: done, or gone where that replica is not there any more.
func (m *Metrics) HandedOver(ok bool) {
	result := "gone"
	if ok {
		result = "done"
	}
	m.handovers.WithLabelValues(result).Inc()
}
