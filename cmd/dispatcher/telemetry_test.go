// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/dispatcher"
)

func TestTelemetryFromTheEnvironment(t *testing.T) {
	const base, traces, headers = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS"
	const logs, metrics = "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
	for name, tc := range map[string]struct {
		env     map[string]string
		want    dispatcher.Telemetry
		wantErr string
	}{
		"nothing is set": {nil, dispatcher.Telemetry{}, ""},
		"a base": {map[string]string{base: "http://127.0.0.1:4318/"}, dispatcher.Telemetry{TracesURL: "http://127.0.0.1:4318/v1/traces",
			LogsURL: "http://127.0.0.1:4318/v1/logs", MetricsURL: "http://127.0.0.1:4318/v1/metrics"}, ""},
		"a base with a path": {map[string]string{base: "https://x.test/otlp"}, dispatcher.Telemetry{TracesURL: "https://x.test/otlp/v1/traces",
			LogsURL: "https://x.test/otlp/v1/logs", MetricsURL: "https://x.test/otlp/v1/metrics"}, ""},
		"signals as they stand": {map[string]string{base: "http://a", traces: "http://b/c", logs: "http://d"}, dispatcher.Telemetry{TracesURL: "http://b/c",
			LogsURL: "http://d", MetricsURL: "http://a/v1/metrics"}, ""},
		"metrics alone": {map[string]string{metrics: "http://b/c"}, dispatcher.Telemetry{MetricsURL: "http://b/c"}, ""},
		"headers": {map[string]string{base: "http://a", headers: "Authorization=Bearer%20x, b=c"}, dispatcher.Telemetry{TracesURL: "http://a/v1/traces", LogsURL: "http://a/v1/logs",
			MetricsURL: "http://a/v1/metrics", Headers: map[string]string{"Authorization": "Bearer x", "b": "c"}}, ""},
		"headers alone":         {map[string]string{headers: "a=b"}, dispatcher.Telemetry{}, ""},
		"switched off":          {map[string]string{base: "http://a", "OTEL_SDK_DISABLED": "TRUE"}, dispatcher.Telemetry{}, ""},
		"an endpoint of gRPC":   {map[string]string{base: "127.0.0.1:4317"}, dispatcher.Telemetry{}, base + ` "127.0.0.1:4317" is not an http or https URL`},
		"headers that are none": {map[string]string{base: "http://a", headers: "secret"}, dispatcher.Telemetry{}, "not name=value"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := telemetry(func(key string) string { return tc.env[key] })
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) || strings.Contains(err.Error(), "secret") {
					t.Errorf("got %v, want %q", err, tc.wantErr)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}
