// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// uploader sends spans over OTLP/HTTP in binary protobuf (OpenTelemetry Protocol 1.x, OTLP/HTTP). It stands in for the
// client of otlptracehttp, which would link all of gRPC: 6 MB for one POST.
type uploader struct {
	url     string
	headers map[string]string
	client  *http.Client
}

func newUploader(url string, headers map[string]string) *uploader {
	return &uploader{url: url, headers: headers, client: &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConns: 1, IdleConnTimeout: 90 * time.Second, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Start has nothing to do.
func (u *uploader) Start(context.Context) error { return nil }

// Stop gives the connection back.
func (u *uploader) Stop(context.Context) error {
	u.client.CloseIdleConnections()
	return nil
}

// UploadTraces sends one batch. TracesData has the wire format of ExportTraceServiceRequest.
func (u *uploader) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return fmt.Errorf("encoding spans: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, u.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	for name, value := range u.headers {
		request.Header.Set(name, value)
	}
	response, err := u.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()                      // it was read
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // so that the connection can be used again
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return fmt.Errorf("the collector answered with HTTP status %d", response.StatusCode)
	}
	return nil
}
