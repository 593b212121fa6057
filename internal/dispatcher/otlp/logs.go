// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
)

// eventName says what kind of log record it is.
const eventName = "toolgate.audit"

// records makes one batch of lines.
func (s Source) records(lines [][]byte) *logspb.LogsData {
	scope := &logspb.ScopeLogs{Scope: s.scope()}
	for _, line := range lines {
		scope.LogRecords = append(scope.LogRecords, record(line))
	}
	return &logspb.LogsData{ResourceLogs: []*logspb.ResourceLogs{{Resource: s.resource(), ScopeLogs: []*logspb.ScopeLogs{scope}}}}
}

// record is a line as a log record: the body is the line byte for byte, without its newline, so that the chain of hashes can be
// followed at the collector too; the attributes are what one searches by.
func record(line []byte) *logspb.LogRecord {
	var r struct {
		Time    time.Time `json:"time"`
		TraceID string    `json:"trace_id"`
		Span    string    `json:"span_id"`
		Method  string    `json:"method"`
		Tool    string    `json:"tool"`
		Outcome string    `json:"outcome"`
		Run     string    `json:"run"`
	}
	_ = json.Unmarshal(line, &r) // a line that can't be read has no attributes, and is sent all the same
	out := &logspb.LogRecord{
		SeverityNumber: logspb.SeverityNumber_SEVERITY_NUMBER_INFO, SeverityText: "INFO", EventName: eventName,
		Body: stringValue(strings.ToValidUTF8(string(bytes.TrimSuffix(line, []byte("\n"))), "\uFFFD")),
	}
	if !r.Time.IsZero() {
		out.TimeUnixNano = uint64(r.Time.UnixNano())
	}
	out.ObservedTimeUnixNano = out.TimeUnixNano
	if id, err := hex.DecodeString(r.TraceID); err == nil && len(id) == 16 {
		out.TraceId = id
	}
	if id, err := hex.DecodeString(r.Span); err == nil && len(id) == 8 {
		out.SpanId = id
	}
	for _, a := range [][2]string{
		{"mcp.method.name", r.Method}, {"gen_ai.tool.name", r.Tool}, {"toolgate.outcome", r.Outcome}, {"toolgate.audit.run", r.Run},
	} {
		if a[1] != "" {
			out.Attributes = append(out.Attributes, text(a[0], strings.ToValidUTF8(a[1], "\uFFFD")))
		}
	}
	return out
}
