// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"toolgate.dev/toolgate/internal/dispatcher"
)

// telemetry reads where spans go from the variables that OpenTelemetry defines for it (OTLP exporter configuration):
// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, or OTEL_EXPORTER_OTLP_ENDPOINT with /v1/traces below it, OTEL_EXPORTER_OTLP_HEADERS and
// OTEL_SDK_DISABLED.
func telemetry(getenv func(string) string) (dispatcher.Telemetry, error) {
	var t dispatcher.Telemetry
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return t, nil
	}
	const specific, base = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"
	name, endpoint := specific, getenv(specific)
	if endpoint == "" {
		name, endpoint = base, getenv(base)
	}
	if endpoint == "" {
		return t, nil
	}
	if u, err := url.Parse(endpoint); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return t, fmt.Errorf("%s %q is not an http or https URL, such as http://127.0.0.1:4318", name, endpoint)
	}
	if t.TracesURL = endpoint; name == base {
		t.TracesURL = strings.TrimSuffix(endpoint, "/") + "/v1/traces"
	}
	headers := cmp.Or(getenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS"), getenv("OTEL_EXPORTER_OTLP_HEADERS"))
	for pair := range strings.SplitSeq(headers, ",") {
		key, value, ok := strings.Cut(pair, "=")
		text, err := url.PathUnescape(strings.TrimSpace(value))
		if key = strings.TrimSpace(key); key == "" && !ok {
			continue
		}
		if !ok || key == "" || err != nil {
			return t, fmt.Errorf("OTEL_EXPORTER_OTLP_HEADERS: an entry is not name=value, percent-encoded")
		}
		if t.Headers == nil {
			t.Headers = map[string]string{}
		}
		t.Headers[key] = text
	}
	return t, nil
}
