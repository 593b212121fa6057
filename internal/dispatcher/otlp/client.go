// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package otlp sends to an OpenTelemetry collector over OTLP/HTTP in binary protobuf: audit records as log records, and the
// series of /metrics as metrics. Spans are package tracing's, which shares the client.
//
// It owns the wire, the bounded queue of records, and what is dropped from it. Nothing here ever holds a call up. It must not
// import Kubernetes, the API, or the packages that move messages.
package otlp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"google.golang.org/protobuf/proto"
)

// Client posts messages of OTLP/HTTP (OpenTelemetry Protocol 1.x). It stands in for OpenTelemetry's own exporters, each of
// which would link all of gRPC: 6 MB for one POST.
type Client struct {
	url     string
	headers map[string]string
	client  *http.Client
}

// NewClient gives a client for one signal; headers go with every request. There is no proxy: the environment is for package
// main to read, and a variable that somebody injects must not lead the audit trail elsewhere.
func NewClient(url string, headers map[string]string) *Client {
	return &Client{url: url, headers: headers, client: &http.Client{
		Transport:     &http.Transport{Proxy: nil, MaxIdleConns: 1, IdleConnTimeout: 90 * time.Second, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close gives the connection back.
func (c *Client) Close() { c.client.CloseIdleConnections() }

// Post sends one batch: TracesData, LogsData or MetricsData, which have the wire format of the requests of their services.
func (c *Client) Post(ctx context.Context, message proto.Message) error {
	body, err := proto.Marshal(message)
	if err != nil {
		return fmt.Errorf("encoding for the collector: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	for name, value := range c.headers {
		request.Header.Set(name, value)
	}
	response, err := c.client.Do(request)
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
