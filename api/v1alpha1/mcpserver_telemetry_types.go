// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Telemetry says where the dispatcher sends what it observes. Its metrics can
// also be read from it, which needs nothing here.
type Telemetry struct {
	// otlpEndpoint is the base URL of an OpenTelemetry collector that takes OTLP
	// over HTTP: spans of every request go to its path /v1/traces, audit records
	// to /v1/logs and metrics to /v1/metrics. One that can't be reached never
	// holds a call up. Setting or changing it needs the verb trust: the pods then
	// reach it (see network.egress). Default: nothing is sent. Example:
	// http://collector.observability.svc:4318.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://[^/?#@]+(/[^?#]*)?$') && isURL(self) && url(self).getHostname().size() > 0",message="an http or https URL with a host, without credentials, query or fragment, as in http://collector.observability.svc:4318"
	OTLPEndpoint string `json:"otlpEndpoint,omitempty"`
}
