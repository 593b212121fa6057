// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
)

// scopeName is the instrumentation scope of everything that is sent.
const scopeName = "toolgate.dev/toolgate/internal/dispatcher"

// Source says who sends (service.name and so on of OpenTelemetry's conventions). Empty fields are left out.
type Source struct {
	Service, Namespace, Version, Instance string
	// Server is the name of the MCP server that is stood before.
	Server string
}

// Attributes are the source's, by their names, in a fixed order.
func (s Source) Attributes() [][2]string {
	var out [][2]string
	for _, a := range [][2]string{
		{"service.name", s.Service}, {"service.version", s.Version}, {"service.namespace", s.Namespace}, {"service.instance.id", s.Instance},
		{"toolgate.server", s.Server},
	} {
		if a[1] != "" {
			out = append(out, a)
		}
	}
	return out
}

func (s Source) resource() *resourcepb.Resource {
	r := &resourcepb.Resource{}
	for _, a := range s.Attributes() {
		r.Attributes = append(r.Attributes, text(a[0], a[1]))
	}
	return r
}

func (s Source) scope() *commonpb.InstrumentationScope {
	return &commonpb.InstrumentationScope{Name: scopeName, Version: s.Version}
}

func text(key, value string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: stringValue(value)}
}

func stringValue(value string) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: value}}
}
