// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"math"
	"time"

	dto "github.com/prometheus/client_model/go"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
)

// conventional are the series that have a name and a unit in OpenTelemetry's conventions for MCP; all others keep theirs.
var conventional = map[string][2]string{
	"mcp_server_operation_duration_seconds": {"mcp.server.operation.duration", "s"},
	"mcp_client_operation_duration_seconds": {"mcp.client.operation.duration", "s"},
}

// conventionalLabels are the labels that have one there.
var conventionalLabels = map[string]string{
	"mcp_method_name": "mcp.method.name", "gen_ai_operation_name": "gen_ai.operation.name", "gen_ai_tool_name": "gen_ai.tool.name",
	"error_type": "error.type", "rpc_response_status_code": "rpc.response.status_code", "mcp_protocol_version": "mcp.protocol.version",
	"network_transport": "network.transport",
}

// span is the time that cumulative series speak of.
type span struct{ start, now uint64 }

func between(start, now time.Time) span {
	return span{uint64(start.UnixNano()), uint64(now.UnixNano())}
}

// series makes one message of what was gathered.
func (s Source) series(families []*dto.MetricFamily, at span) *metricspb.MetricsData {
	scope := &metricspb.ScopeMetrics{Scope: s.scope()}
	for _, family := range families {
		if m := metric(family, at); m != nil {
			scope.Metrics = append(scope.Metrics, m)
		}
	}
	return &metricspb.MetricsData{ResourceMetrics: []*metricspb.ResourceMetrics{{Resource: s.resource(), ScopeMetrics: []*metricspb.ScopeMetrics{scope}}}}
}

// metric is one family as OTLP has it (OpenTelemetry's "Prometheus and OpenMetrics Compatibility"); nil for a type that is not
// served here.
func metric(f *dto.MetricFamily, at span) *metricspb.Metric {
	m := &metricspb.Metric{Name: f.GetName(), Description: f.GetHelp()}
	if c, ok := conventional[m.Name]; ok {
		m.Name, m.Unit = c[0], c[1]
	}
	const cumulative = metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
	switch f.GetType() {
	case dto.MetricType_COUNTER:
		sum := &metricspb.Sum{AggregationTemporality: cumulative, IsMonotonic: true}
		for _, one := range f.GetMetric() {
			sum.DataPoints = append(sum.DataPoints, number(one, one.GetCounter().GetValue(), at))
		}
		m.Data = &metricspb.Metric_Sum{Sum: sum}
	case dto.MetricType_GAUGE, dto.MetricType_UNTYPED:
		gauge := &metricspb.Gauge{}
		for _, one := range f.GetMetric() {
			gauge.DataPoints = append(gauge.DataPoints, number(one, one.GetGauge().GetValue()+one.GetUntyped().GetValue(), span{now: at.now}))
		}
		m.Data = &metricspb.Metric_Gauge{Gauge: gauge}
	case dto.MetricType_HISTOGRAM:
		histogram := &metricspb.Histogram{AggregationTemporality: cumulative}
		for _, one := range f.GetMetric() {
			histogram.DataPoints = append(histogram.DataPoints, distribution(one, at))
		}
		m.Data = &metricspb.Metric_Histogram{Histogram: histogram}
	case dto.MetricType_SUMMARY:
		summary := &metricspb.Summary{}
		for _, one := range f.GetMetric() {
			summary.DataPoints = append(summary.DataPoints, quantiles(one, at))
		}
		m.Data = &metricspb.Metric_Summary{Summary: summary}
	case dto.MetricType_GAUGE_HISTOGRAM:
		return nil // none is made here
	default:
		return nil // likewise
	}
	return m
}

func number(m *dto.Metric, value float64, at span) *metricspb.NumberDataPoint {
	return &metricspb.NumberDataPoint{
		Attributes: attributes(m), StartTimeUnixNano: at.start, TimeUnixNano: at.now, Value: &metricspb.NumberDataPoint_AsDouble{AsDouble: value},
	}
}

// distribution counts each bucket by itself, which Prometheus counts with all below it, and adds the last one, without a bound.
func distribution(m *dto.Metric, at span) *metricspb.HistogramDataPoint {
	h := m.GetHistogram()
	sum := h.GetSampleSum()
	out := &metricspb.HistogramDataPoint{
		Attributes: attributes(m), StartTimeUnixNano: at.start, TimeUnixNano: at.now, Count: h.GetSampleCount(), Sum: &sum,
	}
	var below uint64
	for _, b := range h.GetBucket() {
		if math.IsInf(b.GetUpperBound(), 1) {
			break
		}
		out.ExplicitBounds = append(out.ExplicitBounds, b.GetUpperBound())
		out.BucketCounts = append(out.BucketCounts, b.GetCumulativeCount()-below)
		below = b.GetCumulativeCount()
	}
	out.BucketCounts = append(out.BucketCounts, h.GetSampleCount()-below)
	return out
}

func quantiles(m *dto.Metric, at span) *metricspb.SummaryDataPoint {
	s := m.GetSummary()
	out := &metricspb.SummaryDataPoint{
		Attributes: attributes(m), StartTimeUnixNano: at.start, TimeUnixNano: at.now, Count: s.GetSampleCount(), Sum: s.GetSampleSum(),
	}
	for _, q := range s.GetQuantile() {
		out.QuantileValues = append(out.QuantileValues, &metricspb.SummaryDataPoint_ValueAtQuantile{Quantile: q.GetQuantile(), Value: q.GetValue()})
	}
	return out
}

// attributes leave out what is empty: there an empty label says that there is nothing to say.
func attributes(m *dto.Metric) []*commonpb.KeyValue {
	var out []*commonpb.KeyValue
	for _, l := range m.GetLabel() {
		if l.GetValue() == "" {
			continue
		}
		name := l.GetName()
		if c, ok := conventionalLabels[name]; ok {
			name = c
		}
		out = append(out, text(name, l.GetValue()))
	}
	return out
}
