// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"toolgate.dev/toolgate/internal/dispatcher"
)

// signals are the kinds of telemetry: the name in OpenTelemetry's variables, the path below a base, and where the URL goes.
var signals = []struct {
	name, path string
	url        func(*dispatcher.Telemetry) *string
}{
	{"TRACES", "/v1/traces", func(t *dispatcher.Telemetry) *string { return &t.TracesURL }},
	{"LOGS", "/v1/logs", func(t *dispatcher.Telemetry) *string { return &t.LogsURL }},
	{"METRICS", "/v1/metrics", func(t *dispatcher.Telemetry) *string { return &t.MetricsURL }},
}

// telemetry reads where spans, audit records (as logs) and metrics go from the variables that OpenTelemetry defines for it (OTLP
// exporter configuration): OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, _LOGS_ENDPOINT and _METRICS_ENDPOINT, or
// OTEL_EXPORTER_OTLP_ENDPOINT with /v1/traces and so on below it, OTEL_EXPORTER_OTLP_HEADERS and OTEL_SDK_DISABLED.
func telemetry(getenv func(string) string) (dispatcher.Telemetry, error) {
	var t dispatcher.Telemetry
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return t, nil
	}
	for _, s := range signals {
		const base = "OTEL_EXPORTER_OTLP_ENDPOINT"
		name, path := "OTEL_EXPORTER_OTLP_"+s.name+"_ENDPOINT", ""
		endpoint := getenv(name)
		if endpoint == "" {
			name, path, endpoint = base, s.path, getenv(base)
		}
		if endpoint == "" {
			continue
		}
		if u, err := url.Parse(endpoint); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return t, fmt.Errorf("%s %q is not an http or https URL, such as http://127.0.0.1:4318", name, endpoint)
		}
		if path != "" {
			endpoint = strings.TrimSuffix(endpoint, "/") + path
		}
		*s.url(&t) = endpoint
	}
	if t.TracesURL+t.LogsURL+t.MetricsURL == "" {
		return t, nil
	}
	return t, readHeaders(&t, cmp.Or(getenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS"), getenv("OTEL_EXPORTER_OTLP_HEADERS")))
}

// readHeaders reads name=value pairs, percent-encoded and separated by commas.
func readHeaders(t *dispatcher.Telemetry, headers string) error {
	for pair := range strings.SplitSeq(headers, ",") {
		key, value, ok := strings.Cut(pair, "=")
		text, err := url.PathUnescape(strings.TrimSpace(value))
		if key = strings.TrimSpace(key); key == "" && !ok {
			continue
		}
		if !ok || key == "" || err != nil {
			return errors.New("OTEL_EXPORTER_OTLP_HEADERS: an entry is not name=value, percent-encoded")
		}
		if t.Headers == nil {
			t.Headers = map[string]string{}
		}
		t.Headers[key] = text
	}
	return nil
}
