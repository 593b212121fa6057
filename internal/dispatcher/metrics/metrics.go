// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics owns the Prometheus series of a dispatcher: their names, labels and bounds. docs/metrics.md lists them all.
//
// Labels never hold what a stranger chose: methods, protocol versions and error codes come from fixed lists, tools and rules
// from the registry document, and anything else is `_other`. It must not import Kubernetes, the API, or the packages that
// move messages.
package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

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
	records       *prometheus.CounterVec
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

func (m *Metrics) counterVec(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

func (m *Metrics) gauge(name, help string) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	m.registry.MustRegister(g)
	return g
}

func (m *Metrics) histogramVec(name, help string, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: operationBuckets}, labels)
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

// LabelledGaugeFunc adds one value of a gauge with a label.
func (m *Metrics) LabelledGaugeFunc(name, help, label, labelValue string, value func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help,
		ConstLabels: prometheus.Labels{label: labelValue}}, value))
}

// CounterFunc adds a counter that somebody else counts.
func (m *Metrics) CounterFunc(name, help string, value func() int64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(value()) }))
}
