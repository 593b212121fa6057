// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"toolgate.dev/toolgate/internal/dispatcher/otlp"
)

// uploader sends spans over OTLP/HTTP. It stands in for the client of otlptracehttp, which would link all of gRPC.
type uploader struct{ *otlp.Client }

// Start has nothing to do.
func (uploader) Start(context.Context) error { return nil }

// Stop gives the connection back.
func (u uploader) Stop(context.Context) error {
	u.Close()
	return nil
}

// UploadTraces sends one batch.
func (u uploader) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	return u.Post(ctx, &tracepb.TracesData{ResourceSpans: spans})
}
